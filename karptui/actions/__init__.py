"""The few changes that karptui can make to a cluster, as values: no request is sent here."""

from __future__ import annotations
