"""karptui: a terminal dashboard for Karpenter."""

from __future__ import annotations

__version__ = "0.2.0"
