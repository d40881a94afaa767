"""The full result of a scenario as lines, most important first, and its accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from karptui.aws.money import saved_text
from karptui.disruption.codes import CODES, Code
from karptui.kube.group import group_by
from karptui.kube.units import count_text, counted, first_of
from karptui.views.prices import without_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import short_name
from karptui.views.whatif.placements import (
    MOST_NAMES,
    Detail,
    ResultLine,
    Target,
    claim_lines,
    fit_lines,
    heading,
    listed,
    move_lines,
    node_lines,
    still_pending_lines,
)
from karptui.views.whatif.sentences import headline_text, replacements_text
from karptui.views.whatif.totals import pool_lines, totals_lines
from karptui.views.wrapping import wrapped_below
from karptui.whatif.accuracy import Accuracy
from karptui.whatif.difference import BlockerLine, Difference
from karptui.whatif.difference_lines import CommandLine, DriftLine, NextLines
from karptui.whatif.run import Answer

MAX_LINES: Final = 20
"""Lines of a section in plain text."""
_OWN_DOMAIN: Final = "karpenter.k8s.aws/"
"""Prefix left out of rows, because most requirements share it."""


def _drift_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return the NodeClaims that would drift, or would no longer, by cause."""
    lines: list[ResultLine] = []
    if difference.drift_gained:
        count = counted(len(difference.drift_gained), "NodeClaim")
        lines.append(
            heading("drift", f"Would drift: {count}", "Karpenter replaces them as budgets allow", Tone.WARNING)
        )
        lines += [_drift_line(alike, "gained") for alike in group_by(difference.drift_gained, _cause).values()]
    if difference.drift_lost:
        count = counted(len(difference.drift_lost), "NodeClaim")
        lines.append(heading("drift-lost", f"No longer drifted: {count}", tone=Tone.GOOD))
        lines += [_drift_line(alike, "lost") for alike in group_by(difference.drift_lost, _cause).values()]
    return tuple(lines)


def _cause(line: DriftLine) -> tuple[str, str, str]:
    return line.pool_name, line.reason, line.because


def _drift_line(alike: Sequence[DriftLine], section: str) -> ResultLine:
    line = alike[0]
    return ResultLine(
        f"drift-{section}/{line.pool_name}/{line.reason}/{line.because}",
        (
            ("  ⟳ ", Tone.WARNING if section == "gained" else Tone.GOOD),
            (f"{count_text(len(alike))} of {line.pool_name}", Tone.STRONG),
            (f"  {line.because.replace(_OWN_DOMAIN, '')}", Tone.NORMAL),
            (f"  {line.reason}", Tone.MUTED),
        ),
        details=tuple(
            Detail(
                ((f"      {claim.claim_name}  {short_name(claim.node_name)}", Tone.NORMAL),),
                Target("NodeClaim", claim.claim_name),
            )
            for claim in alike
        ),
        target=Target("NodePool", line.pool_name),
    )


def blocker_lines(gained: Sequence[BlockerLine], lost: Sequence[BlockerLine]) -> tuple[ResultLine, ...]:
    """Return gained and lost blockers, by kind and object."""
    lines: list[ResultLine] = []
    if gained:
        lines.append(heading("blockers", f"Blockers added: {count_text(len(gained))}", tone=Tone.WARNING))
        lines += [_blocker_line(alike, "gained") for alike in group_by(gained, _whose).values()]
    if lost:
        lines.append(heading("blockers-lost", f"Blockers removed: {count_text(len(lost))}", tone=Tone.GOOD))
        lines += [_blocker_line(alike, "lost") for alike in group_by(lost, _whose).values()]
    return tuple(lines)


def _whose(blocker: BlockerLine) -> tuple[str, str, str]:
    return blocker.code, blocker.pool_name, blocker.owner


def _blocker_line(alike: Sequence[BlockerLine], section: str) -> ResultLine:
    line = alike[0]
    nodes = sorted({blocker.node_name for blocker in alike if blocker.node_name})
    where = f" on {counted(len(nodes), 'node')}" if nodes else ""
    behind = f"  {line.owner or line.message}"
    return ResultLine(
        f"blockers-{section}/{line.code}/{line.pool_name}/{line.owner}",
        (
            ("  + " if section == "gained" else "  − ", Tone.WARNING if section == "gained" else Tone.GOOD),
            (CODES[Code(line.code)].word, Tone.STRONG),
            (f"{where} of {line.pool_name}" if line.pool_name else where, Tone.NORMAL),
            (behind, Tone.MUTED),
        ),
        details=tuple(
            Detail(
                ((f"      {short_name(b.node_name)}  {b.message}", Tone.NORMAL),),
                Target("Node", b.node_name) if b.node_name else None,
            )
            for b in alike
        ),
        target=Target("Node", line.node_name) if line.node_name else None,
    )


def _budget_lines(difference: Difference) -> tuple[ResultLine, ...]:
    if not difference.budgets:
        return ()
    return (
        heading("budgets", "Disruption budgets"),
        *(
            ResultLine(
                f"budget/{budget.pool_name}/{budget.reason}",
                (
                    (f"    {budget.pool_name} {budget.reason}", Tone.STRONG),
                    (f"  {_limit(budget.allowed_before)} → {_limit(budget.allowed_after)} nodes", Tone.NORMAL),
                    (f"  left now {_limit(budget.left_before)} → {_limit(budget.left_after)}", Tone.MUTED),
                ),
                target=Target("NodePool", budget.pool_name),
            )
            for budget in difference.budgets
        ),
    )


def _limit(count: int | None) -> str:
    return "no limit" if count is None else count_text(count)


def next_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return the next disruption of both sides."""
    if difference.next_before is None or difference.next_after is None:
        return ()
    if difference.next_before == difference.next_after:
        return _side_lines("next-after", "Karpenter's next command, now and edited", difference.next_after)
    return (
        *_side_lines("next-after", "Karpenter's next command, edited", difference.next_after),
        *_side_lines("next-before", "In the current cluster", difference.next_before),
    )


def _side_lines(key: str, title: str, side: NextLines) -> tuple[ResultLine, ...]:
    savings = [command.savings_per_hour for command in side.commands if command.savings_per_hour is not None]
    if savings:
        note = saved_text(sum(savings), is_whole=len(savings) == len(side.commands))
    else:
        note = counted(len(side.commands), "command") if side.commands else side.because or "nothing to do"
    return (heading(key, title, note), *(_command_line(key, command) for command in side.commands))


def _command_line(key: str, line: CommandLine) -> ResultLine:
    new = replacements_text(line.replacements)
    replaced_by = f" → {new}" if new else ""
    details = listed(line.nodes, "Node")
    saved = line.savings_per_hour
    saves = () if saved is None else ((f"  {saved_text(saved)}", Tone.GOOD if saved > 0 else Tone.MUTED),)
    return ResultLine(
        f"{key}/{line.method}/{line.nodes[0] if line.nodes else ''}",
        (
            (f"    {line.method}: ", Tone.MUTED),
            (f"{line.decision} {first_of(line.nodes, MOST_NAMES)}{replaced_by}", Tone.NORMAL),
            *saves,
        ),
        details=details,
        target=Target("Node", line.nodes[0]) if line.nodes else None,
    )


def price_note(answer: Answer) -> str:
    """Return the note about prices."""
    return "" if answer.has_prices else "prices are off"


def trust_line(answer: Answer) -> tuple[ResultLine, ...]:
    """Return the accuracy of an answer, as a line that opens."""
    accuracy = answer.accuracy
    if accuracy is None:
        return ()
    groups = (
        ("exact:", Tone.GOOD, accuracy.exact),
        ("approximated:", Tone.WARNING, accuracy.approximated),
        ("not modelled:", Tone.WARNING, accuracy.not_modelled),
    )
    details = tuple(
        Detail(((f"      {word} ", tone), (sentence, Tone.NORMAL)))
        for word, tone, sentences in groups
        for sentence in sentences
    )
    return (ResultLine("trust", (("  ", Tone.MUTED), *_trust(accuracy)), details, has_gap=True),)


def _trust(accuracy: Accuracy) -> Pieces:
    parts = [
        *([counted(len(accuracy.approximated), "approximation")] if accuracy.approximated else ()),
        *([f"{counted(len(accuracy.not_modelled), 'rule')} not modelled"] if accuracy.not_modelled else ()),
    ]
    but = f", except {' and '.join(parts)}" if parts else ""
    return (
        ("Exact", Tone.GOOD),
        (but, Tone.NORMAL),
        (f" · {version_text(accuracy)}" if accuracy.is_other_version or accuracy.edited_version else "", Tone.WARNING),
    )


def _note_lines(answer: Answer) -> tuple[ResultLine, ...]:
    if not answer.notes:
        return ()
    lines = [
        ResultLine(f"notes/{number}", (("  ", Tone.NORMAL), (sentence, Tone.NORMAL)), wraps=True)
        for number, sentence in enumerate(answer.notes)
    ]
    return (heading("notes", "What the edits affect"), *lines)


def version_text(accuracy: Accuracy) -> str:
    """Return the modelled and the running version."""
    model = f"model {accuracy.modelled_version}"
    if accuracy.edited_version:
        return f"{model}, edited {accuracy.edited_version}"
    if not accuracy.found_version:
        return model
    if accuracy.is_other_version:
        return f"{model} ≠ cluster {accuracy.found_version}: decisions may differ"
    return f"{model} = cluster {accuracy.found_version}"


def answer_lines(answer: Answer) -> tuple[ResultLine, ...]:
    """Return everything below the figures: NodePools, accuracy, then differences."""
    difference = answer.difference
    if difference is None:
        return ()
    blockers = blocker_lines(answer.blockers_gained or (), answer.blockers_lost or ())
    return (*pool_lines(difference), *trust_line(answer), *result_lines(difference, blockers), *_note_lines(answer))


def result_lines(difference: Difference, blockers: tuple[ResultLine, ...] = ()) -> tuple[ResultLine, ...]:
    """Return the differences, most important first, then the unchanged parts."""
    return (
        *fit_lines(difference),
        *next_lines(difference),
        *_drift_lines(difference),
        *blockers,
        *claim_lines(difference),
        *move_lines(difference),
        *_budget_lines(difference),
        *still_pending_lines(difference),
        *node_lines(difference),
    )


def opened(lines: tuple[ResultLine, ...], keys: frozenset[str], width: int) -> tuple[ResultLine, ...]:
    """Return the lines with those of `keys` opened."""
    shown: list[ResultLine] = []
    for line in lines:
        if line.wraps:
            rows = wrapped_below(line.pieces, width)
            shown += [ResultLine(f"{line.key}#{number}", row, target=line.target) for number, row in enumerate(rows)]
            continue
        shown.append(line)
        if line.key in keys:
            details = [(row, detail.target) for detail in line.details for row in wrapped_below(detail.pieces, width)]
            shown += [
                ResultLine(f"{line.key}#{number}", row, target=target or line.target)
                for number, (row, target) in enumerate(details)
            ]
    return tuple(shown)


def text_lines(answer: Answer, refused: Sequence[str] = ()) -> Iterator[str]:
    """Yield an answer as plain text: the sentence, the figures, then the screen's lines without their details."""
    difference, accuracy = answer.difference, answer.accuracy
    assert difference is not None
    assert accuracy is not None
    yield from (f"{sentence}; the result below assumes that it accepts the edit" for sentence in refused)
    yield headline_text(answer)
    yield from map(_text, totals_lines(difference, price_note(answer)))
    without = without_text(difference.not_counted)
    yield from ([f"nodes and $/h: {without}"] if without else [])
    blockers = blocker_lines(answer.blockers_gained or (), answer.blockers_lost or ())
    for section in _sections((*pool_lines(difference), *result_lines(difference, blockers))):
        yield ""
        yield from (_text(line.pieces) for line in section[:MAX_LINES])
        if len(section) > MAX_LINES:
            yield f"    and {len(section) - MAX_LINES} more: -o json has all"
    yield ""
    groups = (("note", answer.notes), ("approximated", accuracy.approximated), ("not modelled", accuracy.not_modelled))
    yield from (f"{title}: {sentence}" for title, sentences in groups for sentence in sentences)


def _sections(lines: Iterable[ResultLine]) -> list[list[ResultLine]]:
    sections: list[list[ResultLine]] = []
    for line in lines:
        if line.is_heading or not sections:
            sections.append([])
        sections[-1].append(line)
    return sections


def _text(pieces: Pieces) -> str:
    return "".join(text for text, _ in pieces).rstrip()
