"""The cluster as last seen: immutable generations, made by a pure reducer."""

from __future__ import annotations
