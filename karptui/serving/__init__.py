"""Implements the `Session` protocol that screens use."""

from __future__ import annotations
