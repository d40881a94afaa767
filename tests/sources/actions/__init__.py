"""Writing to a cluster, and the guards in front of it."""

from __future__ import annotations
