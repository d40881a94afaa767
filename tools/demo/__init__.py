"""The pieces of the demo cluster, put together by tools/make_demo.py."""

from __future__ import annotations
