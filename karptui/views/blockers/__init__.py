"""The Blockers screen: one row for each node and what keeps it."""

from __future__ import annotations
