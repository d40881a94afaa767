"""Karpenter's own metrics, read through the API server's proxy."""

from __future__ import annotations
