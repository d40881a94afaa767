"""Follows a cluster and computes what screens show of it."""

from __future__ import annotations
