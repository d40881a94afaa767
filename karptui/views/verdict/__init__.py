"""Findings of the verdict as sentences."""

from __future__ import annotations
