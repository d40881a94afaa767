"""The line under the table, for every code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.disruption.analysis import NodeFindings, NodeOutlook
from karptui.disruption.codes import Blocker, Code, WhyCode
from karptui.disruption.drain import DrainState, Hold, WaitingPod
from karptui.disruption.lanes import Why
from karptui.disruption.no_place import NoPlace
from karptui.disruption.node_verdict import Verdict
from karptui.disruption.outlook import Outcome
from karptui.disruption.simulation import OthersNeed
from karptui.disruption.termination import Deadline, Initiator
from karptui.karpenter.nodeclaim import DrainStage
from karptui.session.nodes import NodeEntry
from karptui.views.why.labels import is_held
from karptui.views.why.sentences import drain_text, names_of, refusal_text, time_text, why_sentence
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_node, a_nodeclaim, a_pod, text_of

STAYS = Verdict(Outcome.NO, refusal_code="NOT_CHEAPER", refusal_message="Can't replace with a cheaper node")
GOES = Verdict(Outcome.REPLACE, "SingleNodeConsolidation", savings_per_hour=0.5)


def node_findings(code: WhyCode, *blockers: Blocker, codes: tuple[WhyCode, ...] = (), **fields: Any) -> NodeFindings:
    method = "SingleNodeConsolidation" if blockers else ""
    why = Why(code=code, count=len(blockers), codes=codes or (code,), method=method)
    return NodeFindings(key="claim/c", node_name="n", pool_name="p", why=why, blockers=blockers, **fields)


def sentence(findings: NodeFindings) -> str:
    return text_of(why_sentence(NodeEntry(a_node(), a_nodeclaim(), findings=findings), NOW_NS))


def a_blocker(code: Code, key: str = "a/b", **fields: Any) -> Blocker:
    return Blocker(code=code, object_key=key, is_wanted=True, **fields)


@pytest.mark.parametrize(("code", "count", "need", "text"), [
    ("NOT_CHEAPER", 0, OthersNeed("a/b", 0, 1, is_only=True, is_waiting=True, type_name="m5.large", price_per_hour=0.1),
     ("its pods fit elsewhere, but a/b, which is pending, needs a new node in the same simulation, and m5.large at "
      "$0.1000/h is not cheaper than this one")),
    ("NEEDS_N_NODES", 2, OthersNeed("a/b", 1, 2, is_only=True, is_waiting=False),
     ("its pods fit elsewhere, but a/b and 1 more pod, which leave other nodes, need 2 new nodes in the same "
      "simulation, and Karpenter replaces a node with at most one")),
    ("NEEDS_N_NODES", 2, OthersNeed("a/b", 0, 1, is_only=False, is_waiting=True),
     ("its pods and a/b, which is pending, would need 2 new nodes, and Karpenter replaces a node with at most one; "
      "1 of these takes none of its pods")),
    ("NEEDS_N_NODES", 3, OthersNeed("a/b", 1, 0, is_only=False, is_waiting=False),
     ("its pods, a/b and 1 more pod, which leave other nodes, would need 3 new nodes, and Karpenter replaces a node "
      "with at most one")),
    ("NOT_CHEAPER", 0, OthersNeed("a/b", 0, 0, is_only=False, is_waiting=True),
     "its pods fit no cheaper node, together with a/b, which is pending"),
    ("SPOT_TO_SPOT_OFF", 0, OthersNeed("a/b", 0, 1, is_only=True, is_waiting=True),
     ("its pods fit elsewhere, but a/b, which is pending, needs a new node in the same simulation: spot replaces "
      "spot only with the feature gate SpotToSpotConsolidation, which is off")),
])  # fmt: skip
def test_blocking_pods_of_other_nodes_are_named(code: str, count: int, need: OthersNeed, text: str) -> None:
    assert (
        refusal_text(Verdict(Outcome.NO, refusal_code=code, refusal_message="x", count=count, others_need=need)) == text
    )


@pytest.mark.parametrize(("findings", "text"), [
    (node_findings(WhyCode.NODE_DND, a_blocker(Code.NODE_DND)), "the node itself has do-not-disrupt"),
    (node_findings(WhyCode.OK), "together with others"),
    (node_findings(WhyCode.NO_POOL, a_blocker(Code.NODEPOOL_UNRESOLVED, message="NodePool gone")), "NodePool gone"),
    (node_findings(WhyCode.INIT, a_blocker(Code.NOT_INITIALIZED)), "not registered or not initialized"),
    (node_findings(WhyCode.DELETING), "being removed"),
    (node_findings(WhyCode.PRICE, outlook=NodeOutlook(now=STAYS, lifted=STAYS, freed=STAYS)),
     "its pods fit no cheaper node"),
])  # fmt: skip
def test_the_meaning_of_each_code(findings: NodeFindings, text: str) -> None:
    assert text in sentence(findings)


def test_a_node_whose_outcome_is_unknown() -> None:
    waits = Why(code=WhyCode.WAITS, method="SingleNodeConsolidation", codes=(WhyCode.WAITS,))
    findings = NodeFindings(key="claim/c", node_name="n", pool_name="p", why=waits, blockers=())
    assert sentence(findings) == (
        "blocked (cluster)  consolidation wants it, but disruption is blocked"
        " in the whole cluster; the outcome is known once it resumes"
    )
    nodefindings = NodeFindings(
        key="c", node_name="n", pool_name="p", why=replace(waits, outcome=Outcome.DELETE), blockers=()
    )
    assert "consolidation removes it once disruption resumes; it would be deleted together" in sentence(nodefindings)


def test_pods_of_several_pdbs_are_named_with_their_own() -> None:
    two = a_blocker(Code.PDB_MULTIPLE, "pay/ledger-1", value="pay/ledger pay/old")
    blocker = a_blocker(Code.PDB_EXHAUSTED, "db/postgres-0", value="db/postgres")
    assert "PDB ×1  pay/ledger-1 blocked by pay/ledger + pay/old (start" in sentence(node_findings(WhyCode.PDB, two))
    assert "db/postgres-0 blocked by postgres, pay/ledger-1 blocked by ledger + old (start" in sentence(
        node_findings(WhyCode.PDB, blocker, two)
    )


def _with_outlook(
    lifted: Verdict,
    *,
    without: tuple[Outcome, ...] = (Outcome.NO,),
    by_code: Mapping[Code, Outcome] | None = None,
    codes: Sequence[Code] = (Code.POD_DND,),
) -> str:
    blockers = tuple(a_blocker(code) for code in codes)
    outlook = NodeOutlook(now=STAYS, lifted=lifted, freed=lifted, without=without, without_code=by_code or {})
    return sentence(node_findings(WhyCode.DND, *blockers, outlook=outlook))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            _with_outlook(GOES, by_code={Code.POD_DND: Outcome.REPLACE}),
            "removable once unblocked: replace, saves $0.5000/h",
        ),
        (
            _with_outlook(replace(GOES, savings_per_hour=0.0), by_code={Code.POD_DND: Outcome.REPLACE}),
            "removable once unblocked: replace (simulated)",
        ),
        (
            _with_outlook(GOES, by_code={Code.POD_DND: Outcome.NO}, codes=(Code.POD_DND, Code.BUDGET_ZERO)),
            "removable only if all are lifted: replace (simulated)",
        ),
        # The outcome of lifting one code while another stays differs from the outcome of lifting both.
        (
            _with_outlook(GOES, by_code={Code.POD_DND: Outcome.REPLACE}, codes=(Code.POD_DND, Code.BUDGET_ZERO)),
            "removable once unblocked: replace",
        ),
        (
            _with_outlook(STAYS, by_code={Code.POD_DND: Outcome.NO}),
            "would stay anyway (simulated): its pods fit no cheaper node",
        ),
        (_with_outlook(Verdict(Outcome.NO), by_code={Code.POD_DND: Outcome.NO}), "would stay anyway (simulated)"),
        (_with_outlook(Verdict(Outcome.UNKNOWN), by_code={Code.POD_DND: Outcome.UNKNOWN}), "the outcome is unknown"),
    ],
)
def test_the_outcome_without_the_blockers(text: str, words: str) -> None:
    assert words in text


def test_other_blockers_and_newly_arrived_pods_are_named() -> None:
    text = sentence(
        node_findings(
            WhyCode.DND, a_blocker(Code.POD_DND), codes=(WhyCode.DND, WhyCode.BUDGET, WhyCode.AFTER), recent_pods=2
        )
    )
    assert "also budget, idle" in text
    assert "still receives pods: 2 in the last hour" in text
    assert "removable once unblocked? simulating…" in text
    assert "still receives" not in sentence(node_findings(WhyCode.NEVER, recent_pods=2))


def test_a_node_that_is_being_simulated_promises_nothing() -> None:
    text = sentence(node_findings(WhyCode.PENDING, a_blocker(Code.UNSYNCED)))
    assert "its removal is being simulated" in text
    assert "nothing blocks" not in text
    assert "removable" not in text


def test_a_pod_that_fits_nowhere_is_named() -> None:
    verdict = replace(STAYS, no_place=NoPlace("a/b", uninitialized_node="new"), refusal_message="Not all pods")
    assert refusal_text(verdict) == (
        "a/b cannot be placed elsewhere: Karpenter schedules it to new, which does not count before it is initialized"
        " · Karpenter: Not all pods"
    )
    result = node_findings(WhyCode.NOFIT, outlook=NodeOutlook(now=verdict, lifted=verdict, freed=verdict))
    assert sentence(result).startswith("pods don't fit  a/b cannot be placed elsewhere: Karpenter schedules it to new")


def _waiting(name: str, hold: Hold, **fields: Any) -> WaitingPod:
    return WaitingPod(a_pod(name=name), 1, hold, **fields)


@pytest.mark.parametrize(("state", "words"), [
    (DrainState(DrainStage.INSTANCE), "instance"),
    (DrainState(DrainStage.DRAINING, tier=1, waiting=(_waiting("a", Hold.EVICTED_NOW),) * 2),
     "draining, waiting for 2 pods that are being evicted"),
    (DrainState(DrainStage.DRAINING, NOW_NS - HOUR_NS, tier=1, waiting=(_waiting("a", Hold.EVICTED_NOW),)),
     "draining, waiting for 1 pod that is not evicted yet"),
    (DrainState(DrainStage.DELETING, tier=1, waiting=(_waiting("a", Hold.EVICTED_NOW),) * 2),
     "deleting, its drain has not begun"),
    (DrainState(DrainStage.DELETING, NOW_NS - 10 * MINUTE_NS, initiator=Initiator.MANUAL),
     "deleting for 10m (Manual), its drain has not begun"),
    (DrainState(DrainStage.DRAINING, tier=1, waiting=tuple(_waiting(name, Hold.DND) for name in "abcd")),
     ("draining, waiting for default/a (do-not-disrupt), default/b (do-not-disrupt) and 2 more, no time limit: no "
      "terminationGracePeriod")),
    (DrainState(DrainStage.DRAINING, deadline=Deadline(NOW_NS), latest_end_ns=NOW_NS - MINUTE_NS),
     "draining, its deadline has passed"),
    (DrainState(DrainStage.DRAINING, deadline=Deadline(NOW_NS), latest_end_ns=NOW_NS + 2 * HOUR_NS),
     "draining, forced to end in 120m"),
])  # fmt: skip
def test_the_text_about_a_drain_names_what_delays_it(state: DrainState, words: str) -> None:
    assert drain_text(node_findings(WhyCode.DRAIN, drain=state), NOW_NS) == words


def test_names_and_times_of_several_blockers() -> None:
    several = [a_blocker(Code.POD_DND, f"a/{i}", until_ns=NOW_NS + i * MINUTE_NS) for i in range(4)]
    assert names_of(several) == "a/0, a/1 and 2 more"
    assert time_text(several, NOW_NS) == "start unknown, 3m left"
    assert time_text(several[:1], NOW_NS) == "start unknown, time is up"
    assert time_text([], NOW_NS) == "start unknown, no end set"


def test_held_counts_only_blockers_that_a_user_must_lift() -> None:
    def entry(code: WhyCode) -> NodeEntry:
        return NodeEntry(a_node(), a_nodeclaim(), findings=node_findings(code))

    assert is_held(entry(WhyCode.DND))
    assert not is_held(entry(WhyCode.OK))
    assert not is_held(NodeEntry(a_node(), a_nodeclaim()))
