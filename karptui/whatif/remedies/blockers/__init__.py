"""What can be done about what keeps nodes, and what it comes to."""

from __future__ import annotations
