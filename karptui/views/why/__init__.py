"""Why nodes are still here."""

from __future__ import annotations
