"""Why nodes are still here, in words."""

from __future__ import annotations
