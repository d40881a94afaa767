"""Clusters in files: what ``karptui record`` writes, and what kubectl prints."""

from __future__ import annotations
