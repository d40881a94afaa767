"""One connection to a cluster, from its beginning to its end."""

from __future__ import annotations

import pytest

from karptui.decode.kinds import Kind
from karptui.session.session import Session
from karptui.sources.base import Phase, SourceStatus
from karptui.sources.evidence import EvidenceSource
from karptui.sources.mailbox import Mailbox


class Speaker:
    """A source that says how far it is with the nodes."""

    title = "speaker"

    def start(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox

    def stop(self) -> None:
        """Say nothing more."""

    def say(self, phase: Phase) -> None:
        self.mailbox.report(SourceStatus(kind=Kind.NODE, phase=phase, since_ns=1))


class Asked(EvidenceSource):
    """Counts how often it is told to begin."""

    starts = 0

    def start(self) -> None:
        self.starts += 1


@pytest.mark.parametrize(
    ("phase", "is_known"),
    [
        (Phase.CONNECTING, False),
        (Phase.SYNCING, False),
        (Phase.LIVE, True),
        (Phase.FORBIDDEN, True),
        (Phase.DISCONNECTED, True),
    ],
)
def test_the_nodes_are_known_once_the_source_is_done_with_them(phase: Phase, *, is_known: bool) -> None:
    source = Speaker()
    session = Session(source)
    session.start()
    assert not session.knows_nodes
    source.say(phase)
    session.poll()
    assert session.knows_nodes is is_known
    session.stop()


def test_evidence_is_asked_for_once_and_not_by_the_start() -> None:
    evidence = Asked()
    session = Session(Speaker(), evidence=evidence)
    session.start()
    assert evidence.starts == 0
    session.ask_for_evidence()
    session.ask_for_evidence()
    assert evidence.starts == 1
    session.stop()


def test_evidence_is_not_asked_for_after_the_end() -> None:
    evidence = Asked()
    session = Session(Speaker(), evidence=evidence)
    session.start()
    session.stop()
    session.ask_for_evidence()
    assert evidence.starts == 0
