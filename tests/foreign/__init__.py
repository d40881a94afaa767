"""Clusters of other providers than AWS: karptui must state nothing about them that it cannot know."""

from __future__ import annotations
