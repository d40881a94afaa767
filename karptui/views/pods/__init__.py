"""The Pods screen."""

from __future__ import annotations
