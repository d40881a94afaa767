"""What Karpenter would do next, and what would go if it could."""

from __future__ import annotations
