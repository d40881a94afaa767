"""The verdict as text: the text of each finding, and that none is cut at any width."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from karptui.verdict.finding import ClusterFinding, CountBound, FindingCode, FindingSeverity, Leaving, Manner
from karptui.views.verdict.lines import Room, money_text, verdict_pages
from karptui.views.verdict.sentence import sentence
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, text_of

AGO = NOW_NS - HOUR_NS
ICE = "creating instance, insufficient capacity, with fleet error(s), InsufficientInstanceCapacity: We currently do not"


def a_finding(code: FindingCode, **given: Any) -> ClusterFinding:
    usual: dict[str, Any] = {"severity": FindingSeverity.WARNING, "code": code, "since_ns": AGO, "screen": "blockers"}
    return ClusterFinding(**{**usual, **given})


@pytest.mark.parametrize(("finding", "text"), [
    (a_finding(FindingCode.STOPPED, names=("a", "b", "c"), nodes=20),
     "Disruption is paused (60m): 3 NodeClaims (a, b and 1 more) have no provider ID. 20 nodes could be removed"),
    (a_finding(FindingCode.STOPPED, names=("a",), nodes=5, nodes_bound=CountBound.AT_LEAST),
     "Disruption is paused (60m): NodeClaim a has no provider ID. At least 5 nodes could be removed"),
    (a_finding(FindingCode.STOPPED, names=("a",), detail=ICE),
     "Disruption is paused (60m): NodeClaim a cannot launch: insufficient capacity in EC2"),
    (a_finding(FindingCode.RESERVATIONS_FULL, names=("batch",), pods=4),
     "4 pods pending for 60m, and Karpenter reports nothing: the capacity reservations of NodePool batch are full"),
    (a_finding(FindingCode.CLAIM_STUCK, names=("a",), detail=ICE),
     "NodeClaim a cannot launch for 60m: insufficient capacity in EC2"),
    (a_finding(FindingCode.CLAIM_STUCK, names=("a",), detail="Error creating fleet: Instance launch failed"),
     ("NodeClaim a cannot launch for 60m: Error creating fleet: Instance launch failed (the error is in Karpenter's "
      "log)")),
    (a_finding(FindingCode.NODECLASS_NOT_READY, names=("EC2NodeClass a", "b"), detail="InstanceProfileReady=Unknown"),
     ("EC2NodeClass a has not been ready for 60m (InstanceProfileReady=Unknown; see Karpenter's log): NodePool b "
      "launches no nodes")),
    (a_finding(FindingCode.CLAIM_STUCK, names=("a",), detail=f"{'words ' * 30}end"),
     f"NodeClaim a cannot launch for 60m: {'words ' * 10}… {'words ' * 16}end"),
    (a_finding(FindingCode.CLAIM_STUCK, names=("a",)),
     "NodeClaim a has an instance that has not registered as a node for 60m"),
    (a_finding(FindingCode.CLAIM_STUCK, names=("a",), manner=Manner.NODE_GONE),
     "NodeClaim a has an instance, but the Node is gone"),
    (a_finding(FindingCode.ALL_LEAVING, names=("a",), nodes=64, pods=912),
     ("all 64 nodes have been terminating for 60m, and no node is launching: the 912 pods there need nodes that "
      "Karpenter has not launched yet")),
    (a_finding(FindingCode.ALL_LEAVING, nodes=2, pods=1, manner=Manner.SOME_CORDONED),
     ("all 2 nodes are cordoned or terminating, and no node is launching: no NodePool launches nodes for the pod on "
      "the terminating nodes")),
    (a_finding(FindingCode.ALL_LEAVING, nodes=2, manner=Manner.SOME_CORDONED),
     "all 2 nodes are cordoned or terminating, and no node is launching; no node takes new pods"),
    (a_finding(FindingCode.ALL_LEAVING, nodes=1, manner=Manner.ALL_CORDONED),
     "the only node is cordoned: no new pod is scheduled, and no node is launching"),
    (a_finding(FindingCode.ALL_LEAVING, nodes=2, manner=Manner.ALL_CORDONED),
     "all 2 nodes are cordoned: no new pod is scheduled, and no node is launching"),
    (a_finding(FindingCode.ALL_LEAVING, nodes=2),
     "all 2 nodes have been terminating for 60m, and no node is launching; only DaemonSet pods are left"),
    (a_finding(FindingCode.NO_NODEPOOLS, names=("a",), detail="being deleted"),
     "Karpenter launches and replaces no nodes: NodePool a is being deleted"),
    (a_finding(FindingCode.NO_NODEPOOLS, names=("a", "b"), detail="not ready"),
     "Karpenter launches and replaces no nodes: all 2 NodePools are not ready"),
    (a_finding(FindingCode.NO_NODEPOOLS, names=("a", "b", "c"), detail="1 static, 2 not ready"),
     "Karpenter launches and replaces no nodes: of 3 NodePools 1 static, 2 not ready"),
    (a_finding(FindingCode.NO_NODEPOOLS, names=("a",), detail="static", manner=Manner.STATIC),
     "Karpenter launches no nodes for pods and replaces static nodes only: NodePool a is static"),
    (a_finding(FindingCode.POOL_GONE, names=("a",), nodes=3),
     "NodePool a does not exist: 3 nodes of it cannot be consolidated or replaced"),
    (a_finding(FindingCode.POOL_GONE, names=("a", "b"), nodes=3),
     "NodePools a, b do not exist: 3 nodes of them cannot be consolidated or replaced"),
    (a_finding(FindingCode.FINE, manner=Manner.NO_NODES), "no nodes, no NodeClaims and no NodePools"),
    (a_finding(FindingCode.FINE, manner=Manner.NOT_KARPENTERS, nodes=3, names=("a", "b")),
     "none of the 3 nodes is managed by Karpenter: 2 NodePools, no pod pending for long"),
    (a_finding(FindingCode.FINE, manner=Manner.NOT_KARPENTERS, nodes=1),
     "Karpenter does not manage the only node, and there is no NodePool"),
    (a_finding(FindingCode.FINE, nodes=3), "no blockers or problems in this cluster"),
    (a_finding(FindingCode.FINE, nodes=3, manner=Manner.WITH_NOTES), "nothing needs attention now"),
    (a_finding(FindingCode.POOL_NOT_READY, names=("a",), detail="NodeClassReady=False"),
     "NodePool a has not been ready for 60m (NodeClassReady=False): it launches no nodes"),
    (a_finding(FindingCode.POD_DND, names=("ci/jobs",), pods=3, nodes=2, recent_pods=4),
     "do-not-disrupt on 3 ci/jobs pods blocks 2 nodes (60m so far, no time limit), 4 new pods/h land on them"),
    (a_finding(FindingCode.POD_DND, names=("ci/jobs",), pods=1, nodes=1, until_ns=NOW_NS + 5 * MINUTE_NS),
     "do-not-disrupt on 1 ci/jobs pod blocks 1 node (60m so far, ends in 5m)"),
    (a_finding(FindingCode.PDB, names=("db/postgres",), nodes=1, manner=Manner.NEVER),
     "PodDisruptionBudget db/postgres never allows an eviction: 1 node blocked for 60m"),
    (a_finding(FindingCode.PDB, names=("db/postgres",), nodes=1, manner=Manner.NEVER, recent_pods=4),
     "PodDisruptionBudget db/postgres never allows an eviction: 1 node blocked for 60m, 4 new pods/h land on it"),
    (a_finding(FindingCode.NODE_DND, names=("node-1",), nodes=1, recent_pods=1),
     "do-not-disrupt on 1 node (node-1) blocks it (60m so far, no time limit), 1 new pod/h lands on it"),
    (a_finding(FindingCode.PDB, names=("db/postgres",), nodes=1, pdb_counts=(2, 2, 3)),
     "PodDisruptionBudget db/postgres allows no eviction now (2 of its 3 pods are healthy): 1 node blocked for 60m"),
    (a_finding(FindingCode.PDB, names=("db/postgres",), nodes=1, pdb_counts=(5, 6, 5), manner=Manner.NEVER),
     ("PodDisruptionBudget db/postgres demands 6 healthy pods and has 5, so it allows no eviction: 1 node blocked "
      "for 60m")),
    (a_finding(FindingCode.LEAVING, names=("a",), nodes=1, pods=1, detail=Leaving.UNEVICTED),
     ("a has been terminating for 60m: 1 pod is not evicted, although nothing known protects it: Karpenter's log "
      "may say why")),
    (a_finding(FindingCode.UNHEALTHY, names=("a", "b", "c"), nodes=3, of_nodes=3, pools=("x",)),
     "all 3 nodes of x (a, b and 1 more) have not been ready for 60m"),
    (a_finding(FindingCode.UNHEALTHY, names=("a",), nodes=1, of_nodes=9, manner=Manner.OUT_OF_MEMORY, words="java"),
     "node a ran out of memory 9 times in 60m, and the kernel killed processes (SystemOOM: java); it is ready now"),
    (a_finding(FindingCode.LEAVING, names=("a",), nodes=1, detail=Leaving.WAITS, manner=Manner.NEVER),
     "a has been terminating for 60m: its drain has not begun; no terminationGracePeriod ends its drain"),
    (a_finding(FindingCode.LEAVING, names=("a", "b"), nodes=2, pods=1, detail=Leaving.ENDING, manner=Manner.OVERDUE),
     ("2 nodes (a, b) have been terminating for 60m: 1 pod takes long to terminate; terminationGracePeriod is over, "
      "Karpenter's log may say why")),
    (a_finding(FindingCode.LEAVING, names=("a", "b"), nodes=2, pods=4, detail=Leaving.EVICTED,
               until_ns=NOW_NS + 5 * MINUTE_NS),
     "2 nodes (a, b) have been terminating for 60m: 4 pods are still being evicted; forced in 5m"),
    (a_finding(FindingCode.LEAVING, names=("a", "b"), nodes=2, detail=Leaving.DRAINING, manner=Manner.SEVERAL_ENDS,
               until_ns=NOW_NS + 5 * MINUTE_NS),
     "2 nodes (a, b) have been terminating for 60m: their drain is not finished; all forced within 5m"),
    (a_finding(FindingCode.LEAVING, names=("a", "b"), nodes=2, detail=Leaving.UNKNOWN),
     "2 nodes (a, b) have been terminating for 60m: their progress is not known"),
    (a_finding(FindingCode.LEAVING, names=("a",), nodes=1, detail=Leaving.NO_NODE),
     "a has been terminating for 60m: its Node is gone, but a finalizer keeps its NodeClaim"),
    (a_finding(FindingCode.POOL_AT_LIMIT, names=("general",), detail="cpu 48 of 48"),
     "NodePool general has been at its limit for 60m: cpu 48 of 48"),
    (a_finding(FindingCode.POOL_AT_LIMIT, names=("a",), detail="x/gpu 1 of 1", manner=Manner.SPARES_TYPES),
     "NodePool a has been at its limit for 60m: x/gpu 1 of 1; instance types that need none of it still launch"),
    (a_finding(FindingCode.POOL_AT_LIMIT, names=("a",), detail="3 nodes, and its limit is 2",
               manner=Manner.FEWER_THAN_REPLICAS),
     "static NodePool a wants 3 nodes, and its limit is 2"),
    (a_finding(FindingCode.PDB, names=("db/postgres", "a/b"), nodes=3),
     "2 PodDisruptionBudgets (db/postgres, a/b) allow no eviction now: 3 nodes blocked for 60m"),
    (a_finding(FindingCode.BUDGET, names=("general",), nodes=3, manner=Manner.NEVER),
     "the disruption budget of general is always 0: 3 nodes blocked for 60m"),
    (a_finding(FindingCode.BUDGET, names=("jobs",), nodes=3, manner=Manner.NEVER, detail="Emptiness",
               reasons=("Empty",)),
     "the disruption budget of jobs is always 0 for Empty: 3 empty nodes blocked for 60m"),
    (a_finding(FindingCode.BUDGET, names=("general",), nodes=3, until_ns=NOW_NS + 2 * HOUR_NS),
     "the disruption budget of general is 0 for 120m (until 14:00 UTC): 3 nodes blocked for 60m"),
    (a_finding(FindingCode.DRIFT, names=("general",), nodes=1, detail="BUDGET_ZERO", manner=Manner.USED_UP),
     "general: drift of 1 node stuck for 60m, its disruption budget is used up by terminating or not-ready nodes"),
    (a_finding(FindingCode.DRIFT, names=("general",), nodes=2, detail="SIM_UNSCHEDULABLE"),
     "general: drift of 2 nodes stuck for 60m, the pods fit nowhere else"),
    (a_finding(FindingCode.DRIFT, names=("general",), nodes=2, detail="PDB_EXHAUSTED", reasons=("db/pg", "a/b")),
     ("general: drift of 2 nodes stuck for 60m, PodDisruptionBudgets db/pg, a/b allow no eviction, and no "
      "terminationGracePeriod forces it")),
    (a_finding(FindingCode.NEXT, names=("n1",), detail="delete Drift", manner=Manner.AFTER_OTHERS, price_per_hour=0.5),
     "next, once unblocked: delete n1 (drifted, saves $0.50/h)"),
    (a_finding(FindingCode.UNHEALTHY, names=("n1", "n2"), nodes=2, youngest_ns=NOW_NS - 29 * MINUTE_NS),
     "2 nodes (n1, n2) have not been ready for up to 60m"),
    (a_finding(FindingCode.UNHEALTHY, names=("n1", "n2"), nodes=2, youngest_ns=NOW_NS - 31 * MINUTE_NS),
     "2 nodes (n1, n2) have not been ready for 60m"),
    (a_finding(FindingCode.NEXT, names=("n1",), detail="delete Drift", of_nodes=2, others=1),
     "next: delete n1 or, as likely, 2 others (drifted), or 1 other with another outcome"),
    (a_finding(FindingCode.NEXT, names=("n1", "n2"), nodes=2, manner=Manner.EXPIRED),
     "next: 2 nodes expire now (n1, n2)"),
])  # fmt: skip
def test_findings_as_sentences(finding: ClusterFinding, text: str) -> None:
    assert sentence(finding, NOW_NS, {}) == text


def test_incomplete_sums_are_marked() -> None:
    assert money_text(a_finding(FindingCode.PDB, price_per_hour=2.0)) == "$2.00/h"
    assert money_text(a_finding(FindingCode.PDB, price_per_hour=2.0, is_partial=True)) == "$2.00/h+"
    assert money_text(a_finding(FindingCode.NEXT, price_per_hour=2.0)) == ""
    bound = a_finding(FindingCode.PDB, price_per_hour=2.0, is_upper_bound=True)
    assert money_text(bound) == "can save up to $2.00/h"
    assert money_text(replace(bound, is_partial=True)) == "can save up to $2.00/h (incomplete)"
    assert money_text(a_finding(FindingCode.PDB, price_per_hour=2.0, saves_in_seconds=420)) == "can save $2.00/h in 7m"


WORDS = st.lists(st.text("abcdefgh-節点", min_size=1, max_size=60), min_size=1, max_size=20).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=8), st.integers(60, 140), st.integers(1, 5), st.integers(1, 9))
def test_no_finding_is_cut_and_every_one_is_on_a_page(texts: list[str], width: int, few: int, lines: int) -> None:
    told = [(a_finding(FindingCode.PDB, price_per_hour=float(i)), text) for i, text in enumerate(texts)]
    worst, *pages = verdict_pages(told, width, Room(few, lines), Room(len(told), 8))
    drawn = [text_of(line) for page in (pages or [worst]) for line in page.lines]
    assert all(sum(1 if text.isascii() else 2 for text in line) <= width for line in drawn)
    assert sum(line.startswith(" ! ") for line in drawn) == len(told)
    letters = "".join("".join(text.split()) for text in texts)
    result = "".join(_without_tail(line) for line in drawn)
    assert "".join(result.split()) == letters
    shown = sum(line.startswith(" ! ") for line in (text_of(line) for line in worst.lines))
    assert shown + worst.more == len(told)
    assert 1 <= shown <= few


LONG, SHORT = "a word of a long finding " * 9, "a short finding"


@pytest.mark.parametrize(("texts", "rows", "more"), [
    ([LONG, SHORT, SHORT], [2, 1, 1], 0),
    ([LONG, LONG, SHORT], [2, 2, 1], 0),
    ([LONG, LONG, SHORT, SHORT], [2, 2, 1], 1),
    ([LONG], [4], 0),
    ([LONG, SHORT], [4, 1], 0),
])  # fmt: skip
def test_long_findings_are_cut_to_two_rows_if_they_hide_others(texts: list[str], rows: list[int], more: int) -> None:
    told = [(a_finding(FindingCode.PDB, price_per_hour=1.0), text) for text in texts]
    worst, *pages = verdict_pages(told, 70, Room(3, 5), Room(len(told), 20))
    lines = [text_of(line) for line in worst.lines]
    starts = [number for number, line in enumerate(lines) if line.startswith(" ! ")]
    assert [end - start for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)] == rows
    assert worst.more == more
    assert max(map(len, lines)) <= 70
    assert worst.is_cut == any(line.endswith(" …") for line in lines) == bool(pages)
    assert not any("…" in text_of(line) for page in pages for line in page.lines)


def _without_tail(line: str) -> str:
    """Return a line's text without mark, cost and key."""
    text = line[3:]
    return re.sub(r" *(  \$\S+/h)?  6$", "", text) if line.startswith(" ! ") else text
