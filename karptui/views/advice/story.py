"""A finding in sentences: the fact, what to do, why."""

from __future__ import annotations

from karptui.advice.report import AdviceReport
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import duration_text
from karptui.session.cluster_view import ClusterView
from karptui.views.advice.entry import MARKS, TONES, AdviceEntry, AdviceLine, counts_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.why.freshness import unready_line


def story_lines(line: AdviceLine) -> tuple[Pieces, ...]:
    """Return the row under the cursor in sentences."""
    if not isinstance(line, AdviceEntry):
        return (((f"{clean(line.name)}: ", Tone.STRONG), (counts_text(line.members), TONES[line.severity])),)
    return (
        ((f"{MARKS[line.severity]} ", TONES[line.severity]), (clean(line.finding.fact), Tone.NORMAL)),
        (("→ ", Tone.GOOD), (clean(line.finding.remedy), Tone.NORMAL)),
    )


def detail_lines(entry: AdviceEntry, *, can_try: bool, try_key: str = "ctrl+t") -> tuple[Pieces, ...]:
    """Return everything about a finding but its objects."""
    finding, rule = entry.finding, entry.rule
    tried = f"{try_key} {'tries it' if finding.edits else 'opens the objects'} in the what-if"
    lines: tuple[Pieces, ...] = (
        ((f"{MARKS[entry.severity]} {entry.severity}  ", TONES[entry.severity]), (rule.title, Tone.STRONG)),
        ((clean(finding.fact), Tone.NORMAL),),
        (),
        (("What to do  ", Tone.GOOD), (clean(finding.remedy), Tone.NORMAL)),
    )
    if can_try:
        lines = (*lines, ((f"{tried}.", Tone.MUTED),))
    return (
        *lines,
        (),
        (("Why  ", Tone.STRONG), (rule.why, Tone.NORMAL)),
        (("Source  ", Tone.MUTED), (rule.source, Tone.MUTED)),
        ((f"Rule {rule.id} · {rule.anchor}", Tone.MUTED),),
    )


def freshness(report: AdviceReport | None, view: ClusterView, now_ns: int) -> Pieces:
    """Return when the rules were asked, and which of them could not answer."""
    if report is None:
        problem = view.analysis.problem if view.analysis is not None else ""
        if problem:
            return ((f"the rules could not be asked: {clean(problem)}", Tone.FAULT),)
        return (unready_line(view, "the rules are being asked"),)
    age = max(now_ns - report.now_ns, 0) // NS_PER_SECOND
    asked = f"rules asked {f'{duration_text(age)} ago' if age else 'just now'}"
    if report.failures:
        return ((f"{asked}; {clean(report.failures[0])}", Tone.FAULT),)
    return ((asked, Tone.MUTED),)
