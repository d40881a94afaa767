"""Pods that wait for a node: who says what about them, and what the engine computes."""

from __future__ import annotations
