from __future__ import annotations

from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.sources.cluster.errors import ApiError, one_line, reaction_to, rules_out_watch_list
from karptui.sources.cluster.resources import AUTO_MODE_EVENTS, EVENTS, NODES, PODS
from karptui.sources.cluster.status_board import Board
from karptui.sources.source import Mailbox, Phase, SourceStatus


@pytest.mark.parametrize(("status", "verb", "may_list", "phase", "seconds", "forgets", "sentence"), [
    (403, "list", False, Phase.FORBIDDEN, 5.0, True, "no permission to list pods in all namespaces: no"),
    (403, "watch", False, Phase.FORBIDDEN, 5.0, True, "no permission to watch pods in all namespaces: no"),
    (403, "watch", True, Phase.STALE, 60.0, False,
     "no permission to watch pods in all namespaces: no; listed every 60 s instead"),
    (405, "watch", True, Phase.STALE, 60.0, False, "the API server does not watch pods; listed every 60 s instead"),
    (404, "list", False, Phase.NOT_INSTALLED, 60.0, True, "the API server has no pods in version v1"),
    (405, "list", False, Phase.DISCONNECTED, None, False, "the API server answered 405 Odd: no"),
    (500, "watch", True, Phase.DISCONNECTED, None, False, "the API server answered 500 Odd: no"),
])  # fmt: skip
def test_reactions_to_api_errors(
    *, status: int, verb: str, may_list: bool, phase: Phase, seconds: float | None, forgets: bool, sentence: str
) -> None:
    reaction = reaction_to(ApiError(status, "Odd", "no"), PODS, verb=verb, may_list=may_list)
    assert (reaction.phase, reaction.seconds, reaction.forgets, reaction.sentence) == (
        phase,
        seconds,
        forgets,
        sentence,
    )
    assert reaction.relists == (phase is not Phase.DISCONNECTED)


@pytest.mark.parametrize(("status", "expected"), [
    *((400, True), (403, True), (405, True), (422, True), (401, False), (404, False), (410, False)),
    *((429, False), (500, False)),
])  # fmt: skip
def test_which_errors_rule_out_streaming_lists(status: int, expected: bool) -> None:
    assert rules_out_watch_list(ApiError(status, "", "no")) is expected


def test_foreign_text_is_cleaned_and_shortened() -> None:
    assert one_line("a\x1b[31m\tb\r\nc\u202e") == "a [31m b c"
    assert one_line("x" * 500) == "x" * 399 + "…"
    assert one_line("y" * 400) == "y" * 400


def status(phase: Phase, kind: Kind = Kind.EVENT, **fields: Any) -> SourceStatus:
    return SourceStatus(kind=kind, phase=phase, since_ns=1, **fields)


def test_resources_of_a_kind_share_a_status() -> None:
    mailbox = Mailbox()
    board = Board(mailbox)
    board.report(EVENTS, status(Phase.LIVE, count=3, last_contact_ns=5))
    assert mailbox.drain().statuses[Kind.EVENT].count == 3
    board.report(AUTO_MODE_EVENTS, status(Phase.FORBIDDEN, last_error="no", count=1, last_contact_ns=4))
    both = mailbox.drain().statuses[Kind.EVENT]
    assert (both.phase, both.last_error, both.count, both.last_contact_ns) == (Phase.FORBIDDEN, "no", 4, 5)


def test_announcements_do_not_override_reports() -> None:
    mailbox = Mailbox()
    board = Board(mailbox)
    board.announce(status(Phase.CONNECTING))
    assert mailbox.drain().statuses[Kind.EVENT].phase is Phase.CONNECTING
    board.report(EVENTS, status(Phase.LIVE))
    board.announce(status(Phase.NOT_INSTALLED))
    assert mailbox.drain().statuses[Kind.EVENT].phase is Phase.LIVE


def test_doubt_makes_only_live_kinds_stale_and_can_be_revoked() -> None:
    mailbox = Mailbox()
    board = Board(mailbox)
    board.report(EVENTS, status(Phase.LIVE))
    board.report(NODES, status(Phase.DISCONNECTED, Kind.NODE))
    mailbox.drain()
    board.doubt("silence", 77)
    told = mailbox.drain().statuses
    assert set(told) == {Kind.EVENT}
    assert (told[Kind.EVENT].phase, told[Kind.EVENT].last_error, told[Kind.EVENT].since_ns) == (
        Phase.STALE,
        "silence",
        77,
    )
    board.trust()
    assert mailbox.drain().statuses[Kind.EVENT].phase is Phase.LIVE
