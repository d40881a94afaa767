from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from karptui.aws.prices import NodePrices, PriceOrigin, PriceSource, PriceTable
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.session.removed_node import RemovedNode, removed_node
from karptui.sources.history.store import Change, History
from karptui.sources.history.writer import HistoryWriter
from karptui.views.removed_node import removed_lines, removed_values
from tests.builders import a_manifest, present
from tests.builders.manifests import CLASS_REFERENCE, a_change, an_event_manifest

BEGIN_NS = 1_800_000_000 * NS_PER_SECOND
WORDS = "Disrupting NodeClaim: Underutilized"
DELETED = 100
"""Seconds from the start of the history to the deletion."""
PRICES = NodePrices(
    (
        PriceTable(origin=PriceOrigin(next(iter(PriceSource)), BEGIN_NS), currency="USD",
                   on_demand={"m5.large": 0.1, "m5.4xlarge": 0.8}),
    )
)  # fmt: skip


def at(seconds: float) -> int:
    return BEGIN_NS + int(seconds * NS_PER_SECOND)


def stamp(seconds: float) -> str:
    return format_timestamp(at(seconds))


def removed(seconds: float, kind: str, key: str) -> Change:
    return Change(at(seconds), kind, key, "", msgspec.Raw(b"null"))


def seen(seconds: float, manifest: dict[str, Any]) -> Change:
    return a_change(at(seconds), manifest)


def a_claim(
    name: str,
    *,
    born: float = -3600,
    why: str = "",
    commanded: float = DELETED - 40,
    deleted: float | None = None,
    deadline: float | None = None,
    uid: str = "",
    kind: str = "m5.4xlarge",
) -> dict[str, Any]:
    labels = {
        "karpenter.sh/nodepool": "general",
        "node.kubernetes.io/instance-type": kind,
        "karpenter.sh/capacity-type": "on-demand",
        "topology.kubernetes.io/zone": "eu-west-1a",
    }
    metadata: dict[str, Any] = {"uid": uid or name, "creationTimestamp": stamp(born), "labels": labels}
    if deleted is not None:
        metadata["deletionTimestamp"] = stamp(deleted)
    if deadline is not None:
        metadata["annotations"] = {"karpenter.sh/nodeclaim-termination-timestamp": stamp(deadline)}
    reached = dict.fromkeys(("Launched", "Registered", "Initialized"), ("", born))
    conditions = [
        {
            "type": text,
            "status": "True",
            "reason": reason or text,
            "message": reason,
            "lastTransitionTime": stamp(since),
        }
        for text, (reason, since) in (reached | ({"DisruptionReason": (why, commanded)} if why else {})).items()
    ]
    return a_manifest(
        "NodeClaim",
        name,
        api_version="karpenter.sh/v1",
        metadata=metadata,
        spec={"nodeClassRef": CLASS_REFERENCE, "requirements": []},
        status={"nodeName": f"node-{name}", "providerID": f"aws:///x/{uid or name}", "conditions": conditions},
    )


def a_pod(
    name: str, node: str, *, born: float = -3000, owner: str = "web-abc12", kind: str = "ReplicaSet"
) -> dict[str, Any]:
    owners = [{"kind": kind, "name": owner, "uid": owner, "controller": True, "apiVersion": "apps/v1"}]
    metadata = {
        "uid": f"{name}-{born}",
        "creationTimestamp": stamp(born),
        "labels": {"pod-template-hash": "abc12"},
        "ownerReferences": owners,
    }
    spec = {"containers": [{"name": "web"}]} | ({"nodeName": node} if node else {})
    return a_manifest("Pod", name, namespace="shop", metadata=metadata, spec=spec, status={"phase": "Running"})


def a_history(path: Path, objects: list[dict[str, Any]], changes: list[Change], until: float = 400) -> History:
    writer = HistoryWriter(path, "prod")
    writer.write_key([seen(0, manifest) for manifest in objects])
    writer.finish_key(max(writer.newest_ns + 1, at(0)))
    writer.write(changes)
    writer.note_instant(at(until))
    writer.close()
    return History(path)


def removal(history: History, name: str = "old", now: float = 400) -> RemovedNode:
    return present(removed_node(history, name, at(now), PRICES))


def text(node: RemovedNode) -> str:
    return "\n".join("".join(part for part, _ in line) for line in removed_lines(node, at(400)))


@pytest.fixture
def consolidated(tmp_path: Path) -> History:
    """Return a history in which one command replaces two nodes with a smaller one."""
    before = [
        a_claim("old"),
        a_claim("older"),
        a_pod("web-1", "node-old"),
        a_pod("db-0", "node-old", owner="db", kind="StatefulSet"),
    ]
    ds = a_pod("logs-1", "node-old", owner="logs", kind="DaemonSet")
    changes = [
        seen(61, an_event_manifest("new", "DisruptionLaunching", "Launching NodeClaim: Underutilized", stamp(61))),
        seen(62, a_claim("new", born=61, kind="m5.large")),
        seen(DELETED, a_claim("old", why="Underutilized", deleted=DELETED)),
        seen(DELETED, a_claim("older", why="Underutilized", commanded=DELETED - 39, deleted=DELETED)),
        seen(DELETED + 0.1, an_event_manifest("old", "DisruptionTerminating", WORDS, stamp(DELETED))),
        removed(DELETED + 5, "Pod", "shop/web-1"),
        seen(DELETED + 6, a_pod("web-2", "", born=DELETED + 5)),
        seen(DELETED + 9, a_pod("web-2", "node-new", born=DELETED + 5)),
        seen(DELETED + 10, a_pod("db-0", "node-new", born=DELETED + 9, owner="db", kind="StatefulSet")),
        removed(DELETED + 20, "NodeClaim", "old"),
        removed(DELETED + 21, "NodeClaim", "older"),
        seen(DELETED + 90, a_pod("web-3", "node-else", born=DELETED + 89)),
    ]  # fmt: skip
    return a_history(tmp_path / "h.karptui", [*before, ds], changes)


@pytest.mark.parametrize("name", ["old", "node-old"])
def test_a_node_that_consolidation_replaced(consolidated: History, name: str) -> None:
    node = removal(consolidated, name)
    assert (node.replaced.life.claim, node.method) == ("old", "MultiNodeConsolidation")
    assert [life.claim for life in node.together] == ["older"]
    assert [life.claim for life in node.replaced.successors] == ["new"]
    assert [(pods.owner, pods.pods, pods.nodes) for pods in node.evicted] == [
        ("Deployment/shop/web", ("shop/web-1",), (("node-new", 1),)),
        ("StatefulSet/shop/db", ("shop/db-0",), (("node-new", 1),)),
    ]
    assert node.price_per_hour == pytest.approx(0.8)
    assert node.saved_per_hour == pytest.approx(1.5)
    assert [event.message for event in node.events] == [WORDS]
    assert (node.deadline_ns, node.was_forced, node.namesakes, node.was_recorded) == (0, False, 1, True)


def test_lines_and_values_of_a_consolidated_node(consolidated: History) -> None:
    node = removal(consolidated)
    lines = text(node)
    assert "replaced by (inferred from time and reason): new m5.large" in lines
    assert "method: MultiNodeConsolidation, decided 2027-01-15 08:01:00Z" in lines
    assert "the same command removed 1 more node: node-older" in lines
    assert "it cost $0.80/h; the command saves $1.5000/h" in lines
    assert "  1 pod of Deployment shop/web: node-new (1)" in lines
    assert "NodeClaim  DisruptionTerminating: Disrupting NodeClaim: Underutilized" in lines
    values = removed_values(node, at(400))
    assert (values["gone"], values["candidates"], values["pods_moved"]) == (True, ["older"], 2)


@pytest.mark.parametrize(("gone", "was_forced", "line"), [
    (65, True, "the deadline ended its drain, 2027-01-15 08:02:40Z"),
    (9, False, "the drain ended before its deadline"),
])  # fmt: skip
def test_whether_the_deadline_ended_the_drain(tmp_path: Path, gone: float, was_forced: bool, line: str) -> None:
    deadline = DELETED + 60
    changes = [
        seen(DELETED, a_claim("old", deleted=DELETED, deadline=deadline)),
        removed(DELETED + gone, "NodeClaim", "old"),
    ]
    node = removal(a_history(tmp_path / "h.karptui", [a_claim("old")], changes))
    assert (node.was_forced, node.deadline_ns, node.method) == (was_forced, at(deadline), "")
    assert line in text(node)


def test_the_last_of_several_nodes_with_a_name_is_explained(tmp_path: Path) -> None:
    changes = [
        seen(50, a_claim("old", uid="1", why="Empty", deleted=50, commanded=49)),
        removed(60, "NodeClaim", "old"),
        seen(70, a_claim("old", uid="2", born=69)),
        seen(150, a_claim("old", uid="2", born=69, why="Drifted", deleted=150, commanded=149)),
        removed(160, "NodeClaim", "old"),
    ]
    history = a_history(tmp_path / "h.karptui", [a_claim("old", uid="1")], changes)
    node = removal(history)
    assert (node.namesakes, node.method) == (2, "Drift")
    assert "2 removed nodes had this name; this is the last of them." in text(node)
    assert removal(history, now=100).method == "Emptiness"


def test_a_node_removed_while_nothing_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "h.karptui"
    a_history(path, [a_claim("old"), a_claim("kept")], [seen(10, a_pod("a", "node-kept"))], until=20).close()
    node = removal(a_history(path, [a_claim("kept")], [seen(300, a_pod("b", "node-kept"))]))
    assert not node.was_recorded
    assert "It was removed while nothing was recorded" in text(node)


def test_an_existing_or_unknown_node_has_no_removal(consolidated: History) -> None:
    assert removed_node(consolidated, "node-new", at(400)) is None
    assert removed_node(consolidated, "nowhere", at(400)) is None
    assert removed_node(consolidated, "old", at(50)) is None


def test_without_prices_costs_are_left_out(consolidated: History) -> None:
    node = present(removed_node(consolidated, "old", at(400)))
    assert (node.price_per_hour, node.saved_per_hour) == (None, None)
    assert "$" not in text(node)
