"""Churn: rates, reasons, lifetimes and loops of nodes that come and go."""

from __future__ import annotations
