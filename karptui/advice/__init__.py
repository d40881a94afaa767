"""Rules that find traps in a cluster's objects, each with the fact in numbers and what to do; pure, no I/O."""

from __future__ import annotations
