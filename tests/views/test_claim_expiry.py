from __future__ import annotations

import pytest

from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.session.claims import ClaimEntry, expiries_of
from karptui.views.claims import TABLE, expiry_line
from karptui.views.table import Sort, build_rows
from tests.builders import text_of
from tests.ui.fleet import HOUR, MINUTE, NOW_NS


def claim(name: str, in_ns: int | None, *, pool: str = "general", deletion_ns: int = 0) -> ClaimEntry:
    expire_after_ns = None if in_ns is None else 720 * HOUR
    born = NOW_NS - HOUR if in_ns is None else NOW_NS + in_ns - 720 * HOUR
    return ClaimEntry(NodeClaim(name=name, labels={karpenter_labels.NODEPOOL: pool}, created_ns=born,
                                expire_after_ns=expire_after_ns, deletion_ns=deletion_ns))  # fmt: skip


def expiry_text(entries: list[ClaimEntry], pool: str = "general") -> str:
    return text_of(expiry_line(expiries_of(entries, pool), pool, NOW_NS))


NEVER = claim("never", None)
LEAVING = claim("leaving", MINUTE, deletion_ns=NOW_NS - MINUTE)
OTHER = claim("other", MINUTE, pool="trino")


@pytest.mark.parametrize(("entries", "expected"), [
    ([], ""),
    ([NEVER, LEAVING, OTHER], ""),
    ([claim("a", HOUR), NEVER], "general: of 1 NodeClaim expire 0 in 30m · 1 in 24h · 1 in 7d"),
    ([claim("a", 200 * HOUR), NEVER], "general: none of 1 NodeClaim expires within 7d"),
    ([claim("a", 20 * MINUTE), claim("b", 30 * HOUR), LEAVING, OTHER],
     "general: of 2 NodeClaims expire 1 in 30m · 1 in 24h · 2 in 7d"),
])  # fmt: skip
def test_how_many_expire_soon(entries: list[ClaimEntry], expected: str) -> None:
    assert expiry_text(entries) == expected


def test_how_many_expire_at_once() -> None:
    wave = [claim(f"w{minute}", 50 * HOUR + minute * MINUTE) for minute in (0, 10, 25)]
    line = expiry_text([claim("a", 20 * MINUTE), *wave, claim("late", 50 * HOUR + 31 * MINUTE)])
    assert " · 3 of them within 30m, from 2026" in line
    assert "of them within 30m" not in expiry_text(wave[:2])


def test_a_drain_that_nothing_ends_comes_first() -> None:
    rows = build_rows(TABLE, (NEVER, OTHER, LEAVING), sort=Sort("deadline"), now_ns=NOW_NS)
    assert rows.items[0].claim.name == "leaving"
