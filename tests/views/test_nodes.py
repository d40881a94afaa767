from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.objects import Condition, Node
from karptui.kube.taints import Taint
from karptui.session.costs import ClusterTotals, Held, Total, totals_of
from karptui.session.nodes import NodeEntry, PodAccess
from karptui.state.usage import NodeUsage
from karptui.views.filters import compile_query, parse_query
from karptui.views.nodes.columns import nodes_table
from karptui.views.nodes.detail import claim_lines, fact_lines, resource_lines
from karptui.views.nodes.sentences import cluster_facts, explain_node, marked_scope, shown_scope
from karptui.views.nodes.status import is_faulty, node_status
from karptui.views.row import Tone
from karptui.views.sanitize import short_zone
from karptui.views.table import build_rows
from karptui.views.top_bar import Fact
from tests.builders import text_of
from tests.ui.fleet import HOUR, MINUTE, NOW_NS, SECOND, a_fleet, amounts, conditions, view_of

READY = conditions("Ready")
DONE = conditions("Launched", "Registered", "Initialized")
JOINED = conditions("Launched", "Registered")
STARTUP = (Taint("a/b", "NoSchedule"),)


def node(**given: Any) -> Node:
    document: dict[str, Any] = {"name": "n1", "conditions": READY, "created_ns": NOW_NS - HOUR}
    return Node(**(document | given))


def claim(**given: Any) -> NodeClaim:
    document: dict[str, Any] = {"name": "c1", "conditions": DONE, "created_ns": NOW_NS - HOUR}
    return NodeClaim(**(document | given))


def rebooting(step: str, grace: str = "") -> NodeClaim:
    message = "rebooting for Ready/KubeletNotReady"
    condition = Condition("Rebooting", "True", step, message, NOW_NS - MINUTE)
    annotations = {"karpenter.sh/reboot-termination-grace-period": grace} if grace else {}
    return claim(conditions=(*DONE, condition), annotations=annotations)


def since(minutes: float) -> int:
    return NOW_NS - int(minutes * MINUTE)


def unready(status: str = "Unknown", reason: str = "", at_ns: int = 0, **given: Any) -> Node:
    return node(conditions=(Condition("Ready", status, reason, "", at_ns),), **given)


def marked(*further: Condition) -> NodeClaim:
    return claim(conditions=(*DONE, *further))


def leaving(minutes: int, *done: Condition) -> NodeClaim:
    return claim(deletion_ns=since(minutes), conditions=done)


DRIFTED = Condition("Drifted", "True", "", "", since(60))
CHOSEN = Condition("DisruptionReason", "True", "Drifted", "", NOW_NS - 5 * SECOND)
DRAINING = Condition("Drained", "Unknown", "Draining", "Draining")
TWO_NODES = (*conditions("Launched"), Condition("Registered", "False", "MultipleNodesFound", "two nodes"))
NO_CAPACITY = Condition("Launched", "Unknown", "LaunchFailed", "no capacity")
TAINTED = node(taints=(karpenter_labels.DISRUPTED_TAINT,))
DELETED = node(deletion_ns=since(1))
GRACE_OVER = "reboots it after at most 5m with its remaining pods (for Ready/KubeletNotReady)"


@pytest.mark.parametrize(("node", "claim", "text", "tone", "words"), [
    (node(), claim(), "Ready", Tone.GOOD, "ready"),
    (node(), None, "Ready", Tone.GOOD, "ready"),
    (None, None, "Unknown", Tone.MUTED, ""),
    (node(conditions=()), None, "NotReady", Tone.FAULT, "has not reported"),
    (unready("False", "KubeletNotReady", since(1)), claim(), "NotReady 60s", Tone.FAULT, "KubeletNotReady"),
    (unready(), None, "NotReady", Tone.FAULT, "does not report"),
    (unready(is_unschedulable=True), None, "NotReady", Tone.FAULT, "does not report it ready; cordoned as well"),
    (node(is_unschedulable=True), claim(), "Cordoned", Tone.WARNING, "no new pods"),
    (node(), marked(DRIFTED), "Drifted 60m", Tone.WARNING, "differs from its NodePool"),
    (TAINTED, marked(CHOSEN), "Disrupting 5s", Tone.LEAVING, "once its replacement is ready"),
    (TAINTED, claim(), "Tainted", Tone.WARNING, "without a disruption command"),
    (TAINTED, None, "Disrupting", Tone.LEAVING, "chosen"),
    (node(taints=(Taint("karpenter.sh/disrupted", "NoExecute"),)), None, "Ready", Tone.GOOD, "ready"),
    (node(conditions=()), rebooting("RebootRequested", "5m0s"), "Rebooting 60s", Tone.WARNING, GRACE_OVER),
    (node(), rebooting("RebootRequested", "1s"), "Rebooting 60s", Tone.WARNING, "after at most 5s"),
    (node(), rebooting("RebootRequested", "soon"), "Rebooting 60s", Tone.WARNING, "then reboots it (for Ready"),
    (unready(), rebooting("RebootIssued"), "Rebooting 60s", Tone.WARNING, "deleted if not back within 20m"),
    (node(), marked(Condition("Rebooting", "False", "RebootSucceeded")), "Ready", Tone.GOOD, "ready"),
    (DELETED, rebooting("RebootIssued"), "Deleting 60s", Tone.LEAVING, "begun"),
    (node(deletion_ns=since(9)), claim(), "Deleting 9m", Tone.LEAVING, "has not begun"),
    (node(), claim(deletion_ns=since(9)), "Deleting 9m", Tone.LEAVING, "has not begun"),
    (node(deletion_ns=since(8)), leaving(9, DRAINING), "Draining 9m", Tone.LEAVING, "being drained"),
    (node(), leaving(3, *conditions("Drained")), "Detaching 3m", Tone.LEAVING, "volumes"),
    (node(), leaving(3, *conditions("Drained", "VolumesDetached")), "Terminating 3m", Tone.LEAVING,
     "the instance is terminated next"),
    (DELETED, leaving(1, *conditions("Drained", "InstanceTerminating")), "Terminating 60s", Tone.LEAVING, "terminated"),
    (DELETED, None, "Deleting 60s", Tone.LEAVING, "a finalizer remains"),
    (node(), claim(conditions=conditions("Launched")), "Registering 60m", Tone.ACTIVE, "linked it"),
    (node(), claim(conditions=JOINED, startup_taints=STARTUP), "Initializing 60m", Tone.ACTIVE, "all its resources"),
    (node(conditions=(), taints=STARTUP), claim(conditions=JOINED, startup_taints=STARTUP), "Initializing 60m",
     Tone.ACTIVE, "startup taint a/b"),
    (None, claim(conditions=()), "Launching 60m", Tone.ACTIVE, "instance is not launched"),
    (None, claim(conditions=(NO_CAPACITY,)), "Launching 60m", Tone.FAULT, "no capacity"),
    (None, claim(conditions=conditions("Launched", "?Registered")), "Registering 60m", Tone.ACTIVE, "joined"),
    (None, claim(conditions=TWO_NODES), "Registering 60m", Tone.FAULT, "two nodes"),
    (None, claim(deletion_ns=since(1)), "Deleting 60s", Tone.LEAVING, "no node"),
    (None, claim(node_name="n9"), "Node gone", Tone.FAULT, "n9"),
])  # fmt: skip
def test_the_most_urgent_state(node: Node | None, claim: NodeClaim | None, text: str, tone: Tone, words: str) -> None:
    status = node_status(NodeEntry(node, claim))
    assert (status.text(NOW_NS), status.tone) == (text, tone)
    assert words in status.sentence
    assert is_faulty(status) == (tone in (Tone.FAULT, Tone.WARNING, Tone.LEAVING))


def test_a_nodeclaim_that_may_not_be_listed_is_not_shown_as_missing() -> None:
    assert (
        "its NodeClaim cannot be shown"
        in node_status(NodeEntry(DELETED, None, hidden=frozenset({"NodeClaim"}))).sentence
    )


def entry_of(name: str) -> NodeEntry:
    return next(entry for entry in view_of(a_fleet()).node_entries if name in entry.name)


def cells_of(entry: NodeEntry) -> dict[str, str]:
    table = nodes_table(("team",), has_prices=False)
    row = build_rows(table, [entry], now_ns=NOW_NS)[0]
    return {
        heading.id: cell.text
        for heading, cell in zip(table.headings(), row.cells, strict=True)
        if heading.id != "why"  # the analysis has its own tests
    }


def test_cells_of_a_node() -> None:
    cells = cells_of(entry_of("71-204"))
    assert cells == {
        "name": "ip-10-0-71-204.eu-west-1.compute.internal",
        "pool": "runners",
        "type": "r6i.4xlarge",
        "cap": "od",
        "zone": "eu-west-1a",
        "status": "Ready",
        "cpu": "1.2/15.9   7%",
        "mem": "4.3/115.5Gi   3%",
        "pods": "4/234",
        "used_cpu": "n/a",
        "used_mem": "n/a",
        "gpu": "-",
        "ephemeral": "0/71Gi   0%",
        "arch": "amd64",
        "delta": "0",
        "free": "14.7 111.2Gi",
        "expires": "29d",
        "image": "ami-0a1b2c3d4e5f60718",
        "label:team": "ci",
        "age": "6h",
    }


def test_cells_of_a_claim_and_of_a_node_that_karpenter_does_not_manage() -> None:
    cells = cells_of(entry_of("general-x7k2p"))
    assert (cells["name"], cells["cpu"], cells["type"], cells["status"]) == (
        "(general-x7k2p)", "-", "-", "Launching 38s",
    )  # fmt: skip
    assert cells["expires"] == "never"
    cells = cells_of(entry_of("10-0-1-10"))
    assert (cells["pool"], cells["cap"], cells["expires"], cells["delta"]) == ("-", "-", "-", "-")
    assert cells["image"].startswith("Bottlerocket")
    assert cells_of(NodeEntry(None, None))["age"] == "n/a"
    assert cells_of(NodeEntry(None, claim(expire_after_ns=MINUTE)))["expires"] == "due"
    assert cells_of(NodeEntry(None, claim(expire_after_ns=MINUTE, deletion_ns=MINUTE)))["expires"] == "-"
    assert cells_of(entry_of("5-160"))["delta"] == "−16Mi"
    assert cells_of(entry_of("21-3"))["gpu"] == "0/1"
    assert cells_of(NodeEntry(node(allocatable=amounts(cpu="1")), claim()))["delta"] == "-"


@pytest.mark.parametrize(("access", "text"), [(PodAccess.FORBIDDEN, "unread"), (PodAccess.PENDING, "…")])
def test_unknown_requests_are_not_shown_as_zero(access: PodAccess, text: str) -> None:
    whole = entry_of("21-3")
    cells = cells_of(NodeEntry(whole.node, whole.claim, None, access))
    assert cells["cpu"] == f"{text}/7910m"
    assert cells["mem"] == f"{text}/28.9Gi"
    assert cells["pods"] == f"{text}/58"
    assert cells["gpu"] == f"{text}/1"
    assert cells["ephemeral"] == f"{text}/71Gi"


@pytest.mark.parametrize(("text", "count"), [
    ("pool=runners", 1),
    ("type=m6a*", 5),
    ("cap=od cap=on-demand", 4),
    ("cap=spot", 5),
    ("zone=*1a", 3),
    ("status=notready,draining", 2),
    ("cpu>80%", 2),
    ("mem>100Gi", 1),
    ("pods>=15", 2),
    ("gpu>0", 1),
    ("free.cpu>28", 0),
    ("free.mem<7Gi", 4),
    ("age<1h", 4),
    ("taint=*unschedulable", 1),
    ("delta=−*", 1),
    ("arch=amd64", 11),
    ("image=ami*", 10),
    ("name=ip-10-0-8-*", 1),
    ("-l team=ci", 1),
    ("draining", 1),
    ("gpu-9fq4z", 1),
])  # fmt: skip
def test_filters_match_nodes(text: str, count: int) -> None:
    table = nodes_table()
    test = compile_query(parse_query(text, table.subject), table.subject, NOW_NS)
    assert sum(map(test, view_of(a_fleet()).node_entries)) == count


def info_text(entry: NodeEntry) -> str:
    return text_of(explain_node(entry, NOW_NS, has_prices=False))


def test_a_node_as_text() -> None:
    assert info_text(entry_of("12-88")) == "Ready"
    assert info_text(entry_of("44-2")).startswith("NotReady for 4m: Kubelet stopped posting node status.")
    assert info_text(entry_of("60-19")).startswith("Cordoned: no new pods are scheduled to it")
    assert info_text(entry_of("x7k2p")).endswith("launched for pods requesting cpu 6500m mem 21Gi")
    assert info_text(entry_of("5-160")).endswith("has −16Mi compared with its NodeClaim")
    assert info_text(entry_of("10-0-1-10")).startswith("Ready · Karpenter does not manage it")
    assert info_text(NodeEntry(None, claim())).startswith("Node gone")
    whole = entry_of("12-88")
    assert "pods may not be listed" in info_text(NodeEntry(whole.node, whole.claim, None, PodAccess.FORBIDDEN))
    assert "pods are loading" in info_text(NodeEntry(whole.node, whole.claim, None, PodAccess.PENDING))


def facts_of(
    entries: Sequence[NodeEntry],
    pod_count: int,
    *,
    cost: Total | None = None,
    held: Held | None = None,
    hidden: frozenset[str] = frozenset(),
    scope: Fact | None = None,
) -> tuple[Fact, ...]:
    totals = totals_of(entries, pod_count, hidden=hidden, has_prices=False, analysis=None)
    return cluster_facts(replace(totals, cost=cost, held=held), scope)


def test_totals_count_nodes_pods_and_requested_shares() -> None:
    entries = view_of(a_fleet()).node_entries
    assert [fact.short for fact in facts_of(entries, 89)] == [
        "11 nodes", "+2", "89 pods", "cpu 52%", "mem 55%", "slots 6%",
    ]  # fmt: skip
    whole = entry_of("12-88")
    forbidden = facts_of([NodeEntry(whole.node, whole.claim, None, PodAccess.FORBIDDEN)], 0)
    assert [fact.text for fact in forbidden] == ["1 node", "pods unread"]
    coming = facts_of([NodeEntry(whole.node, whole.claim, None, PodAccess.PENDING)], 0, cost=Total(1.0, priced=1))
    assert [fact.text for fact in coming] == ["1 node", "$1.00/h · $730/mo"]
    held = facts_of([NodeEntry(whole.node, whole.claim, None, PodAccess.PENDING)], 0, held=Held(2.0, nodes=1))
    assert [fact.text for fact in held] == ["1 node", "held $2.00/h"]
    assert [fact.text for fact in facts_of((), 0)] == ["0 nodes"]


def test_totals_of_some_nodes_show_their_number() -> None:
    view = view_of(a_fleet())
    entries = view.node_entries
    nodes, claims = (
        [entry for entry in entries if entry.node is not None],
        [entry for entry in entries if entry.node is None],
    )
    shown = [*nodes[:2], *claims]
    every = view.totals

    def some(entries: Sequence[NodeEntry]) -> ClusterTotals:
        return view.totals_of(entries, 0)

    scope = shown_scope(some(shown), every)
    assert (scope.text, scope.short) == ("2 of 11 nodes +2 starting:", "2/11 nodes:")
    assert shown_scope(some(nodes[:3]), every).text == "3 of 11 nodes:"
    assert shown_scope(some(claims[:1]), replace(some(claims), hidden=frozenset({"Node"}))).text == "1 of 2 NodeClaims:"
    assert (marked_scope(some(shown)).text, marked_scope(some(shown)).short) == (
        "4 marked, 2 of them starting:",
        "4 marked:",
    )
    assert marked_scope(some(nodes[:1])).text == "1 marked:"
    facts = [fact.text for fact in cluster_facts(view.totals_of(shown, 7), scope)]
    asked, offered = sum(entry.cpu.requested for entry in shown), sum(entry.cpu.capacity for entry in shown)
    assert facts[0] == scope.text
    assert "7 pods" in facts
    assert any(text.startswith(f"cpu {100 * asked // offered}% ") for text in facts)
    assert [fact.text for fact in facts_of((), 0, hidden=frozenset({"Node"}), scope=scope)][:2] == [
        "nodes unread",
        scope.text,
    ]


def test_without_permission_unknown_counts_are_not_shown_as_zero() -> None:
    cost, nodes = Total(1.0, priced=1), frozenset({"Node"})
    assert [fact.text for fact in facts_of((), 0, cost=cost, hidden=nodes)] == ["nodes unread"]
    claims = [NodeEntry(None, claim(), hidden=nodes)]
    assert [fact.text for fact in facts_of(claims, 3, cost=cost, hidden=nodes)] == [
        "nodes unread", "1 NodeClaim", "$1.00/h · $730/mo", "3 pods",
    ]  # fmt: skip
    both = frozenset({"Node", "Pod"})
    assert [fact.text for fact in facts_of(claims, 0, hidden=both)] == ["nodes unread", "1 NodeClaim", "pods unread"]
    lines = claim_lines(NodeEntry(entry_of("12-88").node, None, hidden=frozenset({"NodeClaim"})), NOW_NS)
    assert text_of(lines[1]).strip() == "NodeClaims may not be listed"
    seen = NodeEntry(None, claim(), hidden=frozenset({"Node"}))
    assert info_text(seen).startswith("Initialized: its node cannot be shown: nodes may not be listed")
    early = replace(claim(), conditions=tuple(item for item in claim().conditions if item.type != "Initialized"))
    assert cells_of(NodeEntry(None, early, hidden=frozenset({"Node"})))["status"] == "Registered"


def lines_of(lines: object) -> list[str]:
    assert isinstance(lines, tuple)
    return [text_of(line).rstrip() for line in lines]


def test_the_ledger_adds_up() -> None:
    assert lines_of(resource_lines(entry_of("5-160"))) == [
        "                  cpu      memory  pods  ephemeral",
        "capacity      32,000m   262,144Mi   234   81,920Mi",
        "reserved        −150m   −22,590Mi     0   −9,216Mi",
        "allocatable   31,850m   239,554Mi   234   72,704Mi",
        "DaemonSets      −160m      −308Mi    −2          0",
        "workload     −30,000m  −233,472Mi    −1          0",
        "free           1,690m     5,774Mi   231   72,704Mi",
        "requested         94%         97%    1%         0%",
        "Δ claim             0       −16Mi     0",
    ]


def test_the_ledger_with_unknown_resources() -> None:
    assert lines_of(resource_lines(NodeEntry(None, claim()))) == ["the node has not reported its resources"]
    promised = NodeEntry(None, claim(allocatable=amounts(cpu="2", memory="4Gi")))
    assert lines_of(resource_lines(promised))[-1].split() == ["allocatable", "2,000m", "4,096Mi"]
    whole = entry_of("12-88")
    for access, text in ((PodAccess.FORBIDDEN, "unread"), (PodAccess.PENDING, "…")):
        lines = lines_of(resource_lines(NodeEntry(whole.node, whole.claim, None, access)))
        assert text in next(line for line in lines if line.startswith("free"))
    more = NodeEntry(node(allocatable=amounts(cpu="3"), capacity=amounts(cpu="2")), claim(allocatable=amounts(cpu="2")))
    lines = lines_of(resource_lines(more))
    assert lines[-1].split() == ["Δ", "claim", "+1,000m"]
    over = NodeEntry(node(allocatable=amounts(cpu="1")), None, NodeUsage(workload=amounts(cpu="2")))
    assert "−1,000m" not in lines_of(resource_lines(over))[0]


def test_facts_name_every_condition_taint_and_label() -> None:
    text = "\n".join(lines_of(fact_lines(entry_of("21-3"), NOW_NS)))
    assert "  ! Drifted True 120m  NodePoolDrifted" in text
    assert "  ✔ Ready True 60m" in text
    assert "  karpenter.sh/nodepool=gpu" in text
    assert "expires in 27d" in text
    text = "\n".join(lines_of(fact_lines(entry_of("44-2"), NOW_NS)))
    assert "? Ready Unknown 4m  Kubelet stopped posting node status." in text
    assert "NotReady 4m  Kubelet stopped" in text
    text = "\n".join(lines_of(fact_lines(entry_of("60-19"), NOW_NS)))
    assert "node.kubernetes.io/unschedulable:NoSchedule" in text
    assert "allocatable differs from the NodeClaim by −16Mi" in "\n".join(
        lines_of(fact_lines(entry_of("5-160"), NOW_NS))
    )
    assert "drain deadline 24h" in "\n".join(lines_of(fact_lines(entry_of("71-204"), NOW_NS)))
    assert "does not manage this node" in "\n".join(lines_of(fact_lines(entry_of("10-0-1-10"), NOW_NS)))
    odd = NodeEntry(node(conditions=(*conditions("MemoryPressure", "!KernelDeadlock", "!Ready", "Consolidatable",
                                                 "!Drifted"),
                                     Condition("DiskPressure", "Unknown", "NodeStatusUnknown")),
                         taints=(Taint("a", "NoExecute", "b"),)),
                    claim(conditions=conditions("!Consolidatable"), expire_after_ns=MINUTE))  # fmt: skip
    text = "\n".join(lines_of(fact_lines(odd, NOW_NS)))
    for part in (
        "✘ MemoryPressure",
        "✔ KernelDeadlock False",
        "? DiskPressure Unknown  NodeStatusUnknown",
        "✘ Ready",
        "✔ Consolidatable",
        "· Drifted",
        "· Consolidatable",
        "a=b:NoExecute",
        "expires due",
    ):
        assert part in text
    bare = "\n".join(lines_of(fact_lines(NodeEntry(None, claim(conditions=(), requests=amounts(cpu="1"))), NOW_NS)))
    assert "none reported" in bare
    assert "launched for pods requesting cpu 1000m" in bare


NO_ZONE = "1" * 100


@pytest.mark.parametrize(
    ("zone", "short"),
    [("us-east-1a", "1a"), ("europe-west1-b", "1b"), ("eastus-1", "eastus-1"), ("", ""), (NO_ZONE, NO_ZONE)],
)
def test_zones_are_shortened(zone: str, short: str) -> None:
    assert short_zone(zone) == short


def test_an_extended_resource_gets_a_column_on_request() -> None:
    name = "vpc.amazonaws.com/pod-eni"
    given = amounts(cpu="4", memory="8Gi", **{name: "9"})
    used = NodeUsage(daemonset=amounts(**{name: "1"}), workload=amounts(cpu="1500m", memory="9Gi", **{name: "2"}))
    entry = NodeEntry(node(allocatable=given), claim(), used)
    table = nodes_table(resources=("cpu", name, "hugepages-2Mi", name))
    cells = build_rows(table, [entry], now_ns=NOW_NS)[0].cells
    row = dict(zip([heading.id for heading in table.headings()], cells, strict=True))
    assert (row[f"resource:{name}"].text, row["resource:hugepages-2Mi"].text) == ("3/9", "-")
    assert "mem" not in row
    assert (row["free"].text, row["free"].tone) == ("2500m −1,024Mi", Tone.WARNING)
    values = table.values(entry, NOW_NS)
    assert [values[f"resource:{name}_{part}"] for part in ("requested", "daemonset", "allocatable")] == [3, 1, 9]
    assert (values["mem_allocatable_bytes"], values["free_mem_bytes"]) == (8 << 30, -1 << 30)
    hidden = replace(entry, access=PodAccess.FORBIDDEN)
    assert table.column(f"resource:{name}").cell(hidden, NOW_NS).text == "unread/9"
    assert table.column("free").cell(hidden, NOW_NS).text == "-"
