"""Remedies for blockers: YAML and commands that name the right objects, quoted for the shell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import yaml

from karptui.disruption.codes import Blocker, Code
from karptui.karpenter.nodepool import DisruptionBudget
from karptui.kube.quantity import parse_quantity
from karptui.session.blockers import BlockerEntry, BlockerGrouping, blocker_entries, grouped
from karptui.session.grouping import Folding
from karptui.views.blockers.remedies import objects_of, remedies, remedy_text
from karptui.views.blockers.sentences import blocker_sentences, effect_text, nodes_cell, saves_cell, when_cell
from karptui.views.blockers.trials import REPORT, TABLE, TriedRemedy, trial_text, tried_remedies
from karptui.views.filters import compile_query, parse_query
from karptui.views.table import Sort, build_rows
from karptui.whatif.edits import CordonNode
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, BlockerRemedyKind, ChangedObjects, Effect
from karptui.whatif.remedies.blockers.trial import Holder, Trial
from tests.builders import NOW_NS, a_nodepool, a_pdb, a_pod, an_owner, present, text_of
from tests.views.blockers.headings import headings
from tests.views.why.test_words import analysed


def an_entry(code: Code, key: str = "web/front-0", **fields: str) -> BlockerEntry:
    kind = "Pod" if code in (Code.POD_DND, Code.PDB_EXHAUSTED, Code.PDB_MULTIPLE) else "NodePool"
    given: dict[str, Any] = {"node_name": "node-1", "pool_name": "general"} | fields
    return BlockerEntry(Blocker(code=code, object_kind=kind, object_key=key, is_wanted=True, **given), 0)


NONE = ChangedObjects({}, {}, {})


def texts(members: Sequence[BlockerEntry], objects: ChangedObjects = NONE) -> str:
    return "\n".join(remedy_text(remedy, members) for remedy in remedies(members, objects, NOW_NS))


@pytest.mark.parametrize(("code", "fields", "text"), [
    (Code.NODE_DND, {}, "kubectl annotate node node-1 karpenter.sh/do-not-disrupt-"),
    (Code.PDB_EXHAUSTED, {"value": "web/front"}, "kubectl -n web patch pdb front --type merge -p"),
    (Code.PDB_MULTIPLE, {"value": "web/a web/b"}, "kubectl -n web get pdb a\nkubectl -n web get pdb b"),
    (Code.POD_DND, {}, "kubectl cordon node-1"),
    (Code.POD_DND, {}, "kind: PriorityClass\nmetadata: {name: preemptible}\nvalue: -1000"),
    (Code.POD_DND, {"value": "true"}, 'annotations: {karpenter.sh/do-not-disrupt: "4h"}'),
])  # fmt: skip
def test_each_blocker_has_its_remedy(code: Code, fields: Mapping[str, str], text: str) -> None:
    assert text in texts([an_entry(code, **fields)])


def test_the_yaml_of_remedies_can_be_parsed() -> None:
    remedy = next(
        item for item in remedies([an_entry(Code.POD_DND)], NONE, NOW_NS) if item.kind is BlockerRemedyKind.OWN_POOL
    )
    pool, pod = yaml.safe_load_all(remedy_text(remedy, [an_entry(Code.POD_DND)]))
    assert pool["metadata"]["name"] == "general-protected"
    taint, toleration = pool["spec"]["template"]["spec"]["taints"][0], pod["spec"]["tolerations"][0]
    assert {key: taint[key] for key in ("key", "value", "effect")} == {
        key: toleration[key] for key in ("key", "value", "effect")
    }


def test_the_text_contains_facts_of_the_objects() -> None:
    budgets = (DisruptionBudget("3"), DisruptionBudget("0", schedule="@daily", duration="22h"))
    limits = {"nodes": parse_quantity("3")}
    pool = a_nodepool(raw={"kind": "NodePool", "spec": {"weight": 7}}, limits=limits, budgets=budgets)
    pod = a_pod(name="front-0", namespace="web", owner=an_owner(kind="Deployment", name="front"), node="node-1")
    objects = ChangedObjects(
        {pod.key: pod},
        {"general": pool},
        {"web/front": a_pdb(name="front", namespace="web", min_available=1)},
        frozenset({"Deployment/web/front"}),
    )
    protected = yaml.safe_load_all(
        next(text for text in texts([an_entry(Code.POD_DND)], objects).split("# cordon") if "weight: 7" in text)
    )
    assert next(protected)["spec"]["weight"] == 7
    assert "topologySpreadConstraints:\n  - {" in texts([an_entry(Code.POD_DND)], objects)
    assert '"terminationGracePeriod":"2h"' in texts([an_entry(Code.POD_DND)], objects)
    held = an_entry(Code.PDB_EXHAUSTED, value="web/front", owner="Deployment/web/front")
    assert "kubectl -n web scale deployment front --replicas 2" in texts([held], objects)
    assert '{"spec":{"limits":{"nodes":"4"}}}' in texts([an_entry(Code.STATIC_NO_HEADROOM, "general")], objects)
    text = texts([an_entry(Code.BUDGET_ZERO, "general")], objects)
    command = shlex.split(next(line for line in text.splitlines() if line.startswith("kubectl patch")))
    path = "/spec/disruption/budgets/1/nodes"
    assert command[:6] == ["kubectl", "patch", "nodepool", "general", "--type", "json"]
    assert json.loads(command[-1]) == [
        {"op": "test", "path": path, "value": "0"},
        {"op": "replace", "path": path, "value": "100%"},
    ]


def test_names_are_quoted_and_cleaned() -> None:
    hostile = an_entry(Code.POD_DND, "web/x; rm -rf $HOME", node_name="n\x1b[31m'1")
    text = texts([hostile])
    assert "\x1b" not in text
    line = next(line for line in text.splitlines() if line.startswith("kubectl -n web annotate pod"))
    assert shlex.split(line)[5] == "x; rm -rf $HOME"


def test_the_text_names_the_remedies_that_free_nodes() -> None:
    view = analysed()
    group = headings(grouped(blocker_entries(view), BlockerGrouping.OWNER, Folding(is_folded=True)))[0]
    result = remedies(group.members, objects_of(view.state), NOW_NS)
    line = text_of(blocker_sentences(group.members, NOW_NS, group.title, result)[-1])
    assert line == (
        'What to do (r): own pool for these pods · cordon · do-not-disrupt: "8h"'
        " · terminationGracePeriod: 8h · spread · priority: -1000 (preemption)"
        " · remove the annotation (4 nodes, up to $3.02/h)"
    )


def test_the_table_of_remedies() -> None:
    view = analysed()
    members = [entry for entry in blocker_entries(view) if entry.namespace == "gitlab"]
    offered = remedies(members, objects_of(view.state), NOW_NS)
    rows = build_rows(TABLE, tried_remedies(offered, ()), now_ns=NOW_NS)
    assert [tuple(cell.text for cell in row.cells[:4]) for row in rows] == [
        ("own pool for these pods", "4 of 4", "when the pods have ended", "up to $3.0220"),
        ("cordon", "4 of 4", "when the pods have ended", "up to $3.0220"),
        ('do-not-disrupt: "8h"', "3 of 3", "after 7h19m", "up to $2.0140"),
        ("terminationGracePeriod: 8h", "-", "-", "-"),
        ("spread", "-", "-", "-"),
        ("priority: -1000 (preemption)", "-", "-", "-"),
        ("remove the annotation", "4 of 4", "…", "up to $3.0220"),
    ]
    assert trial_text(rows.items[0]) == ""
    for column in TABLE.columns:
        assert len(build_rows(TABLE, rows.items, sort=Sort(column.heading.id), now_ns=NOW_NS)) == 7
    for text, count in (("saves>1", 4), ("remedy=cordon", 1), ("drift", 1)):
        test = compile_query(parse_query(text, TABLE.subject), TABLE.subject, NOW_NS)
        assert sum(map(test, rows.items)) == count
    assert len(build_rows(TABLE, rows.items, is_notable_only=True, now_ns=NOW_NS)) == 4


def test_tried_remedies_are_best_first_with_reasons() -> None:
    offered = [
        BlockerRemedy(kind, "it.", (CordonNode("n"),)) for kind in (BlockerRemedyKind.CORDON, BlockerRemedyKind.SPREAD)
    ]
    nothing, freeing = (
        Trial(2, risk="none"),
        Trial(
            2,
            ("n",),
            1.0,
            3_600,
            is_waiting=True,
            evictions=4,
            cut=1,
            spares=2,
            lost_seconds=60,
            lost_dollars=0.5,
            risk="a risk",
        ),
    )
    rows = build_rows(TABLE, tried_remedies(offered, (nothing, freeing)), now_ns=NOW_NS)
    assert [tuple(cell.text for cell in row.cells) for row in rows] == [
        ("spread", "1 of 2", "after 60m", "$1.0000", "4, 1 cut", "+22.50", "1", "a risk"),
        ("cordon", "0 of 2", "-", "-", "-", "-", "1", "none"),
    ]
    assert trial_text(rows.items[0]) == (
        "Best: frees 1 node once their pods' protection has ended (60m at most), saves $1.00/h,"
        " cuts 1 protected pod after 60s of work; a risk."
    )
    assert trial_text(rows.items[1]) == "Frees no node alone; none."


@pytest.mark.parametrize(("effect", "cells", "words"), [
    (None, ("-", "-", "-"), ""),
    (Effect(), ("0", "-", "-"), ""),
    (Effect(unknown=2), ("…", "-", "-"), ""),
    (Effect(kept=2), ("0 of 2", "-", "-"), ""),
    (Effect(kept=2, untried=1), ("try it", "-", "-"), ""),
    (Effect(deleted=1, untried=1, saves_per_hour=0.5), ("1+ of 2", "…", "$0.5000+"),
     "1 of 2 nodes can be removed, $0.50/h"),
    (Effect(deleted=1, saves_per_hour=0.5), ("1 of 1", "…", "$0.5000"), "1 node can be removed, $0.50/h"),
    (Effect(replaced=1, unpriced=1), ("1 of 1", "…", "n/a"), "1 node can be removed"),
    (Effect(deleted=2, saves_per_hour=0.5, unpriced=1), ("2 of 2", "…", "up to $0.5000+"),
     "2 nodes can be removed, up to $0.50/h+"),
    (Effect(replaced=2, unknown=1, saves_per_hour=0.5, is_at_once=False),
     ("2+ of 3", "when the pods have ended", "up to $0.5000+"),
     "2 of 3 nodes can be removed when the pods have ended, up to $0.50/h"),
])  # fmt: skip
def test_effects_as_text(effect: Effect | None, cells: Sequence[str], words: str) -> None:
    assert (nodes_cell(effect).text, when_cell(effect).text, saves_cell(effect).text) == cells
    assert effect_text(effect) == words


@pytest.mark.parametrize(("grouping", "first"), [
    (BlockerGrouping.OWNER, "Job/gitlab/runner"),
    (BlockerGrouping.NAMESPACE, "gitlab"),
    (BlockerGrouping.POOL, "runners"),
    (BlockerGrouping.KIND, "do-not-disrupt"),
])  # fmt: skip
def test_groups_by_money(grouping: BlockerGrouping, first: str) -> None:
    view = analysed()
    lines = headings(grouped(blocker_entries(view), grouping, Folding(is_folded=True)))
    assert lines[0].name == first
    assert all(line.is_folded for line in lines)
    held = [present(line.held).per_hour for line in lines]
    assert held == sorted(held, reverse=True)
    opened = grouped(blocker_entries(view), grouping, Folding(is_folded=True, exceptions=frozenset({first})))
    assert len(opened) == len(lines) + 6


def test_a_node_counts_once_whatever_number_of_blockers_it_has() -> None:
    lines = headings(grouped(blocker_entries(analysed()), BlockerGrouping.OWNER, Folding(is_folded=True)))
    assert present(lines[0].held).per_hour == pytest.approx(1.008 + 1.008 + 0.768 + 0.238)


def test_remaining_blockers_are_shown_without_control_characters() -> None:
    trial = Trial(2, held=((Holder("web/\x1b[31mred"), 2), (Holder("general", Code.BUDGET_ZERO), 1)), risk="none")
    row = TriedRemedy(BlockerRemedy(BlockerRemedyKind.CORDON, "it."), trial)
    assert trial_text(row) == (
        "Frees no node alone: 2 nodes are still blocked by web/␛[31mred, 1 by other things; none."
    )
    assert REPORT.values(row, NOW_NS)["still_held"] == [
        {"by": "web/\x1b[31mred", "nodes": 2},
        {"by": "a disruption budget of general", "nodes": 1},
    ]
