"""What Karpenter may disrupt, what it would do next and what stands in the way."""

from __future__ import annotations
