"""Reasons of pending pods: from the engine, Karpenter and the scheduler."""

from __future__ import annotations
