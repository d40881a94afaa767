"""What a scenario changes, in lines."""

from __future__ import annotations
