"""The Churn screen."""

from __future__ import annotations
