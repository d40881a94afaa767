"""NodeOverlays. Source of the fields: pkg/apis/v1alpha1/nodeoverlay.go."""

from __future__ import annotations

from karptui.kube import resources
from karptui.kube.node_selector import NodeSelectorRequirement
from karptui.kube.objects import Condition, KubeObject
from karptui.kube.resources import ResourceList


class NodeOverlay(KubeObject, frozen=True, kw_only=True, gc=False):
    """A change to the price or the extended resources of matching instance types; memory and cpu cannot be changed."""

    requirements: tuple[NodeSelectorRequirement, ...] = ()
    price: str | None = None
    price_adjustment: str | None = None
    """``+1.5``, ``-0.1``, ``+10%``, ``-30%``."""
    capacity: ResourceList = resources.EMPTY
    weight: int = 0
    conditions: tuple[Condition, ...] = ()
