"""Karpenter's controller in a live cluster: what it was started with."""

from __future__ import annotations
