"""The Pools screen: NodePools in Karpenter's order, and NodePool detail."""

from __future__ import annotations
