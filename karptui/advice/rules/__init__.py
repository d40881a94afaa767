"""One module for each rule; `karptui.advice.catalogue` lists them."""

from __future__ import annotations
