"""What leans on Textual's own workings, or is done in its place: each piece says what it saves, as measured."""

from __future__ import annotations
