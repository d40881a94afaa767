"""What can be done about what keeps nodes: edits for a what-if, each with a sentence and what it comes to."""

from __future__ import annotations
