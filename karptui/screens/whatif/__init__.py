"""The what-if: edit, and see Karpenter's decision change before anything is applied."""

from __future__ import annotations
