"""Karpenter's kinds, its requirement algebra and its settings: pure, no I/O."""

from __future__ import annotations
