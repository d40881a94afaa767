"""Rules about what an EC2NodeClass and its NodePools hide from Karpenter or promise in vain."""

from __future__ import annotations
