"""Small clusters with one fault each, two, or none, and what an expert expects the first screen to report."""

from __future__ import annotations
