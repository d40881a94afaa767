"""Which region's facts are wanted: the cluster's, wherever the credentials point."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from karptui.aws.market import region_of
from karptui.karpenter.labels import REGION, ZONE
from karptui.kube.node import Node

_EKS_SERVER: Final = re.compile(
    r"https://[^/]*\.([a-z]{2,}(?:-[a-z]+)+-\d+)\.eks\.amazonaws\.com(?:\.cn)?(?::\d+)?(?:/|$)"
)


def cluster_region(nodes: Iterable[Node], server: str = "") -> str:
    """Return the AWS region of a cluster: of most of its nodes, else of its EKS endpoint, else empty.

    Args:
        nodes: The cluster's nodes; those that are not on AWS do not count.
        server: URL of the API server.
    """
    regions = Counter(region for node in nodes if (region := _node_region(node)))
    if regions:
        return min(regions, key=lambda region: (-regions[region], region))
    match = _EKS_SERVER.match(server)
    return match[1] if match is not None else ""


def _node_region(node: Node) -> str:
    if node.provider_id and not node.provider_id.startswith("aws:"):
        return ""
    zone_region = region_of(node.labels.get(ZONE, ""))
    # Both must look like AWS's: other clouds use the same labels, and names much like these.
    return zone_region if zone_region == node.labels.get(REGION, zone_region) else ""
