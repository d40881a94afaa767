"""The Events screen."""

from __future__ import annotations
