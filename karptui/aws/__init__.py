"""Instance types as Karpenter's AWS provider computes them from EC2 data, an EC2NodeClass and settings."""

from __future__ import annotations
