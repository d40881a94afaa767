"""Forecasts as text, charts and tables."""

from __future__ import annotations
