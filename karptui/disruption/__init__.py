"""Karpenter's disruption rules: candidates, blockers, methods and their next commands."""

from __future__ import annotations
