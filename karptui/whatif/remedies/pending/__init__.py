"""Single changes that would give a pending pod its place, each tried on the engine."""

from __future__ import annotations
