"""What holds or endangers a cluster: one finding for each cause, the worst first."""

from __future__ import annotations
