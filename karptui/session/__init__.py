"""The running program beside the screen: what follows a cluster and works things out."""

from __future__ import annotations
