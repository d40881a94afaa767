from __future__ import annotations

from typing import Any

import msgspec
import pytest

from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.objects import Condition, Event, Node
from karptui.kube.pod import PodTrouble
from karptui.kube.workload import Workload
from karptui.session.cluster_view import ClusterView
from karptui.session.events import EventEntry, Timeline, folded, transitions
from karptui.sources.source import Phase
from karptui.views.events import TABLE, event_sentences, event_text, event_tone
from karptui.views.row import Tone
from karptui.views.table import Sort, build_rows
from tests.builders import a_pod, texts_of
from tests.builders.clusters import state_of
from tests.ui.fleet import HOUR, MINUTE, NOW_NS, Fleet, status, view_of


def event(name: str = "e", **given: Any) -> Event:
    document: dict[str, Any] = {
        "namespace": "default", "reason": "DisruptionBlocked", "message": "Pod has a PDB", "type": "Normal",
        "source": "karpenter", "involved_kind": "Node", "involved_namespace": "default", "involved_name": "n1",
        "first_ns": NOW_NS - HOUR, "last_ns": NOW_NS - MINUTE,
    }  # fmt: skip
    return Event(name=name, **(document | given))


def test_events_are_grouped_by_object_reason_and_source() -> None:
    entries = folded(
        [
            event("a", count=3),
            event("b", message="Pod is protected", last_ns=NOW_NS, first_ns=0, type="Warning"),
            event("c", message="Pod has a PDB", count=2, last_ns=NOW_NS - HOUR, first_ns=NOW_NS - 2 * HOUR),
            event("d", reason="Unconsolidatable"),
            event("e", source="kubelet"),
            event("f", involved_kind="Pod", involved_namespace="web", involved_name="p", first_ns=0, last_ns=0),
            event("g", involved_kind="Node", involved_name="n2", involved_namespace=""),
        ]
    )
    assert [(entry.kind, entry.object_key, entry.reason, entry.count) for entry in entries] == [
        ("Node", "n1", "DisruptionBlocked", 6),
        ("Node", "n1", "Unconsolidatable", 1),
        ("Node", "n1", "DisruptionBlocked", 1),
        ("Pod", "web/p", "DisruptionBlocked", 1),
        ("Node", "n2", "DisruptionBlocked", 1),
    ]
    first = entries[0]
    assert (first.first_ns, first.last_ns, event_tone(first)) == (NOW_NS - 2 * HOUR, NOW_NS, Tone.WARNING)
    assert (first.message, first.messages) == ("Pod is protected", ("Pod is protected", "Pod has a PDB"))
    assert (event_tone(entries[1]), entries[3].first_ns) == (Tone.NORMAL, 0)
    assert len({entry.key for entry in entries}) == 5


@pytest.mark.parametrize(("condition", "told"), [
    (Condition("Ready", "True"), ("Ready", "", Tone.GOOD)),
    (Condition("Ready", "Unknown", "NodeStatusUnknown", "gone"), ("NotReady", "gone", Tone.FAULT)),
    (Condition("Ready", "False", "KubeletNotReady"), ("NotReady", "KubeletNotReady", Tone.FAULT)),
    (Condition("Launched", "True", "Launched"), ("Launched", "", Tone.GOOD)),
    (Condition("Launched", "Unknown", "AwaitingReconciliation", "waiting"), None),
    (Condition("Registered", "Unknown", "NodeNotFound", "NodeNotFound"), None),
    (Condition("Launched", "Unknown", "NoCapacity", "no m5"), ("Launched=Unknown", "no m5", Tone.FAULT)),
    (Condition("Initialized", "Unknown", "Taints", "taint"), ("Initialized=Unknown", "taint", Tone.ACTIVE)),
    (Condition("Initialized", "False", "Taints"), ("Initialized=False", "Taints", Tone.FAULT)),
    (Condition("Drifted", "True", "AMIDrift"), ("Drifted", "AMIDrift", Tone.WARNING)),
    (Condition("Drained", "Unknown", "Draining"), ("Drained=Unknown", "Draining", Tone.LEAVING)),
    (Condition("Consolidatable", "True"), ("Consolidatable", "", Tone.NORMAL)),
    (Condition("MemoryPressure", "False"), None),
    (Condition("KernelDeadlock", "False", "KernelHasNoDeadlock"), None),
    (Condition("FrequentKubeletRestart", "Unknown", "NoData"),
     ("FrequentKubeletRestart=Unknown", "NoData", Tone.WARNING)),
    (Condition("ReadonlyFilesystem", "True", "Ro"), ("ReadonlyFilesystem", "Ro", Tone.WARNING)),
    (Condition("MemoryPressure", "True", "Low"), ("MemoryPressure", "Low", Tone.WARNING)),
    (Condition("ConsistentStateFound", "False", "Off"), ("ConsistentStateFound=False", "Off", Tone.WARNING)),
])  # fmt: skip
def test_conditions_become_events(condition: Condition, told: tuple[str, str, Tone] | None) -> None:
    entries = [
        (item.reason, item.message, event_tone(item)) for item in transitions(Node(name="n", conditions=(condition,)))
    ]
    assert entries == ([] if told is None else [told])


def test_creation_and_deletion_become_events() -> None:
    claim = NodeClaim(name="c", created_ns=NOW_NS - HOUR, deletion_ns=NOW_NS, labels={NODEPOOL: "general"})
    assert [(entry.kind, entry.reason, entry.message, entry.last_ns) for entry in transitions(claim)] == [
        ("NodeClaim", "Created", "for NodePool general", NOW_NS - HOUR),
        ("NodeClaim", "Deleted", "its deletion began", NOW_NS),
    ]
    assert [entry.message for entry in transitions(Node(name="n", created_ns=NOW_NS))] == [""]


def entry(**given: Any) -> EventEntry:
    document: dict[str, Any] = {
        "kind": "Node",
        "object_key": "ip-1.ec2.internal",
        "reason": "FailedDraining",
        "message": "4 pods\x1b[2J wait",
        "is_warning": True,
        "first_ns": NOW_NS - 2 * HOUR,
        "last_ns": NOW_NS - MINUTE,
        "source": "karpenter",
        "count": 1_200,
        "messages": ("4 pods\x1b[2J wait", "5 pods\nwait"),
    }
    return EventEntry(**(document | given))


BORN = entry(reason="Created", message="", messages=(), source="condition", count=1, first_ns=NOW_NS, last_ns=NOW_NS)
LAUNCHED = entry(
    reason="Launched", message="", messages=(), source="condition", count=1, first_ns=NOW_NS, last_ns=NOW_NS
)
TIMELESS = entry(
    first_ns=0, last_ns=0, source="", count=2, is_warning=False, kind="Pod", object_key="web/p", reason="X"
)


def test_events_of_the_same_time_keep_their_order() -> None:
    rows = build_rows(TABLE, [BORN, LAUNCHED, TIMELESS], now_ns=NOW_NS)
    assert [entry.reason for entry in rows.items] == ["Launched", "Created", "X"]
    for heading in TABLE.headings():
        assert len(build_rows(TABLE, [BORN, LAUNCHED, TIMELESS], sort=Sort(heading.id), now_ns=NOW_NS)) == 3


@pytest.mark.parametrize(("result", "head", "message"), [
    (entry(),
     "Node ip-1.ec2.internal · FailedDraining · reported by karpenter · 11:59:07Z, 60s ago · 1,200 times in 119m",
     "4 pods\x1b[2J wait"),
    (msgspec.structs.replace(BORN, count=2),
     "Node ip-1.ec2.internal · Created · recorded by the object itself · 12:00:07Z, 0s ago · 2 times", "no message"),
    (BORN, "Node ip-1.ec2.internal · Created · recorded by the object itself · 12:00:07Z, 0s ago", "no message"),
    (TIMELESS, "Pod web/p · X · reported by an unnamed source · 2 times", "4 pods\x1b[2J wait"),
])  # fmt: skip
def test_the_text_about_an_event(result: EventEntry, head: str, message: str) -> None:
    assert texts_of(event_sentences(result, NOW_NS)) == [head, message]


def test_the_detail_of_an_event() -> None:
    text = event_text(entry(), NOW_NS)
    assert "Times:   1,200\nFirst:   2026-11-24 10:00:07Z, 120m ago\n" in text
    assert text.endswith("4 pods␛[2J wait\n\n5 pods\nwait")
    assert "Source:  a condition of the object" in event_text(BORN, NOW_NS)
    assert "First" not in event_text(TIMELESS, NOW_NS)


def test_unchanged_entries_are_reused() -> None:
    fleet, timeline = Fleet(), Timeline()
    fleet.add(Kind.NODE, Node(name="n", created_ns=NOW_NS - HOUR))
    fleet.add(Kind.NODECLAIM, NodeClaim(name="c", created_ns=NOW_NS - HOUR))
    fleet.add(Kind.EVENT, event())
    view = view_of(fleet)
    first = timeline.entries(view)
    assert [entry.kind for entry in first] == ["Node", "Node", "NodeClaim"]
    assert timeline.entries(ClusterView(view.state, view.statuses)) is first
    nodes = {**view.state.nodes, "m": Node(name="m", created_ns=NOW_NS)}
    grown = msgspec.structs.replace(view.state, objects={**view.state.objects, Kind.NODE: nodes})
    second = timeline.entries(ClusterView(grown, view.statuses))
    assert len(second) == 4
    assert {id(entry) for entry in first} <= {id(entry) for entry in second}


@pytest.mark.parametrize(("phase", "is_told"), [(Phase.OFFLINE, True), (Phase.LIVE, False)])
def test_a_snapshot_shows_why_pods_failed_or_were_not_created(phase: Phase, *, is_told: bool) -> None:
    pod = a_pod(name="web-1", namespace="shop", phase="Failed", created_ns=NOW_NS - HOUR)
    pod = msgspec.structs.replace(pod, trouble=PodTrouble("low on memory", failure="Evicted"))
    failure = Condition("ReplicaFailure", "True", "FailedCreate", "exceeded quota: q", NOW_NS)
    web = Workload(name="web", namespace="shop", api_version="apps/v1", kind="ReplicaSet", replicas=2, failure=failure)
    state = state_of(Inventory(pods=(pod,), workloads=(web,)))
    entries = Timeline().entries(ClusterView(state, {Kind.POD: status(Kind.POD, phase)}))
    told = [(entry.kind, entry.reason, entry.message, entry.last_ns, event_tone(entry)) for entry in entries]
    assert (
        told
        == [
            ("Pod", "Evicted", "low on memory", NOW_NS - HOUR, Tone.WARNING),
            ("ReplicaSet", "FailedCreate", "exceeded quota: q", NOW_NS, Tone.WARNING),
        ]
        * is_told
    )
