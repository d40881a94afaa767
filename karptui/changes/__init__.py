"""What changed in a cluster between two moments: fields of objects, settings, cost, nodes and pods."""

from __future__ import annotations
