"""A finding in sentences, and what opens from it."""

from __future__ import annotations

from typing import Final

from karptui.advice.finding import Finding
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import duration_text
from karptui.session.advice import AdviceEntry, AdviceLine
from karptui.session.border import Overview
from karptui.session.facts import AdviceAround
from karptui.views.advice.columns import MARKS, TONES, counts_text
from karptui.views.freshness import unready_line
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.whatif.edits import AnyEdit, CordonNode, DeleteObject, ObjectRef, RemoveNode, SetField
from karptui.whatif.opening import NOTHING, Opening
from karptui.whatif.scenario import Replay


def finding_sentences(line: AdviceLine) -> tuple[Pieces, ...]:
    """Return the row under the cursor in sentences."""
    if not isinstance(line, AdviceEntry):
        return (((f"{clean(line.name)}: ", Tone.STRONG), (counts_text(line.severities), TONES[line.severity])),)
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


def freshness(report: AdviceAround | None, overview: Overview, now_ns: int) -> Pieces:
    """Return when the rules were asked, and which of them could not answer."""
    if report is None:
        problem = overview.analysed.problem if overview.analysed is not None else ""
        if problem:
            return ((f"the rules could not be asked: {clean(problem)}", Tone.FAULT),)
        return (unready_line(overview, "the rules are being asked"),)
    age = max(now_ns - report.now_ns, 0) // NS_PER_SECOND
    asked = f"rules asked {f'{duration_text(age)} ago' if age else 'just now'}"
    if report.failures:
        return ((f"{asked}; {clean(report.failures[0])}", Tone.FAULT),)
    return ((asked, Tone.MUTED),)


_DOCUMENTS: Final = frozenset(
    {"NodePool", "EC2NodeClass", "DaemonSet", "Deployment", "StatefulSet", "Job", "CronJob", "PodDisruptionBudget"}
)
_MOST_DOCUMENTS: Final = 3
_DISRUPTION: Final = "disruption"


PROPORTION_RULES: Final = frozenset({"pool-weight-order"})
"""Rules about NodePools whose weights look like shares: for them the proportion that is meant is asked for."""


def pools_to_share(finding: Finding) -> tuple[str, ...]:
    """Return the NodePools whose proportion is asked for before the what-if; nothing for other findings."""
    if finding.rule not in PROPORTION_RULES:
        return ()
    return tuple(ref.name for ref in finding.objects if ref.kind == "NodePool")


def opening_of(finding: Finding) -> Opening:
    """Return the objects of a finding as documents, and what the remedy would change."""
    documents = [ref for ref in finding.objects if ref.kind in _DOCUMENTS][:_MOST_DOCUMENTS]
    documents += [ref for ref in map(_object_of, finding.edits) if ref is not None and ref not in documents]
    if not documents and not finding.edits:
        return NOTHING
    return Opening(
        finding.rule,
        tuple(dict.fromkeys(documents)),
        finding.edits,
        _replay(finding),
        is_new=bool(finding.edits),
    )


def _object_of(edit: AnyEdit) -> ObjectRef | None:
    return edit.object if isinstance(edit, (SetField, DeleteObject)) else None


def _replay(finding: Finding) -> Replay:
    """Return what shows the effect: the next disruption for what holds nodes, else the pods that wait."""
    for edit in finding.edits:
        if isinstance(edit, (CordonNode, RemoveNode)):
            return Replay.NEXT
        if isinstance(edit, SetField) and (_DISRUPTION in edit.path or edit.object.kind == "PodDisruptionBudget"):
            return Replay.NEXT
    if finding.rule.startswith(("pool-weight", "setting-overhead", "pod-preferences", "pool-daemonset")):
        return Replay.SCRATCH
    return Replay.NEXT if finding.rule.startswith(("budget", "pdb", "node-", "pod-several")) else Replay.PENDING
