"""A module per goal."""

from __future__ import annotations
