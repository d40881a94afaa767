"""What each kind of edit does to the objects of a cluster."""

from __future__ import annotations
