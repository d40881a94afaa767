"""The Pools screen: NodePools in the order in which Karpenter tries them, and one of them at length."""

from __future__ import annotations
