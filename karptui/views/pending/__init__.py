"""Pending pods: verdicts of Karpenter, kube-scheduler and the engine."""

from __future__ import annotations
