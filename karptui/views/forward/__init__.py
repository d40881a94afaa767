"""A cluster played forward, as sentences, charts and rows."""

from __future__ import annotations
