"""What can be done about blockers: YAML and commands that name the right objects, quoted for the shell."""

from __future__ import annotations

import shlex

import pytest
import yaml

from karptui.disruption.blocker import Blocker, Code
from karptui.views.blockers.entry import BlockerEntry, blocker_entries
from karptui.views.blockers.groups import Grouping, grouped
from karptui.views.blockers.remedies import MOST_NAMES, remedies, remedies_text
from karptui.views.blockers.story import story_lines
from tests.builders import NOW_NS
from tests.views.why.test_words import analysed, said


def an_entry(code: Code, key: str = "web/front-0", **fields: str) -> BlockerEntry:
    kind = "Pod" if code in (Code.POD_DND, Code.PDB_EXHAUSTED, Code.PDB_MULTIPLE) else "NodePool"
    given = {"node_name": "node-1", "pool_name": "general"} | fields
    return BlockerEntry(Blocker(code=code, object_kind=kind, object_key=key, **given), 0)


@pytest.mark.parametrize(
    ("code", "fields", "text"),
    [
        (Code.NODE_DND, {}, "kubectl annotate node node-1 karpenter.sh/do-not-disrupt-"),
        (Code.PDB_EXHAUSTED, {"value": "web/front"}, "kubectl -n web patch pdb front --type merge -p"),
        (Code.PDB_MULTIPLE, {"value": "web/a web/b"}, "kubectl -n web get pdb a\nkubectl -n web get pdb b"),
        (Code.BUDGET_ZERO, {}, 'kubectl patch nodepool general --type merge -p \'{"spec":{"disruption":{"budgets"'),
        (Code.CONSOLIDATION_DISABLED, {}, '{"spec":{"disruption":{"consolidateAfter":"5m"}}}'),
        (Code.WHEN_EMPTY_POLICY, {}, "WhenEmptyOrUnderutilized"),
        (Code.POD_DND, {}, "kubectl cordon node-1"),
    ],
)
def test_remedy(code, fields, text):
    assert text in remedies_text([an_entry(code, **fields)])


def test_the_yaml_is_yaml():
    own = next(one for one in remedies([an_entry(Code.POD_DND)]) if one.title.startswith("own pool"))
    pool, pod = yaml.safe_load_all(own.text)
    assert pool["metadata"]["name"] == "general-protected"
    taint, toleration = pool["spec"]["template"]["spec"]["taints"][0], pod["spec"]["tolerations"][0]
    assert {key: taint[key] for key in ("key", "value", "effect")} == {
        key: toleration[key] for key in ("key", "value", "effect")
    }


def test_names_are_quoted_and_cleaned():
    hostile = an_entry(Code.POD_DND, "web/x; rm -rf $HOME", node_name="n\x1b[31m'1")
    text = remedies_text([hostile])
    assert "\x1b" not in text
    line = next(line for line in text.splitlines() if line.startswith("kubectl -n web annotate pod"))
    assert shlex.split(line)[5] == "x; rm -rf $HOME"


def test_many_names_are_counted():
    members = [an_entry(Code.POD_DND, f"web/p{i}", node_name=f"n{i}") for i in range(MOST_NAMES + 3)]
    line = next(line for line in remedies_text(members).splitlines() if line.startswith("kubectl cordon"))
    assert line.endswith("# and 3 more")


def test_what_ends_by_itself_needs_nothing():
    entry = an_entry(Code.CONSOLIDATE_AFTER)
    assert remedies([entry]) == ()
    assert "nothing to do" in remedies_text([entry])
    assert "It ends by itself." in "\n".join(map(said, story_lines([entry], NOW_NS)))


def test_story_of_nothing():
    assert story_lines((), NOW_NS) == ()


@pytest.mark.parametrize(
    ("grouping", "first"),
    [
        (Grouping.OWNER, "Job/gitlab/runner"),
        (Grouping.NAMESPACE, "gitlab"),
        (Grouping.POOL, "runners"),
        (Grouping.KIND, "POD-DND"),
    ],
)
def test_groups_by_money(grouping, first):
    view = analysed()
    lines = grouped(blocker_entries(view), grouping, frozenset(), is_folded=True)
    assert lines[0].name == first
    assert all(line.is_folded for line in lines)
    held = [line.held.per_hour for line in lines]
    assert held == sorted(held, reverse=True)
    opened = grouped(blocker_entries(view), grouping, frozenset({first}), is_folded=True)
    assert len(opened) == len(lines) + 6


def test_a_node_counts_once_however_much_keeps_it():
    lines = grouped(blocker_entries(analysed()), Grouping.OWNER, frozenset(), is_folded=True)
    assert lines[0].held.per_hour == pytest.approx(1.008 + 1.008 + 0.768 + 0.238)


def test_no_analysis_no_blockers():
    from tests.story_e import story_view

    assert blocker_entries(story_view()) == ()
