from __future__ import annotations

from typing import Any

from karptui.decode.kinds import Kind
from karptui.sources.cluster.resources import AUTO_MODE_EVENTS, EVENTS, NODES
from karptui.sources.cluster.status_board import Board
from karptui.sources.source import Mailbox, Phase, SourceStatus


def status(phase: Phase, kind: Kind = Kind.EVENT, **fields: Any) -> SourceStatus:
    return SourceStatus(kind=kind, phase=phase, since_ns=1, **fields)


def test_several_resources_of_a_kind_have_one_status() -> None:
    mailbox = Mailbox()
    board = Board(mailbox)
    board.report(EVENTS, status(Phase.LIVE, count=3, last_contact_ns=5))
    assert mailbox.drain().statuses[Kind.EVENT].count == 3
    board.report(AUTO_MODE_EVENTS, status(Phase.FORBIDDEN, last_error="no", count=1, last_contact_ns=4))
    both = mailbox.drain().statuses[Kind.EVENT]
    assert (both.phase, both.last_error, both.count, both.last_contact_ns) == (Phase.FORBIDDEN, "no", 4, 5)


def test_announcements_yield_to_reports() -> None:
    mailbox = Mailbox()
    board = Board(mailbox)
    board.announce(status(Phase.CONNECTING))
    assert mailbox.drain().statuses[Kind.EVENT].phase is Phase.CONNECTING
    board.report(EVENTS, status(Phase.LIVE))
    board.announce(status(Phase.NOT_INSTALLED))
    assert mailbox.drain().statuses[Kind.EVENT].phase is Phase.LIVE


def test_doubt_is_about_what_is_live_and_can_be_taken_back() -> None:
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
