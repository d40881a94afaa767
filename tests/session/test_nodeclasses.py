from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.aws.evidence import Evidence
from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import OS
from karptui.karpenter.nodepool import NodePool
from karptui.session.cluster_view import ClusterView
from karptui.session.nodeclasses import Absence, alias_of, assumed_nodeclasses, assumed_of, unread_ec2
from karptui.session.pool_types import offered_types_of
from karptui.session.pools import pool_rows
from karptui.session.prepare import base_of
from karptui.session.types_of_pools import pool_entries
from karptui.sources.source import Phase
from karptui.views.pools.sentences import ready_lines
from karptui.whatif.edits import DeleteObject, ObjectRef, PutObject
from karptui.whatif.edits.apply import apply
from tests.builders import NOW_NS, a_condition, a_node, a_nodepool, a_requirement
from tests.builders.clusters import state_of
from tests.ui.fleet import status

POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: new}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: NAME}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
"""


def a_pool_that_says(status: str, reason: str) -> NodePool:
    condition = a_condition("NodeClassReady", status=status, reason=reason)
    return a_nodepool(conditions=(condition, a_condition("Ready", status="False")))


@pytest.mark.parametrize(("pool", "unread", "told"), [
    (a_nodepool(), 1, ""),
    (a_pool_that_says("True", "NodeClassReady"), 1, ""),
    (a_pool_that_says("False", "SubnetsReady"), 1, ""),
    (a_pool_that_says("False", "NodeClassNotFound"), 0, "EC2NodeClass default is not there"),
    (a_pool_that_says("Unknown", "AwaitingReconciliation"), 0,
     "EC2NodeClass default is not among those that were read"),
    (a_nodepool(is_ready=False), 0, "EC2NodeClass default is not among those that were read"),
])  # fmt: skip
def test_whether_a_nodeclass_exists_is_what_karpenter_found(pool: NodePool, unread: int, told: str) -> None:
    assert len(unread_ec2((pool,), ())) == unread
    view = ClusterView(state_of(Inventory(nodepools=(pool,), nodes=(a_node(),))), {}, evidence=Evidence())
    (entry,) = pool_entries(view)
    assert entry.problem == told
    assert ("with default settings" in entry.origin) == bool(unread) == bool(assumed_of(view))


@pytest.mark.parametrize(("phase", "absence", "problem", "is_assumed"), [
    (Phase.SYNCING, Absence.ON_THE_WAY, "EC2NodeClass default is loading", False),
    (Phase.LIVE, Absence.GONE, "EC2NodeClass default is not there", False),
    (Phase.STALE, Absence.GONE, "EC2NodeClass default is not there", False),
    (Phase.FORBIDDEN, Absence.UNREAD, "", True),
    (Phase.OFFLINE, Absence.UNREAD, "", True),
])  # fmt: skip
def test_complete_lists_are_believed(phase: Phase, absence: Absence, problem: str, *, is_assumed: bool) -> None:
    state = state_of(Inventory(nodepools=(a_nodepool(),), nodes=(a_node(),)))
    view = ClusterView(state, {str(Kind.NODECLASS): status(Kind.NODECLASS, phase)}, evidence=Evidence())
    (entry,) = pool_entries(view)
    assert (entry.problem, bool(assumed_of(view))) == (problem, is_assumed)
    assert ("was not read" in " ".join(offered_types_of(view).notes)) == is_assumed
    (row,) = pool_rows(view)
    assert row.class_absence is absence
    texts = [f"EC2NodeClass default {absence}"] * (absence is not Absence.ON_THE_WAY)
    assert [text.partition(" ")[2] for ((text, _),) in ready_lines(row)] == texts


def test_what_was_never_listed_to_its_end_may_be_there() -> None:
    inventory = Inventory(nodepools=(a_nodepool(),), nodes=(a_node(),), unread=frozenset({Kind.NODECLASS}))
    statuses = {str(Kind.NODECLASS): status(Kind.NODECLASS, Phase.DISCONNECTED)}
    assert assumed_of(ClusterView(state_of(inventory), statuses, evidence=Evidence()))


@pytest.mark.parametrize(("images", "system", "alias"), [
    (("general:Windows Server 2019 Datacenter", "x:Bottlerocket OS 1.49"), "linux", "windows2019"),
    (("general:Ubuntu 24.04 LTS", "x:Bottlerocket OS 1.49"), "linux", "al2023"),
    (("x:Windows Server 2019 Datacenter", "x:Amazon Linux 2"), "linux", "al2"),
    (("x:Windows Server 2019 Datacenter",), "linux", "al2023"),
    (("x:Amazon Linux 2", "x:Windows Server 2019 Datacenter"), "windows", "windows2019"),
    (("x:Amazon Linux 2",), "windows", "windows2022"),
])  # fmt: skip
def test_the_image_is_that_of_the_nodes_of_its_nodepools_else_one_of_the_system(
    images: tuple[str, ...], system: str, alias: str
) -> None:
    pool = a_nodepool(requirements=(a_requirement(OS, "In", system),))
    result = [image.partition(":") for image in images]
    nodes = tuple(replace(a_node(name=f"{n}", pool=text), os_image=image) for n, (text, _, image) in enumerate(result))
    (assumed,) = assumed_nodeclasses(unread_ec2((pool,), ()), (pool,), nodes)
    assert alias_of(assumed) == f"{alias}@latest"


@pytest.mark.parametrize(("name", "has_types"), [("default", True), ("typo", False)])
def test_a_new_nodepool_has_the_nodeclass_that_was_not_read_and_no_other(name: str, has_types: bool) -> None:
    view = ClusterView(state_of(Inventory(nodepools=(a_nodepool(),), nodes=(a_node(),))), {}, evidence=Evidence())
    edited = apply(base_of(view, NOW_NS), (PutObject(POOL.replace("NAME", name)),))
    assert bool(edited.types.of_pool("new")) == has_types
    told = "NodePool new: no instance types are known for EC2NodeClass typo, which is not among those that were read"
    assert (told in edited.types.notes) != has_types


def test_a_new_nodepool_on_a_nodeclass_that_was_not_read_is_ready_though_others_were() -> None:
    other = replace(assumed_nodeclasses(unread_ec2((a_nodepool(),), ()), (a_nodepool(),), (a_node(),))[0], name="other")
    inventory = Inventory(nodepools=(a_nodepool(),), nodes=(a_node(),), nodeclasses=(other,))
    base = base_of(ClusterView(state_of(inventory), {}, evidence=Evidence()), NOW_NS)
    for name, notes in (("default", 0), ("typo", 1)):
        edited = apply(base, (PutObject(POOL.replace("NAME", name)),))
        assert [note for note in edited.notes if "launches nothing" in note] == [
            "NodePool new is not ready, so it launches nothing: there is no EC2NodeClass typo"
        ] * notes
    gone = apply(base, (DeleteObject(ObjectRef("EC2NodeClass", "other")),))
    assert gone.types.of_pool("general")
