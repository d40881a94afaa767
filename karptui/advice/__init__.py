"""Findings about pools, node classes, DaemonSets and pods, one rule per file."""

from __future__ import annotations
