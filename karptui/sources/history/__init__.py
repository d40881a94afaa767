"""History: a local record of what a cluster looked like, and what karptui said about it."""

from __future__ import annotations
