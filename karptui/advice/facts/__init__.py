"""What rules look at, by noun; ``advice.context`` puts it together."""

from __future__ import annotations
