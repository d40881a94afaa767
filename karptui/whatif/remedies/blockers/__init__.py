"""Remedies for blockers, and their effects."""

from __future__ import annotations
