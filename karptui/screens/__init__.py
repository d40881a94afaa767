"""One screen per question."""

from __future__ import annotations
