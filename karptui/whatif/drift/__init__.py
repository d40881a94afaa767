"""Which NodeClaims Karpenter would find drifted, worked out from NodePools, NodeClasses and instance types."""

from __future__ import annotations
