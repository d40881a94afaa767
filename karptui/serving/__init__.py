"""What a session answers to what screens ask: its side of the border."""

from __future__ import annotations
