"""The only place that changes a cluster: the permit, the writer, and the audit file."""

from __future__ import annotations
