"""Forecast of a cluster: Karpenter's decisions over simulated time."""

from __future__ import annotations
