"""Nodes of which it is known what keeps them, and what they cost."""

from __future__ import annotations

from msgspec.structs import replace

from karptui.disruption.codes import WhyCode
from karptui.disruption.drain import DrainState
from karptui.karpenter.nodeclaim import DrainStage
from karptui.views.nodes.detail import fact_lines, title_parts
from karptui.views.nodes.sentences import explain_node, node_details, node_reason
from tests.builders import MINUTE_NS, NOW_NS
from tests.views.why.test_words import analysed, said

ENTRY = next(one for one in analysed().node_entries if one.name == "ip-10-0-71-204")


def test_a_node_whose_drain_has_not_begun_is_told_as_deleted_once() -> None:
    assert ENTRY.claim is not None
    assert ENTRY.findings is not None
    since_ns = NOW_NS - 10 * MINUTE_NS
    deleting = replace(
        ENTRY,
        claim=replace(ENTRY.claim, deletion_ns=since_ns),
        findings=replace(
            ENTRY.findings,
            why=replace(ENTRY.findings.why, code=WhyCode.DELETING),
            drain=DrainState(DrainStage.DELETING, since_ns),
        ),
    )
    assert said(explain_node(deleting, NOW_NS)).startswith("deleting  deleting for 10m, its drain has not begun")
    assert node_details(deleting) == ()


def test_the_reason_stands_alone_and_the_rest_is_told_piece_by_piece() -> None:
    assert ENTRY.node is not None
    cordoned = replace(ENTRY, node=replace(ENTRY.node, is_unschedulable=True))
    reason, details = said(node_reason(cordoned, NOW_NS)), node_details(cordoned)
    assert said(explain_node(cordoned, NOW_NS)) == " · ".join((reason, *(text for text, _ in details)))
    assert " request" in details[0][0]
    assert node_details(ENTRY) == ()


def test_the_price_is_in_the_title_and_among_the_facts() -> None:
    assert "$1.0080/h" in said(title_parts(ENTRY, NOW_NS))
    assert any("1.0080" in said(line) for line in fact_lines(ENTRY, NOW_NS))
