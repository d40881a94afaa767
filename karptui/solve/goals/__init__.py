"""What can be asked for, a module for each goal."""

from __future__ import annotations
