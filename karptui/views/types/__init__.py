"""Instance types: what is left of them in each NodePool, and where their memory goes."""

from __future__ import annotations
