"""Instance types: which are left in each NodePool, and how their memory is used."""

from __future__ import annotations
