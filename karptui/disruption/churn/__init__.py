"""Nodes that come and go: how often, why, how long they live, and whether it goes round in circles."""

from __future__ import annotations
