"""Live usage of nodes and pods from metrics-server."""

from __future__ import annotations
