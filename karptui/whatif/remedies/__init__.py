"""What would give a pending pod its place, and what would let a node go."""

from __future__ import annotations
