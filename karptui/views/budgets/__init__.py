"""The Budgets screen."""

from __future__ import annotations
