"""What becomes of a cluster: Karpenter's decisions under a clock, until nothing more happens or time is up."""

from __future__ import annotations
