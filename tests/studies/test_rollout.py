from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.errors import RequestError
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.kube.objects import Node
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.studies.rollout import NodeState, RolloutReport, RolloutState, rollout_report
from karptui.views.rollout import headline, more_lines
from karptui.whatif.drift.hashes import nodepool_hash
from karptui.whatif.situation import WhatIfBase
from tests.builders import NOW_NS, a_pod, an_instance_type
from tests.forward.making import a_pair
from tests.whatif.edits.test_apply import NODECLASS, POOL
from tests.whatif.snapshots import base, decoded

TYPES = (an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1}),)
HOUR_NS = 3600 * NS_PER_SECOND
HASH, VERSION = "karpenter.sh/nodepool-hash", "karpenter.sh/nodepool-hash-version"
CLASS_HASH = "karpenter.k8s.aws/ec2nodeclass-hash"
REF = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
NEW = {HASH: "new", VERSION: "v3", CLASS_HASH: "7", f"{CLASS_HASH}-version": "v5"}


def old(name: str, **fields: Any) -> tuple[Node, NodeClaim]:
    """Return a node of the NodePool's previous revision."""
    return of_revision(name, {**NEW, HASH: "old"}, **fields)


def of_revision(name: str, annotations: dict[str, str], **fields: Any) -> tuple[Node, NodeClaim]:
    return a_pair(name, annotations=annotations, node_class_ref=REF, **fields)


def cluster(
    *pairs: tuple[Node, NodeClaim],
    budgets: tuple[dict[str, Any], ...] = ({"nodes": "1"},),
    pool: dict[str, Any] | None = None,
    nodeclass: dict[str, Any] | None = None,
    **others: Any,
) -> WhatIfBase:
    spec = {**POOL["spec"], "disruption": {"consolidateAfter": "Never", "budgets": list(budgets)}}
    metadata = {**POOL["metadata"], "generation": 2, "annotations": {HASH: "new", VERSION: "v3"}}
    seen = [{"type": "Ready", "status": "True", "observedGeneration": 2}]
    manifest = {**POOL, "metadata": metadata, "spec": spec, "status": {"conditions": seen}, **(pool or {})}
    texts = {"annotations": {CLASS_HASH: "7", f"{CLASS_HASH}-version": "v5"}}
    kind = {**NODECLASS, "metadata": {**NODECLASS["metadata"], **texts}, **(nodeclass or {})}
    nodes, claims = zip(*pairs, strict=True) if pairs else ((), ())
    return base(manifest, kind, types=TYPES, nodes=nodes, nodeclaims=claims, **others)


def states(report: RolloutReport) -> dict[str, tuple[NodeState, str]]:
    return {node.name: (node.state, node.reason) for group in report.groups for node in group.nodes}


def test_a_rollout_continues_until_every_old_node_is_removed() -> None:
    on = cluster(of_revision("a", NEW), old("b"), old("c"))
    report = rollout_report(on, horizon_ns=HOUR_NS)
    assert report.state is RolloutState.PROGRESSING
    assert states(report)["b"] == (NodeState.OLD, "NodePoolDrifted")
    pool, nodeclass = report.groups
    assert (pool.name, nodeclass.name) == ("general", "default")
    assert sorted(pool.revisions) == [("new/7", 1, True), ("old/7", 2, False)]
    assert pool.gone_ns is not None
    assert NOW_NS < pool.gone_ns < NOW_NS + HOUR_NS
    assert "1 of 3 nodes current; 2 old nodes left for about " in headline(report)
    assert "2 old (NodePoolDrifted; 2 not marked by Karpenter yet)" in "\n".join(more_lines(report))
    assert rollout_report(cluster(of_revision("a", NEW)), horizon_ns=HOUR_NS).state is RolloutState.DONE


def test_an_old_node_that_is_being_removed_is_not_rolled_out_yet() -> None:
    node, claim = old("b", deletion_ns=NOW_NS)
    report = rollout_report(cluster(of_revision("a", NEW), (node, claim)), horizon_ns=HOUR_NS)
    assert states(report)["b"][0] is NodeState.LEAVING
    assert report.state is RolloutState.PROGRESSING
    # A current node that is being removed for another reason does not count.
    node, claim = of_revision("b", NEW, deletion_ns=NOW_NS)
    report = rollout_report(cluster(of_revision("a", NEW), (node, claim)), horizon_ns=HOUR_NS)
    assert states(report) == {"a": (NodeState.CURRENT, "")}
    assert report.state is RolloutState.DONE


@pytest.mark.parametrize(("annotations", "state"), [
    ({**NEW, VERSION: "v2", HASH: "old"}, NodeState.UNCOMPARED),
    ({key: value for key, value in NEW.items() if key != HASH}, NodeState.UNCOMPARED),
    ({**NEW, f"{CLASS_HASH}-version": "v6", CLASS_HASH: "8"}, NodeState.UNCOMPARED),
    ({**NEW, CLASS_HASH: "8"}, NodeState.OLD),
    (NEW, NodeState.CURRENT),
])  # fmt: skip
def test_hashes_of_two_versions_are_not_compared(annotations: dict[str, str], state: NodeState) -> None:
    report = rollout_report(cluster(of_revision("a", annotations)), horizon_ns=HOUR_NS)
    assert states(report)["a"][0] is state
    if state is NodeState.UNCOMPARED:
        assert report.state is RolloutState.UNKNOWN
        assert "Karpenter does not compare 1 node" in headline(report)


def test_requirements_and_images_drift_before_karpenter_marks_it() -> None:
    spec = {**POOL["spec"], "template": {"spec": {**POOL["spec"]["template"]["spec"]}}}
    spec["template"]["spec"]["requirements"] = [
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z"]}
    ]
    report = rollout_report(cluster(of_revision("a", NEW), pool={"spec": spec}), horizon_ns=HOUR_NS)
    assert states(report)["a"] == (NodeState.OLD, "RequirementsDrifted")
    image = {"status": {"amis": [{"id": "ami-2"}]}}
    on = cluster(of_revision("a", NEW, image_id="ami-1"), of_revision("b", NEW, image_id="ami-2"), nodeclass=image)
    assert states(rollout_report(on, horizon_ns=HOUR_NS)) == {
        "a": (NodeState.OLD, "AMIDrift"),
        "b": (NodeState.CURRENT, ""),
    }


def test_a_change_that_karpenter_has_not_seen_is_not_rolled_out() -> None:
    unseen = {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]}
    report = rollout_report(cluster(of_revision("a", NEW), pool={"status": unseen}), horizon_ns=HOUR_NS)
    assert report.state is RolloutState.UNKNOWN
    assert "Karpenter has not processed the newest change of NodePool general" in headline(report)
    # Without observed generations the hash of the template itself is compared.
    metadata = {**POOL["metadata"], "annotations": {HASH: "stale", VERSION: "v3"}}
    bare = {"metadata": metadata, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    at = {**NEW, HASH: "stale"}
    assert rollout_report(cluster(of_revision("a", at), pool=bare), horizon_ns=HOUR_NS).state is RolloutState.UNKNOWN
    true_hash = nodepool_hash(decoded(POOL))
    assert true_hash is not None
    bare["metadata"] = {**metadata, "annotations": {HASH: true_hash, VERSION: "v3"}}
    on = cluster(of_revision("a", {**NEW, HASH: true_hash}), pool=bare)
    assert rollout_report(on, horizon_ns=HOUR_NS).state is RolloutState.DONE


def test_blockers_of_a_rollout() -> None:
    report = rollout_report(cluster(old("b"), budgets=({"nodes": "0"},)), horizon_ns=HOUR_NS)
    assert report.state is RolloutState.STALLED
    assert headline(report).startswith("stalled: 0 of 1 node current")
    assert "blocked now: 1 by budget" in "\n".join(more_lines(report))
    window = {"nodes": "0", "schedule": "0 0 * * *", "duration": "20h"}
    waiting = rollout_report(cluster(old("b"), budgets=({"nodes": "1"}, window)), horizon_ns=HOUR_NS)
    assert waiting.state is RolloutState.WAITING
    assert "no old node is replaced before 20:00:00Z" in headline(waiting)
    opening = rollout_report(cluster(old("b"), budgets=({"nodes": "1"}, window)), horizon_ns=10 * HOUR_NS)
    assert opening.state is RolloutState.PROGRESSING
    pod = a_pod(name="x", node="b", annotations={"karpenter.sh/do-not-disrupt": "true"})
    report = rollout_report(cluster(old("b"), pods=(pod,)), horizon_ns=HOUR_NS)
    assert report.state is RolloutState.STALLED
    assert "do-not-disrupt" in "\n".join(more_lines(report))
    forced = old("b", termination_grace_period_ns=HOUR_NS // 2)
    assert rollout_report(cluster(forced, pods=(pod,)), horizon_ns=HOUR_NS).state is RolloutState.PROGRESSING


@given(count=st.integers(0, 5), replaced=st.integers(0, 5), leaving=st.integers(0, 2), strange=st.integers(0, 2))
def test_nodes_count_once_and_a_finished_rollout_has_no_old_node(
    count: int, replaced: int, leaving: int, strange: int
) -> None:
    pairs = [old(f"o{i}") for i in range(count)]
    pairs += [of_revision(f"n{i}", NEW) for i in range(replaced)]
    pairs += [old(f"l{i}", deletion_ns=NOW_NS) for i in range(leaving)]
    pairs += [of_revision(f"s{i}", {**NEW, VERSION: "v1"}) for i in range(strange)]
    report = rollout_report(cluster(*pairs), plays=False)
    for group in report.groups:
        assert sum(group.count(state) for state in NodeState) == len(pairs)
        assert sum(nodes for _, nodes, _ in group.revisions) == len(pairs)
        assert (group.state is RolloutState.DONE) is (count + leaving + strange == 0)
    assert len(report.nodes) == count + leaving + strange


def test_names_that_do_not_exist() -> None:
    with pytest.raises(RequestError, match="there is no NodePool none; there are general"):
        rollout_report(cluster(), pools=("none",))
    with pytest.raises(RequestError, match="there is no NodeClass none; there are EC2NodeClass/default, default"):
        rollout_report(cluster(), nodeclasses=("none",))
    only = rollout_report(cluster(of_revision("a", NEW)), nodeclasses=("EC2NodeClass/default",))
    assert [group.kind for group in only.groups] == ["EC2NodeClass"]
