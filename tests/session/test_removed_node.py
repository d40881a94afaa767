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

BEGIN_NS = 1_800_000_000 * NS_PER_SECOND
WORDS = "Disrupting NodeClaim: Underutilized"
DELETED = 100
"""Seconds from the beginning to the deletion."""
PRICES = NodePrices(
    (
        PriceTable(
            origin=PriceOrigin(next(iter(PriceSource)), BEGIN_NS),
            currency="USD",
            on_demand={"m5.large": 0.1, "m5.4xlarge": 0.8},
        ),
    )
)


def at(seconds: float) -> int:
    return BEGIN_NS + int(seconds * NS_PER_SECOND)


def stamp(seconds: float) -> str:
    return format_timestamp(at(seconds))


def a_change(seconds: float, manifest: dict[str, Any] | None, kind: str = "", key: str = "") -> Change:
    metadata = (manifest or {}).get("metadata", {})
    key = key or "/".join(filter(None, (metadata.get("namespace", ""), metadata.get("name", ""))))
    return Change(at(seconds), kind or (manifest or {})["kind"], key, "", msgspec.Raw(msgspec.json.encode(manifest)))


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
    metadata: dict[str, Any] = {
        "name": name,
        "uid": uid or name,
        "creationTimestamp": stamp(born),
        "labels": {
            "karpenter.sh/nodepool": "general",
            "node.kubernetes.io/instance-type": kind,
            "karpenter.sh/capacity-type": "on-demand",
            "topology.kubernetes.io/zone": "eu-west-1a",
        },
    }
    if deleted is not None:
        metadata["deletionTimestamp"] = stamp(deleted)
    if deadline is not None:
        metadata["annotations"] = {"karpenter.sh/nodeclaim-termination-timestamp": stamp(deadline)}
    conditions = [{"type": t, "status": "True", "reason": t, "lastTransitionTime": stamp(born)} for t in
                  ("Launched", "Registered", "Initialized")]  # fmt: skip
    if why:
        conditions.append(
            {
                "type": "DisruptionReason",
                "status": "True",
                "reason": why,
                "message": why,
                "lastTransitionTime": stamp(commanded),
            }
        )
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": metadata,
        "spec": {"nodeClassRef": reference, "requirements": []},
        "status": {"nodeName": f"node-{name}", "providerID": f"aws:///x/{uid or name}", "conditions": conditions},
    }


def a_pod(
    name: str, node: str, *, born: float = -3000, owner: str = "web-abc12", kind: str = "ReplicaSet"
) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "shop",
        "uid": f"{name}-{born}",
        "creationTimestamp": stamp(born),
        "labels": {"pod-template-hash": "abc12"},
        "ownerReferences": [{"kind": kind, "name": owner, "uid": owner, "controller": True, "apiVersion": "apps/v1"}],
    }
    spec = {"nodeName": node, "containers": [{"name": "web"}]} if node else {"containers": [{"name": "web"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def an_event(name: str, reason: str, message: str, seconds: float, kind: str = "NodeClaim") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason}", "namespace": "default", "uid": f"{name}.{reason}"},
        "involvedObject": {"kind": kind, "name": name, "apiVersion": "karpenter.sh/v1"},
        "reason": reason,
        "message": message,
        "type": "Normal",
        "source": {"component": "karpenter"},
        "firstTimestamp": stamp(seconds),
        "lastTimestamp": stamp(seconds),
    }


def a_history(path: Path, objects: list[dict[str, Any]], changes: list[Change], until: float = 400) -> History:
    writer = HistoryWriter(path, "prod")
    writer.write_key([a_change(0, manifest) for manifest in objects])
    writer.finish_key(max(writer.newest_ns + 1, at(0)))
    writer.write(changes)
    writer.note_instant(at(until))
    writer.close()
    return History(path)


def removal(history: History, name: str = "old", now: float = 400) -> RemovedNode:
    node = removed_node(history, name, at(now), PRICES)
    assert node is not None
    return node


def text(node: RemovedNode) -> str:
    return "\n".join("".join(part for part, _ in line) for line in removed_lines(node, at(400)))


@pytest.fixture
def consolidated(tmp_path: Path) -> History:
    """Return a history in which one command replaces two nodes by a smaller one."""
    before = [
        a_claim("old"),
        a_claim("older"),
        a_pod("web-1", "node-old"),
        a_pod("db-0", "node-old", owner="db", kind="StatefulSet"),
    ]
    ds = a_pod("logs-1", "node-old", owner="logs", kind="DaemonSet")
    changes = [
        a_change(61, an_event("new", "DisruptionLaunching", "Launching NodeClaim: Underutilized", 61)),
        a_change(62, a_claim("new", born=61, kind="m5.large")),
        a_change(DELETED, a_claim("old", why="Underutilized", deleted=DELETED)),
        a_change(DELETED, a_claim("older", why="Underutilized", commanded=DELETED - 39, deleted=DELETED)),
        a_change(DELETED + 0.1, an_event("old", "DisruptionTerminating", WORDS, DELETED)),
        a_change(DELETED + 5, None, "Pod", "shop/web-1"),
        a_change(DELETED + 6, a_pod("web-2", "", born=DELETED + 5)),
        a_change(DELETED + 9, a_pod("web-2", "node-new", born=DELETED + 5)),
        a_change(DELETED + 10, a_pod("db-0", "node-new", born=DELETED + 9, owner="db", kind="StatefulSet")),
        a_change(DELETED + 20, None, "NodeClaim", "old"),
        a_change(DELETED + 21, None, "NodeClaim", "older"),
        a_change(DELETED + 90, a_pod("web-3", "node-else", born=DELETED + 89)),
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


def test_its_lines_and_values(consolidated: History) -> None:
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


@pytest.mark.parametrize(
    ("gone", "was_forced", "line"),
    [
        (65, True, "the deadline ended its drain, 2027-01-15 08:02:40Z"),
        (9, False, "the drain ended before its deadline"),
    ],
)
def test_whether_the_deadline_ended_the_drain(tmp_path: Path, gone: float, was_forced: bool, line: str) -> None:
    deadline = DELETED + 60
    changes = [
        a_change(DELETED, a_claim("old", deleted=DELETED, deadline=deadline)),
        a_change(DELETED + gone, None, "NodeClaim", "old"),
    ]
    node = removal(a_history(tmp_path / "h.karptui", [a_claim("old")], changes))
    assert (node.was_forced, node.deadline_ns, node.method) == (was_forced, at(deadline), "")
    assert line in text(node)


def test_of_several_nodes_with_a_name_the_last_is_explained(tmp_path: Path) -> None:
    changes = [
        a_change(50, a_claim("old", uid="1", why="Empty", deleted=50, commanded=49)),
        a_change(60, None, "NodeClaim", "old"),
        a_change(70, a_claim("old", uid="2", born=69)),
        a_change(150, a_claim("old", uid="2", born=69, why="Drifted", deleted=150, commanded=149)),
        a_change(160, None, "NodeClaim", "old"),
    ]
    history = a_history(tmp_path / "h.karptui", [a_claim("old", uid="1")], changes)
    node = removal(history)
    assert (node.namesakes, node.method) == (2, "Drift")
    assert "2 removed nodes had this name; this is the last of them." in text(node)
    assert removal(history, now=100).method == "Emptiness"


def test_a_node_that_went_while_nothing_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "h.karptui"
    a_history(path, [a_claim("old"), a_claim("kept")], [a_change(10, a_pod("a", "node-kept"))], until=20).close()
    node = removal(a_history(path, [a_claim("kept")], [a_change(300, a_pod("b", "node-kept"))]))
    assert not node.was_recorded
    assert "It was removed while nothing was recorded" in text(node)


def test_a_node_that_exists_or_never_did_has_no_removal(consolidated: History) -> None:
    assert removed_node(consolidated, "node-new", at(400)) is None
    assert removed_node(consolidated, "nowhere", at(400)) is None
    assert removed_node(consolidated, "old", at(50)) is None


def test_without_prices_costs_are_left_out(consolidated: History) -> None:
    node = removed_node(consolidated, "old", at(400))
    assert node is not None
    assert (node.price_per_hour, node.saved_per_hour) == (None, None)
    assert "$" not in text(node)
