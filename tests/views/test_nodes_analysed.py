"""Nodes with known blockers and costs."""

from __future__ import annotations

from msgspec.structs import replace

from karptui.disruption.codes import WhyCode
from karptui.disruption.drain import DrainState
from karptui.karpenter.nodeclaim import DrainStage
from karptui.views.nodes.sentences import explain_node, node_details
from tests.builders import MINUTE_NS, NOW_NS, text_of
from tests.views.why.test_words import analysed

ENTRY = next(entry for entry in analysed().node_entries if entry.name == "ip-10-0-71-204")


def test_the_text_mentions_a_deletion_once_before_the_drain_begins() -> None:
    assert ENTRY.claim is not None
    assert ENTRY.findings is not None
    since_ns = NOW_NS - 10 * MINUTE_NS
    deleting = replace(ENTRY, claim=replace(ENTRY.claim, deletion_ns=since_ns),
                       findings=replace(ENTRY.findings, why=replace(ENTRY.findings.why, code=WhyCode.DELETING),
                                        drain=DrainState(DrainStage.DELETING, since_ns)))  # fmt: skip
    assert text_of(explain_node(deleting, NOW_NS)).startswith("deleting  deleting for 10m, its drain has not begun")
    assert node_details(deleting) == ()
