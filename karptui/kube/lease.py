"""Leases."""

from __future__ import annotations

from karptui.kube.objects import KubeObject
from karptui.kube.timestamps import ABSENT_NS


class Lease(KubeObject, frozen=True, kw_only=True, gc=False):
    """A lease of ``coordination.k8s.io``: which of several replicas leads."""

    holder: str = ""
    """``spec.holderIdentity``; empty if nothing holds it."""
    renewed_ns: int = ABSENT_NS
    duration_seconds: int = 0
