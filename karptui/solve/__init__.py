"""Look for the change that reaches a goal: what is asked for is given, and the edit is the answer."""

from __future__ import annotations
