"""Code that relies on Textual's internals; each module states the measured saving."""

from __future__ import annotations
