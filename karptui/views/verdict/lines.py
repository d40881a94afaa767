"""The verdict as lines of the Nodes screen and as values of `karptui verdict`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from karptui.aws.money import per_hour_text
from karptui.kube.units import duration_text
from karptui.views.instants import instant_value
from karptui.views.row import Pieces, Tone
from karptui.views.verdict.parts import Reasons
from karptui.views.verdict.sentence import sentence
from karptui.views.wrapping import cells, wrapped_from

if TYPE_CHECKING:
    from karptui.verdict.finding import ClusterFinding

MARKS: Final[Mapping[str, tuple[str, Tone]]] = {
    "error": ("✘", Tone.FAULT),
    "warning": ("!", Tone.WARNING),
    "info": ("·", Tone.MUTED),
}
_SHORT: Final = 2
"""Lines of a finding that leaves room for others."""
_ELLIPSIS: Final = " …"


def money_text(finding: ClusterFinding) -> str:
    """Return a cost, ``$2.03/h``, or savings: ``can save up to $2.03/h``, by forecast ``can save $2.03/h in 7m``.

    Empty if unknown or already in the text.
    """
    if not finding.price_per_hour or str(finding.code) == "NEXT":
        return ""
    text = per_hour_text(finding.price_per_hour, "USD")
    if finding.is_upper_bound:
        return f"can save up to {text}{' (incomplete)' if finding.is_partial else ''}"
    text += "+" if finding.is_partial else ""
    if finding.saves_in_seconds is not None:
        return f"can save {text} in {duration_text(finding.saves_in_seconds)}"
    return text


class Room(NamedTuple):
    """How much room there is for findings at once."""

    findings: int
    lines: int


class VerdictPage(NamedTuple):
    """Findings that are shown at once."""

    lines: tuple[Pieces, ...]
    more: int
    """Findings that are not among them."""
    is_cut: bool = False
    """Whether the ends of some of them are left out."""


def verdict_pages(
    findings: Sequence[tuple[ClusterFinding, str]], width: int, few: Room, many: Room
) -> tuple[VerdictPage, ...]:
    """Return the worst findings, then all of them in pages; a single page if the worst are all.

    Long findings wrap to the next line. If they hide others of the worst, these have two lines each.
    """
    keys = max((len(finding.key) for finding, _ in findings), default=0)
    drawn = [_lines(finding, text, width, keys) for finding, text in findings]
    worst, short = _page(drawn, few), _page([_shortened(lines, width) for lines in drawn], few)
    if len(worst) == len(drawn):
        return (_as_page(worst, 0),)
    is_cut = len(short) > len(worst)
    worst = short if is_cut else worst
    pages, left = [_as_page(worst, len(drawn) - len(worst))._replace(is_cut=is_cut)], drawn
    while left:
        page = _page(left, many)
        pages.append(_as_page(page, len(drawn) - len(page)))
        left = left[len(page) :]
    return tuple(pages)


def _shortened(lines: tuple[Pieces, ...], width: int) -> tuple[Pieces, ...]:
    """Return the first two lines of a finding, with an ellipsis if there are more."""
    if len(lines) <= _SHORT:
        return lines
    end = wrapped_from(lines[_SHORT - 1], width - cells(_ELLIPSIS), 3)[0]
    return (*lines[: _SHORT - 1], (*end, (_ELLIPSIS, end[-1][1])))


def _page(drawn: Sequence[tuple[Pieces, ...]], room: Room) -> Sequence[tuple[Pieces, ...]]:
    """Return the findings that fit, at least the first."""
    used = list(accumulate(len(lines) for lines in drawn[: room.findings]))
    return drawn[: max(sum(1 for lines in used if lines <= room.lines), 1)]


def _as_page(drawn: Sequence[tuple[Pieces, ...]], more: int) -> VerdictPage:
    return VerdictPage(tuple(line for lines in drawn for line in lines), more)


def _lines(finding: ClusterFinding, text: str, width: int, keys: int) -> tuple[Pieces, ...]:
    """Return the lines of one finding: the first ends with its cost and key."""
    mark, tone = MARKS[str(finding.severity)]
    is_quiet = str(finding.severity) == "info"
    money = money_text(finding)
    tail = f"{f'  {money}' if money else ''}  {finding.key:<{keys}}"
    text_tone = Tone.MUTED if is_quiet else Tone.NORMAL
    ((first, _),), *others = wrapped_from(((f"   {text}", text_tone),), width, 3, cells(tail))
    blanks = " " * (width - cells(first) - cells(tail))
    head = ((f" {mark} ", tone), (f"{first[3:]}{blanks}", text_tone), (tail, Tone.MUTED if is_quiet else tone))
    return (head, *others)


def verdict_values(findings: Iterable[ClusterFinding], now_ns: int, reasons: Reasons) -> list[dict[str, Any]]:
    """Return findings as `karptui verdict -o json` writes them."""
    return [
        {
            "severity": str(finding.severity),
            "code": str(finding.code),
            "text": sentence(finding, now_ns, reasons),
            "pricePerHour": finding.price_per_hour,
            "isUpperBound": finding.is_upper_bound,
            "savesInSeconds": finding.saves_in_seconds,
            "since": instant_value(finding.since_ns),
            "until": instant_value(finding.until_ns),
            "objects": list(finding.objects),
            "nodes": finding.nodes,
            "pods": finding.pods,
            "pendingPods": list(finding.pending.pods),
            "zones": list(finding.zones),
            "proof": {"screen": finding.screen, "key": finding.key},
        }
        for finding in findings
    ]
