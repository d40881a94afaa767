"""How many of the NodeClaims created lately the model makes too."""

from __future__ import annotations

from collections.abc import Iterator

from karptui.views.units import count_text
from karptui.whatif.self_check import ClaimFinding, Finding, SelfCheck

GLYPHS = {Finding.REPRODUCED: "✔", Finding.DIFFERS: "✘", Finding.NOT_COMPARABLE: "·"}


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


def _lines(claims: tuple[ClaimFinding, ...]) -> Iterator[str]:
    width = max((len(one.claim_name) for one in claims), default=0)
    for one in claims:
        because = f"  {one.because}" if one.because else "  with the same list of types" if one.has_same_types else ""
        yield f"{GLYPHS[one.finding]} {one.claim_name:<{width}}  {one.type_name}  {one.finding}{because}"
