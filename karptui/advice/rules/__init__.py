"""Rules, a module for each subject; `karptui.advice.catalogue` lists them."""

from __future__ import annotations
