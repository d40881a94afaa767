"""A module for each subject; `karptui.advice.catalogue` lists what they declare."""

from __future__ import annotations
