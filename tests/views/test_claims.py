from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.disruption.analysis import NodeFindings
from karptui.disruption.codes import Blocker, Code, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.drain import DrainState, Hold, WaitingPod
from karptui.disruption.lanes import Lane, Why
from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.nodeclaim import DrainStage, NodeClaim
from karptui.kube.objects import Condition, Node
from karptui.session.claims import ClaimEntry, expiries_of
from karptui.views.claims import TABLE, claim_sentences, expiry_line, short_wait, waiting_on
from karptui.views.filters import compile_query, parse_query
from karptui.views.row import Tone
from karptui.views.table import Sort, build_rows
from karptui.views.why.sentences import drain_text
from tests.builders import a_pod, text_of, texts_of
from tests.ui.fleet import HOUR, MINUTE, NOW_NS, SECOND, conditions

BORN = NOW_NS - 2 * HOUR
LABELS = {
    karpenter_labels.NODEPOOL: "general", karpenter_labels.INSTANCE_TYPE: "m5.large",
    karpenter_labels.CAPACITY_TYPE: "spot", karpenter_labels.ZONE: "us-east-1a",
}  # fmt: skip
NODE = Node(name="ip-1.ec2.internal", labels=LABELS, conditions=conditions("Ready"))
GROWN = tuple(
    Condition(type_, "True", last_transition_ns=BORN + seconds * SECOND)
    for type_, seconds in (("Launched", 3), ("Registered", 41), ("Initialized", 1800))
)
DRIFTED = Condition("Drifted", "True", "AMIDrift", last_transition_ns=NOW_NS - HOUR)


def entry(
    *further: Condition, node: Node | None = NODE, findings: NodeFindings | None = None, **given: Any
) -> ClaimEntry:
    document: dict[str, Any] = {
        "name": "general-a",
        "labels": LABELS,
        "created_ns": BORN,
        "node_name": NODE.name,
        "conditions": (*GROWN, *further),
    }
    return ClaimEntry(NodeClaim(**(document | given)), node, findings)


WHY = Why(code=WhyCode.DRAIN)


def node_findings(*blockers: Blocker, drain: DrainState | None = None) -> NodeFindings:
    held = next((place for place, blocker in enumerate(blockers) if Method.DRIFT in blocker.blocks), None)
    lanes = () if held is None else (Lane("Drift", True, str(blockers[held].code), held),)
    return NodeFindings("claim/general-a", NODE.name, "general", WHY, blockers, drain, lanes=lanes)


def held(code: Code, key: str, *, until_ns: int | None = None, blocks: frozenset[Method] | None = None) -> Blocker:
    methods = frozenset({Method.DRIFT}) if blocks is None else blocks
    return Blocker(code=code, object_key=key, until_ns=until_ns, blocks=methods)


STARTING = entry(node=None, node_name="", created_ns=NOW_NS - 38 * SECOND, labels={},
                 conditions=(Condition("Launched", "Unknown", "AwaitingReconciliation"),))  # fmt: skip
REFUSED = entry(
    node=None, node_name="", conditions=(Condition("Launched", "Unknown", "InsufficientCapacityError", "no capacity"),)
)
LOST = entry(node=None)
REBOOTING = entry(
    conditions=(
        *GROWN[:2],
        Condition("Initialized", "Unknown", "Rebooting", "node is rebooting", NOW_NS - MINUTE),
        Condition("Rebooting", "True", "RebootIssued", "rebooting for Ready/Stuck", NOW_NS - MINUTE),
    )
)
LEAVING = entry(Condition("Drained", "Unknown", "Draining", "Draining"), deletion_ns=NOW_NS - MINUTE)
GRACE_NS = 24 * HOUR
HELD = WaitingPod(a_pod(name="a"), 1, Hold.PDB)
DRIFT_AND_EXPIRY = (
    "drifted 60m ago: AMIDrift · expires in 60m, 2026-11-24 13:00:07Z (14:00 CET)"
    " · a drain would be forced to end after 24h"
)
RECKONED_END = (
    "deleted 2026-11-24 12:00:07Z (13:00 CET) · drain is forced to end in 24h, 2026-11-25 12:00:07Z (13:00 CET), "
    "computed from its terminationGracePeriod"
)


@pytest.mark.parametrize(("result", "text", "tone"), [
    (STARTING, "the instance is not launched yet", Tone.ACTIVE),
    (REFUSED, "no capacity", Tone.FAULT),
    (REBOOTING, "rebooting 60s: its instance is restarting, and deleted if not back within 20m (for Ready/Stuck)",
     Tone.WARNING),
    (LOST, "the NodeClaim expects node ip-1.ec2.internal, which does not exist", Tone.FAULT),
    (replace(LOST, hidden=frozenset({Kind.NODE})), "", Tone.NORMAL),
    (entry(), "", Tone.NORMAL),
    (LEAVING, "it is being drained", Tone.LEAVING),
    (entry(deletion_ns=NOW_NS - MINUTE), "its drain has not begun", Tone.LEAVING),
    (entry(deletion_ns=NOW_NS - MINUTE, findings=node_findings(drain=DrainState(DrainStage.VOLUMES))), "volumes",
     Tone.LEAVING),
    (entry(findings=node_findings(drain=DrainState(DrainStage.COMMANDED, reason="Underutilized"))),
     "replacements to be ready, then it is deleted (Underutilized)", Tone.LEAVING),
    (entry(findings=node_findings(drain=DrainState(DrainStage.COMMANDED, reason="Unhealthy", bound_ns=10 * MINUTE))),
     "replacements to be ready, then it is deleted (Unhealthy) and drained for up to 10m", Tone.LEAVING),
    (entry(DRIFTED), "its turn among drifted nodes", Tone.WARNING),
    (replace(entry(DRIFTED), hidden=frozenset({Kind.NODE})), "", Tone.WARNING),
    (entry(DRIFTED, findings=node_findings()), "its turn among drifted nodes", Tone.WARNING),
    (entry(DRIFTED, findings=node_findings(held(Code.WHEN_EMPTY_POLICY, "general", blocks=frozenset()))),
     "its turn among drifted nodes", Tone.WARNING),
    (entry(DRIFTED,
           findings=node_findings(held(Code.POD_DND, "ci/a", until_ns=NOW_NS + HOUR),
                                  held(Code.BUDGET_ZERO, "general"))),
     "do-not-disrupt ci/a, in 60m and 1 more", Tone.WARNING),
    (entry(DRIFTED, findings=node_findings(held(Code.BUDGET_ZERO, "general"))), "budget general", Tone.WARNING),
])  # fmt: skip
def test_the_waiting_column_as_text(result: ClaimEntry, text: str, tone: Tone) -> None:
    assert waiting_on(result, NOW_NS) == (text, tone)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (STARTING, "the cloud provider's instance"),
        (REFUSED, "no capacity"),
        (
            entry(
                conditions=(
                    *GROWN[:2],
                    Condition(
                        "Initialized",
                        "Unknown",
                        "ResourceNotRegistered",
                        'Resource "nvidia.com/gpu" was requested but not registered',
                    ),
                )
            ),
            "nvidia.com/gpu to be registered",
        ),
        (entry(deletion_ns=NOW_NS - MINUTE, findings=node_findings(drain=DrainState(DrainStage.VOLUMES))), "volumes"),
        (
            entry(
                deletion_ns=NOW_NS - MINUTE,
                findings=node_findings(drain=DrainState(DrainStage.DRAINING, tier=1, waiting=(HELD, HELD))),
            ),
            "draining, waiting for 2 pods",
        ),
        (
            entry(findings=node_findings(drain=DrainState(DrainStage.COMMANDED, reason="Underutilized"))),
            "replacements to be ready",
        ),
        (entry(), ""),
    ],
)
def test_the_waiting_column_as_short_text(result: ClaimEntry, text: str) -> None:
    assert short_wait(result, NOW_NS) == text


def cells(entry: ClaimEntry) -> dict[str, str]:
    row = build_rows(TABLE, [entry], now_ns=NOW_NS)[0]
    return {heading.id: cell.text for heading, cell in zip(TABLE.headings(), row.cells, strict=True)}


@pytest.mark.parametrize(
    ("result", "texts"),
    [
        (
            entry(),
            {"life": "3/41/30m", "node": NODE.name, "drift": "-", "expires": "never", "deadline": "-", "age": "120m"},
        ),
        (REBOOTING, {"life": "3/41/?"}),
        (STARTING, {"life": "38+/-/-", "node": "-", "type": "-", "pool": "-", "cap": "-"}),
        (REFUSED, {"life": "120m+/-/-"}),
        (LOST, {"node": "(ip-1.ec2.internal)"}),
        (entry(conditions=conditions("Launched", at_ns=0)), {"life": "?/120m+/-"}),
        (entry(created_ns=0, conditions=()), {"life": "-/-/-", "age": "n/a"}),
        (entry(deletion_ns=NOW_NS, conditions=GROWN[:1]), {"life": "3/-/-"}),
        (entry(DRIFTED), {"drift": "AMIDrift"}),
        (entry(Condition("Drifted", "True")), {"drift": "Drifted"}),
        (entry(Condition("Drifted", "False")), {"drift": "-"}),
        (entry(expire_after_ns=3 * HOUR), {"expires": "60m"}),
        (entry(expire_after_ns=HOUR), {"expires": "due"}),
        (entry(expire_after_ns=100 * HOUR), {"expires": "4d2h"}),
        (entry(termination_grace_period_ns=GRACE_NS), {"deadline": "24h grace"}),
        (
            entry(
                findings=node_findings(drain=DrainState(DrainStage.COMMANDED, bound_ns=10 * MINUTE)),
                termination_grace_period_ns=GRACE_NS,
            ),
            {"deadline": "10m grace"},
        ),
        (LEAVING, {"expires": "-", "deadline": "none"}),
        (entry(deletion_ns=NOW_NS - HOUR, termination_grace_period_ns=GRACE_NS), {"deadline": "23h"}),
        (entry(deletion_ns=NOW_NS - 2 * GRACE_NS, termination_grace_period_ns=GRACE_NS), {"deadline": "24h ago"}),
    ],
)
def test_cells_show_the_stage_and_deadlines_of_a_nodeclaim(result: ClaimEntry, texts: dict[str, str]) -> None:
    shown = cells(result)
    assert {name: shown[name] for name in texts} == texts


def lines_of(entry: ClaimEntry) -> list[str]:
    return texts_of(claim_sentences(entry, NOW_NS, ZoneInfo("Europe/Berlin")))


@pytest.mark.parametrize(("result", "lines"), [
    (entry(DRIFTED, expire_after_ns=3 * HOUR, termination_grace_period_ns=GRACE_NS),
     ["general-a · node ip-1 · created 2026-11-24 10:00:07Z (11:00 CET)",
      "Launched after 3 s, Registered after 41 s, Initialized after 30m", "waiting: its turn among drifted nodes",
      DRIFT_AND_EXPIRY]),
    (STARTING,
     ["general-a · no node yet · created 2026-11-24 11:59:29Z (12:59 CET)", "not Launched after 38 s",
      "waiting: the instance is not launched yet",
      "never expires · no terminationGracePeriod, so no time limit for its drain"]),
    (entry(Condition("Drifted", "True"), created_ns=0, conditions=(Condition("Drifted", "True"), *GROWN)),
     ["general-a · node ip-1 · created at an unknown time", "Launched after ?, Registered after ?, Initialized after ?",
      "waiting: its turn among drifted nodes",
      "drifted: no reason given · never expires · no terminationGracePeriod, so no time limit for its drain"]),
    (entry(deletion_ns=NOW_NS, termination_grace_period_ns=GRACE_NS, conditions=()),
     ["general-a · node ip-1 · created 2026-11-24 10:00:07Z (11:00 CET)", "no lifecycle step is known",
      "its drain has not begun", RECKONED_END]),
    (entry(annotations={karpenter_labels.TERMINATION_TIMESTAMP: "2026-11-24T12:30:07Z"}),
     ["general-a · node ip-1 · created 2026-11-24 10:00:07Z (11:00 CET)",
      "Launched after 3 s, Registered after 41 s, Initialized after 30m", "not waiting for anything",
      "never expires · drain is forced to end in 30m, 2026-11-24 12:30:07Z (13:30 CET)"]),
])  # fmt: skip
def test_the_text_about_a_nodeclaim(result: ClaimEntry, lines: list[str]) -> None:
    assert lines_of(result) == lines


def test_nodeclaims_are_sorted_and_filtered() -> None:
    expiring = entry(DRIFTED, expire_after_ns=3 * HOUR, deletion_ns=0, name="general-b", created_ns=NOW_NS - HOUR,
                     conditions=(*GROWN, DRIFTED))  # fmt: skip
    leaving = entry(deletion_ns=NOW_NS - HOUR, termination_grace_period_ns=GRACE_NS, name="general-c")
    unborn = entry(created_ns=0, conditions=(), deletion_ns=NOW_NS, name="general-d")
    odd = entry(created_ns=0, name="general-e")
    rows = [STARTING, expiring, leaving, unborn, odd]
    for heading in TABLE.headings():
        assert len(build_rows(TABLE, rows, sort=Sort(heading.id), now_ns=NOW_NS)) == len(rows)
    asked = {
        "name=general-b": 1, "pool=general": 4, "node=ip-1": 4, "type=m5*": 4, "cap=spot": 4, "zone=us*": 4,
        "status=Deleting": 2, "drift=AMI*": 1, "waiting=*drifted*": 1, "expires<3h": 1, "deadline<24h": 1,
        "init>10m": 1, "age<1m": 1, "amidrift": 1, "-l karpenter.sh/nodepool=general": 4,
    }  # fmt: skip
    assert {*TABLE.subject.fields} == {
        "name", "pool", "type", "cap", "zone", "init", "node", "drift", "expires", "deadline", "waiting", "age",
        "status",
    }  # fmt: skip
    for text, count in asked.items():
        test = compile_query(parse_query(text, TABLE.subject), TABLE.subject, NOW_NS)
        assert sum(map(test, rows)) == count, text
    assert [TABLE.is_notable(entry, NOW_NS) for entry in (*rows, REFUSED)] == [False, True, True, True, False, True]


@pytest.mark.parametrize(
    ("reason", "words"), [("RebootSucceeded", "rebooted 60m ago"), ("RebootFailed", "reboot failed 60m ago")]
)
def test_a_finished_reboot_is_shown(reason: str, words: str) -> None:
    assert lines_of(entry(Condition("Rebooting", "False", reason, last_transition_ns=NOW_NS - HOUR)))[1].endswith(words)


def test_the_maximum_drain_time_of_a_repair_is_shown_for_its_node() -> None:
    told = node_findings(drain=DrainState(DrainStage.COMMANDED, reason="Unhealthy", bound_ns=10 * MINUTE))
    assert drain_text(told, NOW_NS) == "commanded, its drain is forced to end after 10m"


def claim(name: str, in_ns: int | None, *, pool: str = "general", deletion_ns: int = 0) -> ClaimEntry:
    expire_after_ns = None if in_ns is None else 720 * HOUR
    born = NOW_NS - HOUR if in_ns is None else NOW_NS + in_ns - 720 * HOUR
    return ClaimEntry(NodeClaim(name=name, labels={karpenter_labels.NODEPOOL: pool}, created_ns=born,
                                expire_after_ns=expire_after_ns, deletion_ns=deletion_ns))  # fmt: skip


def expiry_text(entries: list[ClaimEntry], pool: str = "general") -> str:
    return text_of(expiry_line(expiries_of(entries, pool), pool, NOW_NS))


NEVER = claim("never", None)
EXPIRING = claim("leaving", MINUTE, deletion_ns=NOW_NS - MINUTE)
OTHER = claim("other", MINUTE, pool="trino")


@pytest.mark.parametrize(("entries", "expected"), [
    ([], ""),
    ([NEVER, EXPIRING, OTHER], ""),
    ([claim("a", HOUR), NEVER], "general: of 1 NodeClaim expire 0 in 30m · 1 in 24h · 1 in 7d"),
    ([claim("a", 200 * HOUR), NEVER], "general: none of 1 NodeClaim expires within 7d"),
    ([claim("a", 20 * MINUTE), claim("b", 30 * HOUR), EXPIRING, OTHER],
     "general: of 2 NodeClaims expire 1 in 30m · 1 in 24h · 2 in 7d"),
])  # fmt: skip
def test_the_number_of_nodeclaims_that_expire_soon(entries: list[ClaimEntry], expected: str) -> None:
    assert expiry_text(entries) == expected


def test_nodeclaims_that_expire_within_30_minutes_are_counted_together() -> None:
    wave = [claim(f"w{minute}", 50 * HOUR + minute * MINUTE) for minute in (0, 10, 25)]
    line = expiry_text([claim("a", 20 * MINUTE), *wave, claim("late", 50 * HOUR + 31 * MINUTE)])
    assert " · 3 of them within 30m, from 2026" in line
    assert "of them within 30m" not in expiry_text(wave[:2])


def test_a_drain_without_a_deadline_is_sorted_first() -> None:
    rows = build_rows(TABLE, (NEVER, OTHER, EXPIRING), sort=Sort("deadline"), now_ns=NOW_NS)
    assert rows.items[0].claim.name == "leaving"
