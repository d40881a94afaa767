"""The Advice screen's rows and words."""

from __future__ import annotations
