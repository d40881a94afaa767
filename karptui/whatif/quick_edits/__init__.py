"""Edits without typing YAML."""

from __future__ import annotations
