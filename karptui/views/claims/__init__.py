"""The Claims screen."""

from __future__ import annotations
