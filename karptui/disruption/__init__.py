"""Rules for which nodes Karpenter may disrupt, what it does next, and what blocks disruption."""

from __future__ import annotations
