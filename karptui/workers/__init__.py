"""The same question of many things at once: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations
