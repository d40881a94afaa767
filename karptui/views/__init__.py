"""Rows and sentences for the screens and the headless commands: pure, no colour."""

from __future__ import annotations
