"""Churn: how often nodes come and go, why, how long they live, and whether this repeats in loops."""

from __future__ import annotations
