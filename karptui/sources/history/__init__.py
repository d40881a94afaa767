"""History: a local record of a cluster's states and of karptui's findings about them."""

from __future__ import annotations
