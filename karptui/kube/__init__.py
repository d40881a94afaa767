"""Kubernetes values and rules that Karpenter builds on: pure, no I/O."""

from __future__ import annotations
