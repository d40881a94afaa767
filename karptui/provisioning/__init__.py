"""Karpenter's provisioner as a pure function of cluster, instance types and settings."""

from __future__ import annotations
