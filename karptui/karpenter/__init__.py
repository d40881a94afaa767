"""Karpenter's kinds, requirement algebra and settings: pure, no I/O."""

from __future__ import annotations
