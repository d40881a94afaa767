from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.karpenter import labels as karpenter_labels
from karptui.kube.objects import OwnerReference
from karptui.kube.pod import Pod, PodTemplate, PodVolume
from karptui.kube.taints import Toleration
from karptui.kube.workload import PodDisruptionBudget
from karptui.session.cluster_view import ClusterView
from karptui.session.pods import PodEntry
from karptui.sources.source import Phase
from karptui.state.cluster import EMPTY
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.views.describe import describe
from karptui.views.filters import compile_query, parse_query
from karptui.views.pods import TABLE, explain_pod, pod_status, pod_status_text
from karptui.views.row import Tone
from karptui.views.table import Sort, build_rows
from tests.builders import a_pdb, a_pod, text_of
from tests.ui.fleet import MINUTE, NOW_NS, a_fleet, status, view_of


def entry(template: dict[str, Any] | None = None, **given: Any) -> PodEntry:
    podtemplate = PodTemplate(**({"namespace": "web"} | (template or {})))
    document: dict[str, Any] = {"name": "p", "template": podtemplate, "phase": "Running", "node_name": "n1"}
    pod = Pod(**(document | given))
    return PodEntry(pod.key, pod, "general")


@pytest.mark.parametrize(("pod", "text", "tone"), [
    (entry(ready=True), "Running", Tone.GOOD),
    (entry(ready=False), "NotReady", Tone.WARNING),
    (entry(deletion_ns=NOW_NS - MINUTE), "Terminating 60s", Tone.LEAVING),
    (entry(deletion_ns=NOW_NS + 3 * MINUTE), "Terminating, 3m left", Tone.LEAVING),
    (entry(waiting_reason="CrashLoopBackOff"), "CrashLoopBackOff", Tone.FAULT),
    (entry(waiting_reason="ContainerCreating"), "ContainerCreating", Tone.ACTIVE),
    (entry(phase="Pending"), "Pending", Tone.ACTIVE),
    (entry(phase="Pending", node_name="", created_ns=NOW_NS - MINUTE), "Pending 60s", Tone.WARNING),
    (entry(phase="Pending", node_name="", scheduled_reason="Unschedulable", scheduled_ns=NOW_NS - 3 * MINUTE),
     "Unschedulable 3m", Tone.WARNING),
    (entry(phase=""), "Unknown", Tone.NORMAL),
])  # fmt: skip
def test_the_most_urgent_state(pod: PodEntry, text: str, tone: Tone) -> None:
    assert (pod_status_text(pod, NOW_NS), pod_status(pod)[1]) == (text, tone)


@pytest.mark.parametrize(("template", "protection", "owner"), [
    ({}, "", ""),
    ({"annotations": {karpenter_labels.DO_NOT_DISRUPT: "true"}}, "do-not-disrupt", ""),
    ({"annotations": {karpenter_labels.DO_NOT_DISRUPT: "2h"}}, "do-not-disrupt 2h", ""),
    ({"annotations": {karpenter_labels.DO_NOT_DISRUPT: "false"}}, "", ""),
    ({"owners": (OwnerReference("apps/v1", "DaemonSet", "cni", controller=True),)}, "DaemonSet", "ds/cni"),
    ({"owners": (OwnerReference("v1", "Node", "n1", controller=True),)}, "static", "node/n1"),
    ({"owners": (OwnerReference("x/v1", "Rollout", "web", controller=True),)}, "", "rollout/web"),
])  # fmt: skip
def test_protection_and_owner(template: dict[str, Any], protection: str, owner: str) -> None:
    assert (entry(template).protection_text(NOW_NS), entry(template).owner) == (protection, owner)


def protected(value: str, **given: Any) -> PodEntry:
    document: dict[str, Any] = {"start_ns": NOW_NS - 10 * MINUTE}
    return entry({"annotations": {karpenter_labels.DO_NOT_DISRUPT: value}}, **(document | given))


@pytest.mark.parametrize(("entry", "sentence"), [
    (protected("banana"), 'karpenter.sh/do-not-disrupt "banana" protects nothing'),
    (protected("-1h"), 'karpenter.sh/do-not-disrupt "-1h" protects nothing'),
    (protected("1d"), 'karpenter.sh/do-not-disrupt "1d" protects nothing'),
    (protected("5m"), 'karpenter.sh/do-not-disrupt "5m" has expired and no longer protects it'),
    (protected("true", deletion_ns=NOW_NS), ""),
])  # fmt: skip
def test_annotations_without_effect_are_no_protection(entry: PodEntry, sentence: str) -> None:
    assert entry.protection_text(NOW_NS) == ""
    row = build_rows(TABLE, [entry], now_ns=NOW_NS)[0]
    assert row.cells[[heading.id for heading in TABLE.headings()].index("protection")].text == "-"
    assert TABLE.values(entry, NOW_NS)["protection"] is None
    assert not build_rows(TABLE, [entry], is_notable_only=True, now_ns=NOW_NS) or entry.pod.is_terminating
    result = text_of(explain_pod(entry, NOW_NS))
    assert "keeps its node" not in result
    assert sentence in result


def test_a_duration_protects_until_it_is_over() -> None:
    entry = protected("15m")
    assert entry.protection_text(NOW_NS) == "do-not-disrupt 15m"
    assert entry.protection_text(NOW_NS + 5 * MINUTE) == ""
    assert protected("15m", start_ns=0).protection_text(NOW_NS) == "do-not-disrupt 15m"
    rows = build_rows(TABLE, [entry, protected("5m", name="over")], sort=Sort("protection"), now_ns=NOW_NS)
    assert [item.pod.name for item in rows.items] == ["p", "over"]


def a_view(*pdbs: PodDisruptionBudget, before: ClusterView | None = None) -> ClusterView:
    pods = [
        a_pod(name="web-1", node="n"),
        a_pod(name="ill", node="n", is_ready=False),
        a_pod(name="job", node="n", created_ns=NOW_NS - MINUTE, annotations={karpenter_labels.DO_NOT_DISRUPT: "2h"}),
        a_pod(name="cni", node="n", daemonset="cni"),
        a_pod(name="own", node="n", owner=OwnerReference("v1", "Node", "n", controller=True)),
        a_pod(name="done", node="n", phase="Succeeded"),
        a_pod(name="goes", node="n", deletion_ns=NOW_NS),
        a_pod(name="waits"),
        a_pod(name="other", node="n", namespace="other"),
    ]
    pod_delta = {} if before is not None else {Kind.POD: KindDelta({pod.key: pod for pod in pods}, replaces=True)}
    told = {Kind.PDB: KindDelta({pdb.key: pdb for pdb in pdbs}, replaces=True)}
    state = reduce(EMPTY if before is None else before.state, Batch({**pod_delta, **told}))
    return ClusterView(state, {}, before)


def protections(view: ClusterView, now_ns: int = NOW_NS) -> dict[str, str]:
    """Return each protected pod's text in Pods, and check that the node's pods show the same."""
    shown = {entry.pod.name: TABLE.values(entry, now_ns)["protection"] for entry in view.pod_entries}
    there = {entry.pod.name: TABLE.values(entry, now_ns)["protection"] for entry in view.pods_on("n")}
    assert there.items() <= shown.items()
    return {name: text for name, text in shown.items() if text}


def test_a_pod_whose_pdb_allows_no_eviction_is_protected() -> None:
    closed = protections(a_view(a_pdb(name="front")))
    assert closed == {
        "web-1": "PDB front", "ill": "PDB front", "job": "do-not-disrupt 2h", "cni": "PDB front", "own": "static",
    }  # fmt: skip
    lenient = a_pdb(name="front", unhealthy_pod_eviction_policy="AlwaysAllow")
    assert "ill" not in protections(a_view(lenient))
    assert protections(a_view(a_pdb(name="front")), NOW_NS + 5 * 60 * MINUTE)["job"] == "PDB front"
    open_ = a_pdb(name="front", allowed=1)
    assert protections(a_view(open_)) == {"job": "do-not-disrupt 2h", "cni": "DaemonSet", "own": "static"}
    assert protections(a_view(open_, a_pdb(name="too", allowed=1)))["web-1"] == "PDBs front too"


def test_protection_follows_the_pdb_and_other_entries_are_reused() -> None:
    before = a_view(a_pdb(name="front", allowed=1))
    assert "web-1" not in protections(before)
    after = a_view(a_pdb(name="front"), before=before)
    assert protections(after)["web-1"] == "PDB front"
    kept = {entry.pod.name for entry in after.pod_entries if before.pod_entry(entry.pod.key) is entry}
    assert kept == {"own", "goes", "waits", "other"}


def test_a_pod_that_a_pdb_protects_as_text() -> None:
    result, several = replace(entry(), kept_by=("front",)), replace(entry(), kept_by=("front", "too"))
    row = build_rows(TABLE, [result], is_notable_only=True, now_ns=NOW_NS)[0]
    cell = row.cells[[heading.id for heading in TABLE.headings()].index("protection")]
    assert (cell.text, cell.short, cell.tone) == ("PDB front", "PDB", Tone.WARNING)
    outcome = text_of(explain_pod(result, NOW_NS))
    assert "PodDisruptionBudget front allows no eviction now: it blocks its node's removal" in outcome
    outcome = text_of(explain_pod(several, NOW_NS))
    assert (
        "several PodDisruptionBudgets select it (front, too), so it is never evicted: it blocks its node's removal"
        in outcome
    )


@pytest.mark.parametrize(("text", "count"), [
    ("ns=gitlab", 2),
    ("name=front*", 44),
    ("node=ip-10-0-71-204", 4),
    ("pool=runners", 4),
    ("owner=job/*", 4),
    ("status=unschedulable", 1),
    ("protection=do-not*", 2),
    ("cpu>=30", 2),
    ("mem<100Mi", 3),
    ("gpu>0", 0),
    ("priority=0 ns=ml", 1),
    ("age<1h", 0),
    ("-l app=coredns", 2),
    ("gitlab/runner", 2),
])  # fmt: skip
def test_filters_match_pods(text: str, count: int) -> None:
    test = compile_query(parse_query(text, TABLE.subject), TABLE.subject, NOW_NS)
    assert sum(map(test, view_of(a_fleet()).pod_entries)) == count


def explained(name: str) -> str:
    result = next(entry for entry in view_of(a_fleet()).pod_entries if entry.pod.name == name)
    return text_of(explain_pod(result, NOW_NS))


def test_a_pod_as_text() -> None:
    assert explained("runner-7f2c4") == (
        "Running · on ip-10-0-71-204 of runners · requests cpu 500m mem 2,048Mi"
        " · karpenter.sh/do-not-disrupt blocks its node's removal"
    )
    assert explained("trino-worker-1").startswith("Unschedulable 14m: 0/11 nodes are available")
    assert explained("aws-node-08x").endswith("ends with its node")
    lone = PodEntry(entry().key, entry().pod)
    assert text_of(explain_pod(lone, NOW_NS)) == "Running · on n1 · requests nothing"


def test_descriptions_name_everything_known_and_the_events() -> None:
    view = view_of(a_fleet())
    text = describe(view, "Pod", "gitlab/runner-7f2c4", NOW_NS)
    for part in ("NodePool:          runners", "karpenter.sh/do-not-disrupt: true", "Events: none seen", "cpu 500m"):
        assert part in text
    node = next(entry for entry in view.node_entries if "71-204" in entry.name)
    text = describe(view, "Node", node.name, NOW_NS)
    assert "DisruptionBlocked ×14  karpenter: Cannot disrupt Node" in text
    assert "allocatable  15,890m" in text
    assert "Launching 38s" in describe(view, "NodeClaim", "general-x7k2p", NOW_NS)
    assert describe(view, "Pod", "a/b", NOW_NS) == "Pod a/b no longer exists"
    assert describe(view, "Node", "b", NOW_NS) == "Node b no longer exists"
    fleet = a_fleet()
    template = PodTemplate(
        namespace="a",
        node_selector={"team": "ci"},
        tolerations=(Toleration("k", "Equal", "v", "NoSchedule"), Toleration(operator="Exists")),
    )
    fleet.add(Kind.POD, Pod(name="b", template=template, volumes=(PodVolume("data", "claim-1"),)))
    text = describe(view_of(fleet), "Pod", "a/b", NOW_NS)
    for part in ("team: ci", "k: Equal v NoSchedule", "every key: Exists", "claim-1"):
        assert part in text


def test_views_keep_entries_that_did_not_change() -> None:
    from karptui.session.cluster_view import ClusterView
    from karptui.state.reducer import Batch, KindDelta, reduce

    fleet = a_fleet()
    before = view_of(fleet)
    nodes, pods = before.node_entries, before.pod_entries
    again = ClusterView(before.state, {**before.statuses}, before, evidence=before.evidence)
    assert again.node_entries is nodes
    assert again.pod_entries is pods
    gone = reduce(before.state, Batch({Kind.POD: KindDelta({"gitlab/runner-7f2c4": None})}))
    after = ClusterView(gone, before.statuses, before, evidence=before.evidence)
    same = [entry for entry in after.node_entries if entry in nodes]
    assert len(same) == len(nodes) - 1
    assert len(after.pod_entries) == len(pods) - 1
    assert all(entry in pods for entry in after.pod_entries)
    between = ClusterView(after.state, {}, before, evidence=before.evidence)
    unseen = ClusterView(after.state, before.statuses, between, evidence=before.evidence)
    assert len(unseen.node_entries) == len(nodes)
    assert len(after.pods_on("nobody")) == 0
    assert after.node_entry("nobody") is None
    assert after.node_of("nobody") is None


def test_pod_access_depends_on_the_source_status() -> None:
    from karptui.session.cluster_view import pod_access

    assert pod_access(None) == "pending"
    assert pod_access(status(Kind.POD, Phase.CONNECTING)) == "pending"
    assert pod_access(status(Kind.POD, Phase.DISCONNECTED, count=9)) == "known"
    assert pod_access(status(Kind.POD, Phase.FORBIDDEN)) == "forbidden"
    assert pod_access(status(Kind.POD, Phase.SYNCING)) == "known"


def test_ended_pods_have_no_row() -> None:
    fleet = a_fleet()
    count = len(view_of(fleet).pod_entries)
    fleet.add(Kind.POD, Pod(name="done", template=PodTemplate(namespace="a"), phase="Succeeded"))
    assert len(view_of(fleet).pod_entries) == count
