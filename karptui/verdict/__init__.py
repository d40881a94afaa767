"""Problems and risks of a cluster: one finding for each cause, the worst first."""

from __future__ import annotations
