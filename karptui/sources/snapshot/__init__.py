"""Clusters from files: recordings and what kubectl prints."""

from __future__ import annotations
