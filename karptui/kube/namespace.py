"""Namespaces and priority classes."""

from __future__ import annotations

from karptui.kube.objects import KubeObject


class Namespace(KubeObject, frozen=True, kw_only=True, gc=False):
    """A namespace, for the labels that namespace selectors read."""


class PriorityClass(KubeObject, frozen=True, kw_only=True, gc=False):
    """A named pod priority."""

    value: int = 0
