from __future__ import annotations

from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.sources.source import Phase, SourceStatus
from karptui.views.row import Tone
from karptui.views.sources import no_rows, notice, overall

SECOND = 1_000_000_000
NOW_NS = 1_795_521_607 * SECOND


def status(kind: Kind, phase: Phase, **given: Any) -> SourceStatus:
    document: dict[str, Any] = {"kind": kind, "phase": phase, "since_ns": NOW_NS - 3 * SECOND}
    return SourceStatus(**(document | given))


LIVE = status(Kind.NODE, Phase.LIVE)


@pytest.mark.parametrize(("statuses", "text", "tone"), [
    ([], "○ connecting", Tone.ACTIVE),
    ([LIVE], "● live 12:00:07Z", Tone.GOOD),
    ([status(Kind.NODE, Phase.CONNECTING), LIVE], "○ connecting (3s)", Tone.ACTIVE),
    ([LIVE, status(Kind.POD, Phase.SYNCING, count=6500, total_estimate=15000)], "◐ syncing pods 6,500 of about 15,000",
     Tone.ACTIVE),
    ([LIVE, status(Kind.POD, Phase.SYNCING, count=500)], "◐ syncing pods 500", Tone.ACTIVE),
    ([LIVE, status(Kind.POD, Phase.STALE, last_contact_ns=NOW_NS - 42 * SECOND)], "◌ pods stale for 42s", Tone.WARNING),
    ([status(Kind.POD, Phase.STALE, last_contact_ns=NOW_NS - 42 * SECOND)], "◌ stale for 42s", Tone.WARNING),
    ([LIVE, status(Kind.POD, Phase.FORBIDDEN)], "◍ live, no access to pods", Tone.WARNING),
    ([LIVE, status(Kind.POD, Phase.DISCONNECTED, retry_at_ns=NOW_NS + 5 * SECOND)],
     "✖ pods disconnected, retrying in 5 s", Tone.FAULT),
    ([LIVE, *(status(kind, Phase.DISCONNECTED) for kind in (Kind.POD, Kind.PDB))],
     "✖ 2 of 3 kinds disconnected, retrying", Tone.FAULT),
    ([status(Kind.POD, Phase.DISCONNECTED)], "✖ disconnected, retrying", Tone.FAULT),
    ([status(Kind.NODE, Phase.OFFLINE)], "◆ offline, taken 2026-11-24 12:00:04Z", Tone.RESERVED),
    ([LIVE, status(Kind.NODECLAIM, Phase.NOT_INSTALLED)], "● live 12:00:07Z", Tone.GOOD),
])  # fmt: skip
def test_the_worst_status_of_all_kinds_is_shown(statuses: list[SourceStatus], text: str, tone: Tone) -> None:
    health = overall(statuses, NOW_NS)
    assert (health.text, health.tone) == (text, tone)
    assert len(health.short) <= len(health.text)


FORBIDDEN = status(Kind.POD, Phase.FORBIDDEN, last_error="no permission to list pods: pods is forbidden.")
GONE = status(Kind.POD, Phase.DISCONNECTED, last_error="connection refused\x1b[2J", retry_at_ns=NOW_NS + SECOND,
              last_contact_ns=NOW_NS - 42 * SECOND)  # fmt: skip
UNREAD = status(Kind.POD, Phase.OFFLINE, last_error="a.json: Pod x: spec.nodeName: must be text, is a number")


@pytest.mark.parametrize(("statuses", "text", "tone"), [
    ([], "", Tone.NORMAL),
    ([LIVE], "", Tone.NORMAL),
    ([LIVE, FORBIDDEN], "no permission to list pods. Requests need it. ? has the ClusterRole.", Tone.WARNING),
    ([status(Kind.POD, Phase.FORBIDDEN)], "pods: forbidden. Requests need it. ? has the Clu", Tone.WARNING),
    ([status(kind, Phase.FORBIDDEN) for kind in (Kind.NODE, Kind.POD, Kind.NODECLAIM, Kind.JOB)],
     "nodes: forbidden. Nothing without. Nor may pods and NodeClaims be listed. ? has the ClusterRole.", Tone.WARNING),
    ([GONE], "connection refused␛[2J; retrying in 1 s. The data is from 11:59:25Z.", Tone.FAULT),
    ([status(Kind.POD, Phase.STALE)], "the API server stopped answering.", Tone.WARNING),
    ([LIVE, UNREAD], UNREAD.last_error, Tone.WARNING),
    ([status(Kind.POD, Phase.SYNCING, last_error="not yet")], "", Tone.NORMAL),
    ([status(Kind.POD, Phase.OFFLINE, is_left_out=True)],
     "pods were not listed for this file. Requests need it.", Tone.WARNING),
    ([status(Kind.POD, Phase.OFFLINE, is_left_out=True, count=12)],
     "This file has the pods of one namespace only: list them with --all-namespaces.", Tone.WARNING),
])  # fmt: skip
def test_notices_name_missing_kinds_and_their_age(statuses: list[SourceStatus], text: str, tone: Tone) -> None:
    consequences = {"Node": "Nothing without.", "Pod": "Requests need it.", "NodeClaim": "Drift needs it."}
    pair = notice({str(item.kind): item for item in statuses}, consequences, NOW_NS)
    assert (pair is None) is (not text)
    assert pair is None or (pair[0].startswith(text), pair[1]) == (True, tone)


@pytest.mark.parametrize(("phase", "given", "lines"), [
    (None, {}, ["connecting…"]),
    (Phase.CONNECTING, {}, ["connecting… (3s)"]),
    (Phase.SYNCING, {"count": 5, "total_estimate": 9}, ["syncing nodes 5 of about 9"]),
    (Phase.FORBIDDEN, {"last_error": "list nodes at cluster scope"},
     ["nodes: forbidden", "list nodes at cluster scope", "? has the ClusterRole that karptui needs"]),
    (Phase.DISCONNECTED, {"retry_at_ns": NOW_NS + 2 * SECOND}, ["disconnected, retrying in 2 s"]),
    (Phase.NOT_INSTALLED, {}, ["this cluster does not know nodes"]),
    (Phase.STALE, {}, ["there were no nodes, but the API server stopped answering"]),
    (Phase.LIVE, {}, ["there are no nodes"]),
    (Phase.OFFLINE, {}, ["there are no nodes"]),
])  # fmt: skip
def test_an_empty_table_shows_the_reason(phase: Phase | None, given: dict[str, Any], lines: list[str]) -> None:
    result = None if phase is None else status(Kind.NODE, phase, **given)
    assert [text for text, _ in no_rows(result, "nodes", NOW_NS)] == lines


def test_a_table_emptied_by_a_filter_names_the_filter() -> None:
    assert [text for text, _ in no_rows(LIVE, "nodes", NOW_NS, total=9, filter_text="cpu>90%")] == [
        "no nodes match  cpu>90%",
        "esc clears the filter",
    ]
    assert [text for text, _ in no_rows(LIVE, "nodes", NOW_NS, total=1234, is_notable=True)] == [
        "no nodes are blocked or faulty",
        "ctrl+z shows all 1,234",
    ]
    assert no_rows(LIVE, "nodes", NOW_NS, total=9, is_notable=True, notable_key="f5")[1][0] == "f5 shows all 9"
    assert no_rows(LIVE, "nodes", NOW_NS, total=9) == (("no nodes to show", Tone.MUTED),)
