"""Existing EC2NodeClasses that were not read: their names, assumptions and messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from karptui.aws.region import node_zones
from karptui.decode.kinds import Kind
from karptui.karpenter.labels import NODEPOOL, OS
from karptui.karpenter.nodeclass import EC2_KIND, NodeClass, NodeClassRef, is_ec2
from karptui.karpenter.nodepool import NodePool, unread_nodeclasses
from karptui.kube.objects import Node
from karptui.kube.recent import LastAnswer
from karptui.session.status import ON_THE_WAY

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView

_ALIASES: Final = (
    ("Bottlerocket", "bottlerocket"),
    ("Amazon Linux 2023", "al2023"),
    ("Amazon Linux 2", "al2"),
    ("Windows Server 2019", "windows2019"),
    ("Windows Server 2022", "windows2022"),
    ("Windows Server 2025", "windows2025"),
)
"""What images of nodes call themselves, and the alias that selects them."""
_LISTED: Final = ("live", "stale", "not installed", "disconnected")
"""Phases of a kind that may have been listed completely."""
_LINUX: Final = "al2023"
_WINDOWS: Final = "windows2022"


def unread_ec2(nodepools: Iterable[NodePool], nodeclasses: Iterable[NodeClass]) -> tuple[NodeClassRef, ...]:
    """Return the existing EC2NodeClasses that were not read, by name."""
    return tuple(ref for ref in unread_nodeclasses(nodepools, nodeclasses) if is_ec2(ref))


def assumed_nodeclasses(
    unread: Sequence[NodeClassRef], nodepools: Iterable[NodePool], nodes: Iterable[Node]
) -> tuple[NodeClass, ...]:
    """Return EC2NodeClasses that were not read, as plain as can be: the zones of the nodes and an image.

    The image is what most nodes of their NodePools have, else most nodes of the same system. Without a node that tells
    its zone nothing can be assumed.
    """
    if not unread:
        return ()
    nodes, nodepools = tuple(nodes), tuple(nodepools)
    zones = [{"zone": zone.name, "zoneID": zone.zone_id} for zone in node_zones(nodes)]
    return tuple(
        NodeClass(
            name=ref.name,
            group=ref.group,
            kind=ref.kind,
            spec={"amiSelectorTerms": [{"alias": f"{_alias(ref, nodepools, nodes)}@latest"}]},
            status={"subnets": zones},
        )
        for ref in unread
        if zones
    )


def _alias(ref: NodeClassRef, nodepools: Iterable[NodePool], nodes: Sequence[Node]) -> str:
    pools = {pool.name: pool for pool in nodepools if pool.node_class_ref.key == ref.key}
    pool_nodes = [node for node in nodes if node.labels.get(NODEPOOL) in pools]
    is_windows = bool(pools) and all(_asks_for_windows(pool) for pool in pools.values())
    counter = Counter(alias for node in pool_nodes or nodes if (alias := _alias_of(node)))
    fitting = [alias for alias, _ in counter.most_common() if pool_nodes or alias.startswith("windows") == is_windows]
    return next(iter(fitting), _WINDOWS if is_windows else _LINUX)


def _asks_for_windows(pool: NodePool) -> bool:
    return any((term.key, term.operator, term.values) == (OS, "In", ("windows",)) for term in pool.requirements)


def _alias_of(node: Node) -> str:
    return next((alias for image, alias in _ALIASES if node.os_image.startswith(image)), "")


def alias_of(nodeclass: NodeClass) -> str:
    """Return the alias of the image of an EC2NodeClass that is assumed."""
    return str(nodeclass.spec["amiSelectorTerms"][0]["alias"])


def assumed_text(nodeclass: NodeClass) -> str:
    """Return a message that an EC2NodeClass was not read, and its assumptions."""
    return (
        f"{EC2_KIND} {nodeclass.name} was not read: {alias_of(nodeclass)} in the zones of the nodes is assumed, with "
        "the kubelet's defaults"
    )


class Absence(StrEnum):
    """Why a NodePool's NodeClass is missing, as shown to the user."""

    ON_THE_WAY = "is loading"
    GONE = "does not exist"
    UNREAD = "was not read"
    UNKNOWN = "is not among those that were read"


class UnreadClasses(NamedTuple):
    """NodeClasses that could not be read."""

    refs: tuple[NodeClassRef, ...] = ()
    """EC2NodeClasses that exist and were not read."""
    is_on_the_way: bool = False
    """Whether NodeClasses are still being listed."""
    is_none: bool = False
    """Whether all there are have been listed."""

    def absence(self, pool: NodePool) -> Absence:
        """Return the reason that a NodePool's NodeClass is missing."""
        if self.is_on_the_way:
            return Absence.ON_THE_WAY
        if self.is_none or pool.nodeclass_exists is False:
            return Absence.GONE
        ref = pool.node_class_ref
        # What-ifs add NodePools that are ready; only NodePools of the cluster prove what exists.
        exists = pool.nodeclass_exists and (not is_ec2(ref) or any(class_ref.key == ref.key for class_ref in self.refs))
        return Absence.UNREAD if exists else Absence.UNKNOWN

    def why_no_types(self, pool: NodePool) -> str:
        """Return the reason that a NodePool has no known types: its EC2NodeClass was neither read nor assumed."""
        absence = self.absence(pool)
        return f"{absence}, and no node shows its zone" if absence is Absence.UNREAD else absence


def unread_classes(view: ClusterView) -> UnreadClasses:
    """Return the NodeClasses of a view that were not read.

    A complete list from a cluster is trusted: a NodeClass that is not in it does not exist. Files may lack some.
    """
    status = view.statuses.get(str(Kind.NODECLASS))
    if status is not None and status.phase in ON_THE_WAY:
        return UnreadClasses(is_on_the_way=True)
    if status is not None and status.phase in _LISTED and Kind.NODECLASS not in view.state.unread:
        return UnreadClasses(is_none=True)
    pools, classes = view.state.nodepools, view.state.nodeclasses
    return _UNREAD.get((pools, classes), lambda: UnreadClasses(unread_ec2(pools.values(), classes.values())))


_UNREAD: Final[LastAnswer[UnreadClasses]] = LastAnswer()
_ASSUMED: Final[LastAnswer[tuple[NodeClass, ...]]] = LastAnswer()


def assumed_of(view: ClusterView) -> tuple[NodeClass, ...]:
    """Return the EC2NodeClasses that a view assumes: none if instance types came with a snapshot."""
    state = view.state
    if view.evidence.instance_types is not None:
        return ()
    pools, classes, nodes, unread = state.nodepools, state.nodeclasses, state.nodes, unread_classes(view)
    return _ASSUMED.get(
        (pools, classes, nodes),
        lambda: assumed_nodeclasses(unread.refs, pools.values(), nodes.values()),
        equals=(unread,),
    )


def lacks_nodeclasses(view: ClusterView) -> bool:
    """Whether a NodePool refers to a NodeClass that was neither read nor is assumed; so without any NodePool."""
    assumed = {node_class.key for node_class in assumed_of(view)}
    refs = {pool.node_class_ref.key for pool in view.state.nodepools.values()}
    return not refs or not refs <= {*view.state.nodeclasses, *assumed}
