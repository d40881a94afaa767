"""Rows and texts of the screens and headless commands, without colours."""

from __future__ import annotations
