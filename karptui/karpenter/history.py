"""What was seen to go while a cluster was watched: an API server keeps no trace of it, or only for an hour."""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.event import Event


class GoneClaim(msgspec.Struct, frozen=True, gc=False):
    """A NodeClaim that is no more."""

    claim: NodeClaim
    """As it was last seen, without what no longer matters: requirements, requests, taints, amounts."""
    gone_ns: int
    """When it was found to be gone: nanoseconds since the epoch; it may have gone a little earlier."""


class GonePod(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A pod that left a node which was itself on its way out; DaemonSets' and static pods are not kept."""

    key: str
    """``namespace/name``."""
    uid: str
    owner_kind: str = ""
    """Of its controller; empty for a pod that nobody makes again."""
    owner_name: str = ""
    node_name: str
    at_ns: int
    """When it was found to be gone: nanoseconds since the epoch."""


class ClusterHistory(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What has been seen to go, the oldest first; bounded in number and age."""

    began_ns: int = 0
    """Since when everything that went is here: nanoseconds since the epoch, 0 where nobody has watched."""
    claims: tuple[GoneClaim, ...] = ()
    pods: tuple[GonePod, ...] = ()
    events: tuple[Event, ...] = ()
    """Events about the ends of NodeClaims, nodes and pods that the API server has forgotten since."""


NO_HISTORY: Final = ClusterHistory()
