"""How many of the NodeClaims created lately the model makes too."""

from __future__ import annotations

from collections.abc import Iterator

from karptui.kube.units import count_text
from karptui.whatif.self_check import CheckedClaim, Reproduction, SelfCheck

GLYPHS = {Reproduction.REPRODUCED: "✔", Reproduction.DIFFERS: "✘", Reproduction.NOT_COMPARABLE: "·"}


def self_check_text(found: SelfCheck) -> str:
    """Return the check as a page of text."""
    return "\n".join((summary(found), "", *_lines(found.claims))) + "\n"


def summary(found: SelfCheck) -> str:
    """Return the check in one sentence."""
    total = len(found.claims)
    if not total:
        return "there are no launched NodeClaims to compare with"
    left_out = total - found.comparable
    rest = f"; what {count_text(left_out)} were made for is gone" if left_out else ""
    if not found.comparable:
        return (
            f"none of the last {count_text(total)} NodeClaims can be compared any more: what they were made for is gone"
        )
    made, comparable = count_text(found.reproduced), count_text(found.comparable)
    return f"of the last {count_text(total)} NodeClaims {comparable} can be compared, and the model makes {made}{rest}"


def _lines(claims: tuple[CheckedClaim, ...]) -> Iterator[str]:
    rows = [(one.claim_name, one.pool_name, one.type_name, str(one.finding)) for one in claims]
    widths = [max(len(row[at]) for row in rows) for at in range(4)] if rows else []
    for one, row in zip(claims, rows, strict=True):
        because = one.because or ("with the same list of types" if one.has_same_types else "")
        cells = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield f"{GLYPHS[one.finding]} {cells}  {because}".rstrip()
