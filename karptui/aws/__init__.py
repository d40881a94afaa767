"""Instance types as Karpenter's AWS provider derives them from EC2 data, an EC2NodeClass and settings."""

from __future__ import annotations
