"""The parts of the demo cluster; tools/make_demo.py combines them."""

from __future__ import annotations
