"""Table and text of tried remedies of blockers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from karptui.aws.money import node_price_text, per_hour_text
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import clock_text, count_text, counted, duration_text, verb
from karptui.session.blockers import BlockerGroup
from karptui.views.blockers.remedies import remedy_text
from karptui.views.blockers.sentences import UNKNOWN_END, nodes_cell, saves_cell, when_cell
from karptui.views.column import Column, Field, FieldKind, Heading, NumberHeading, Value, count_column, text_column
from karptui.views.row import COMPUTING, NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, BlockerRemedyKind
from karptui.whatif.remedies.blockers.trial import Trial, ranked

_KINDS: Final = [kind.name.lower() for kind in BlockerRemedyKind]
_HELD: Final = {"type": "object", "required": ["by", "nodes"], "properties": {"by": str, "nodes": int}}
_ORDER: Final = {kind: place for place, kind in enumerate(BlockerRemedyKind)}


class TriedRemedy(msgspec.Struct, frozen=True):
    """A remedy as a row, with its trial."""

    remedy: BlockerRemedy
    trial: Trial | None = None
    """None until it has been tried."""
    place: int = 0
    """Rank among the tried remedies, best first; before that in order of offering."""
    group: str = ""
    """Property that the blockers share, in tables with several groups."""
    group_place: int = 0
    """The place of the group among them."""
    text: str = ""
    """YAML and commands, if requested."""

    @property
    def helps(self) -> bool:
        """Whether it frees a node, or lets a pending pod preempt the pods that block one."""
        return self.trial is None or bool(self.trial.freed or self.trial.preempting)


def tried_remedies(offered: Sequence[BlockerRemedy], trials: Sequence[Trial]) -> tuple[TriedRemedy, ...]:
    """Return rows, best first, or in order of offering until they are tried."""
    if len(trials) != len(offered):
        return tuple(TriedRemedy(remedy, place=_ORDER[remedy.kind]) for remedy in offered)
    places = ranked(offered, trials)
    return tuple(TriedRemedy(offered[at], trials[at], place) for place, at in enumerate(places))


def tried_group(
    group: BlockerGroup, place: int, offered: Sequence[BlockerRemedy], trials: Sequence[Trial]
) -> tuple[TriedRemedy, ...]:
    """Return the tried remedies of a group, best first, with YAML and commands."""
    rows = sorted(tried_remedies(offered, trials), key=lambda row: row.place)
    text = {remedy.kind: remedy_text(remedy, group.members) for remedy in offered}
    return tuple(replace(row, group=group.title, group_place=place, text=text[row.remedy.kind]) for row in rows)


def trial_text(row: TriedRemedy) -> str:
    """Return the reason for a remedy's rank; the best one says that it is the best."""
    if row.trial is None:
        return ""
    why = clean(row.trial.why)
    is_best = row.place == 0 and row.trial.freed and not row.remedy.unready_newest
    return f"Best: {why[:1].lower()}{why[1:]}" if is_best else why


def _nodes(row: TriedRemedy) -> Cell:
    trial = row.trial
    if trial is None or trial.problem or not row.remedy.edits:
        return nodes_cell(row.remedy.effect)
    of = count_text(trial.nodes)
    return Cell(f"{count_text(len(trial.freed))} of {of}", Tone.GOOD if trial.freed else Tone.MUTED)


def _goes(row: TriedRemedy) -> int | None:
    if row.trial is not None:
        return len(row.trial.freed)
    return row.remedy.effect.goes if row.remedy.effect is not None else None


def _when(row: TriedRemedy) -> Cell:
    trial = row.trial
    if trial is None or not row.remedy.edits:
        return when_cell(row.remedy.effect, is_tried=trial is not None)
    if not trial.freed:
        return NOT_APPLICABLE
    wait = duration_text(trial.wait_seconds)
    if trial.is_forecast:
        return Cell(f"in {wait}", short=wait)
    if trial.wait_seconds:
        return Cell(f"after {wait}", short=f"> {wait}")
    return UNKNOWN_END if trial.is_waiting else NOT_AVAILABLE


def _saves(row: TriedRemedy) -> Cell:
    trial = row.trial
    if trial is None or not row.remedy.edits:
        return saves_cell(row.remedy.effect)
    if not trial.freed:
        return NOT_APPLICABLE
    if not trial.is_saving_known:
        return NOT_AVAILABLE
    bound = "up to " if trial.is_upper_bound else ""
    text = f"{node_price_text(trial.saves_per_hour)}{'+' if trial.unpriced else ''}"
    return Cell(f"{bound}{text}", Tone.STRONG, f"{'≤' if bound else ''}{text.lstrip('$¥')}")


def _saved(row: TriedRemedy) -> float | None:
    if row.trial is not None:
        return row.trial.saves_per_hour if row.trial.is_saving_known else None
    return row.remedy.effect.saves_per_hour if row.remedy.effect is not None else None


def _evicts(row: TriedRemedy) -> Cell:
    trial = row.trial
    if trial is None:
        return COMPUTING if row.remedy.edits or row.remedy.preempts else NOT_APPLICABLE
    if trial.preempting:
        return Cell(f"{count_text(trial.cut)} cut", Tone.FAULT)
    if not trial.freed:
        return NOT_APPLICABLE
    if trial.cut:
        return Cell(f"{count_text(trial.evictions)}, {count_text(trial.cut)} cut", Tone.FAULT)
    return Cell(count_text(trial.evictions))


def _held_values(row: TriedRemedy) -> list[dict[str, Any]]:
    held = row.trial.held if row.trial is not None else ()
    return [{"by": holder.text, "nodes": nodes} for holder, nodes in held]


def _of_trial(read: Callable[[Trial], Any]) -> Callable[[TriedRemedy, int], Any]:
    """Return a reader of a trial's value, null if the trial failed."""
    return lambda row, _: None if row.trial is None or row.trial.problem else read(row.trial)


def _score(row: TriedRemedy) -> Cell:
    trial = row.trial
    if trial is None or not trial.freed:
        return NOT_APPLICABLE
    if not trial.is_saving_known:
        return NOT_AVAILABLE
    tone = Tone.GOOD if row.place == 0 else Tone.NORMAL
    bound = "" if trial.is_time_known else "≤"
    return Cell(f"{bound}{trial.score:+,.2f}{'+' if trial.unpriced else ''}", tone)


COLUMNS: Final[tuple[Column[TriedRemedy], ...]] = (
    text_column(
        Heading(
            "group", "BLOCKERS", "Source of the blockers: a workload, a NodePool, or the nodes themselves.", 12, 40
        ),
        lambda row: row.group,
        sort=lambda row: (row.group_place, row.place),
        values=Value("group", lambda row, _: row.group, str, "Common property of the blockers."),
        filters=Field(FieldKind.TEXT, lambda row, _: row.group, "common property of the blockers"),
    ),
    text_column(
        Heading("remedy", "REMEDY", "The remedy; best first once all have been tried.", 28, 44),
        lambda row: row.remedy.title,
        tone=lambda _: Tone.STRONG,
        sort=lambda row: (row.group_place, row.place),
        values=(
            Value("remedy", lambda row, _: row.remedy.kind.name.lower(), {"enum": _KINDS}),
            Value("title", lambda row, _: row.remedy.title, str),
            Value("place", lambda row, _: row.place + 1, int, "Among the remedies of the group: 1 is the best."),
        ),
        filters=Field(FieldKind.TEXT, lambda row, _: row.remedy.title, "the remedy"),
    ),
    Column(
        Heading("nodes", "FREES", "Number of nodes that this remedy lets Karpenter remove (simulated).", 8),
        lambda row, _: _nodes(row),
        _goes,
        values=(
            Value("nodes", _of_trial(lambda trial: trial.nodes), int | None, "Blocked nodes."),
            Value(
                "freed_nodes",
                lambda row, _: list(row.trial.freed) if row.trial else [],
                list[str],
                "Nodes that are removed with it, and would stay without it.",
            ),
            Value(
                "still_held",
                lambda row, _: _held_values(row),
                {"type": "array", "items": _HELD},
                "Blockers that still stop the other nodes.",
                flat=lambda held: [f"{holder['nodes']} {holder['by']}" for holder in held],
            ),
        ),
    ),
    Column(
        Heading(
            "when",
            "WHEN",
            "When the last node is removed, by forecast if no other node is removed first (in 11m); otherwise when its"
            " pods' protection ends (after 62m), or the pods themselves; n/a if none is known.",
            8,
            24,
        ),
        lambda row, _: _when(row),
        lambda row: row.trial.wait_seconds if row.trial is not None and row.trial.is_time_known else None,
        values=(
            Value(
                "wait_seconds",
                _of_trial(lambda trial: trial.wait_seconds if trial.freed and trial.is_time_known else None),
                int | None,
                "Until the last node is removed (is_forecast), else until its pods' protection ends; null if unknown.",
            ),
            Value(
                "is_forecast",
                _of_trial(lambda trial: trial.is_forecast),
                bool | None,
                "Whether nodes, wait, dollars and evictions come from forecasts with and without it; other nodes stay.",
            ),
        ),
    ),
    Column(
        NumberHeading("saves", "SAVES", "Per hour, by the prices of the NodePools (simulated).", 7),
        lambda row, _: _saves(row),
        _saved,
        values=(
            Value(
                "saves_per_hour",
                _of_trial(lambda trial: trial.saves_per_hour if trial.is_saving_known else None),
                float | None,
                "Savings per hour once the nodes are removed; null if unknown.",
            ),
            Value(
                "is_upper_bound",
                _of_trial(lambda trial: trial.is_upper_bound),
                bool | None,
                "Whether saves_per_hour is an upper bound: several nodes, ignoring budgets and delays.",
            ),
            Value(
                "unpriced",
                _of_trial(lambda trial: trial.unpriced),
                int | None,
                "Nodes whose savings are unknown; the savings exclude them.",
            ),
        ),
        filters=Field(FieldKind.MONEY, lambda row, _: _saved(row), "dollars per hour"),
    ),
    Column(
        Heading("evicts", "EVICTS", "Pods moved from these nodes, and protected pods that are interrupted.", 9),
        lambda row, _: _evicts(row),
        lambda row: row.trial.evictions if row.trial is not None else None,
        values=(
            Value("evictions", _of_trial(lambda trial: trial.evictions), int | None, "Pods that are moved."),
            Value("cut_pods", _of_trial(lambda trial: trial.cut), int | None, "Protected pods that are interrupted."),
            Value("lost_pods", _of_trial(lambda t: t.lost), int | None, "Moved pods that no controller recreates."),
            Value("lost_seconds", _of_trial(lambda trial: trial.lost_seconds), int | None, "Work that is done again."),
            Value(
                "preempting_pods",
                _of_trial(lambda trial: trial.preempting),
                int | None,
                "Lower-priority pods that pending pods would preempt (approximate).",
            ),
        ),
    ),
    Column(
        NumberHeading(
            "score", "$/DAY", "Savings in the first day, starting after WHEN, minus the cost of repeated work.", 7
        ),
        lambda row, _: _score(row),
        lambda row: row.trial.score if row.trial is not None and row.trial.is_saving_known else None,
        values=(
            Value(
                "dollars_within_day",
                _of_trial(lambda trial: trial.score if trial.is_saving_known else None),
                float | None,
                "Savings in the first day, starting after WHEN, minus the cost of repeated work.",
            ),
            Value("drifts", _of_trial(lambda trial: trial.drifts), int | None, "NodeClaims that it drifts."),
        ),
    ),
    count_column(
        Heading("edits", "EDITS", "Edits of its what-if; - if there are none.", drop_order=5, is_right_aligned=True),
        lambda row: len(row.remedy.edits),
        values=Value("edits", lambda row, _: len(row.remedy.edits), int, "Edits to apply in the what-if."),
        filters={},
    ),
    text_column(
        Heading("risk", "RISK", "Risks.", 12, 60, drop_order=4),
        lambda row: row.trial.risk if row.trial is not None else "",
        tone=lambda _: Tone.MUTED,
        filters={},
        values=(
            Value("risk", lambda row, _: row.trial.risk if row.trial else "", str, "Risks."),
            Value("says", lambda row, _: trial_text(row), str, "The result of the trial, as a text."),
            Value("about", lambda row, _: row.remedy.sentence, str, "Its effect, and its limits."),
            Value(
                "problem",
                lambda row, _: (row.trial.problem or None) if row.trial else None,
                str | None,
                "Why it could not be tried.",
            ),
            Value("text", lambda row, _: row.text, str, "YAML and commands; karptui runs none of them."),
        ),
    ),
)
REPORT: Final[TableSpec[TriedRemedy]] = TableSpec(
    noun="remedies",
    columns=COLUMNS,
    text=lambda row: f"{row.remedy.title} {row.remedy.sentence}".lower(),
    key=lambda row: f"{row.group}/{row.remedy.kind.name}" if row.group else row.remedy.kind.name,
    default_sort=Sort("remedy"),
    is_notable=lambda row, _: bool(_goes(row)),
)
TABLE: Final = REPORT.without("group")
"""Remedies of one group, whose title is above the table."""


def later_text(row: TriedRemedy, now_ns: int) -> str:
    """Return the deadline and effect of a remedy that takes time, or an empty string if it helps at once."""
    trial = row.trial
    if trial is None or not trial.freed or not (trial.is_waiting or trial.is_forecast):
        return ""
    ends = clock_text(now_ns + trial.wait_seconds * NS_PER_SECOND)
    goes = f"{counted(len(trial.freed), 'node')} {verb(len(trial.freed), 'is', 'are')} removed"
    more = "+" if trial.unpriced else ""
    saved = f", which saves {per_hour_text(trial.saves_per_hour)}{more}" if trial.saves_per_hour > 0 else ""
    if trial.is_forecast:
        after = duration_text(trial.wait_seconds)
        return (
            f"Above is Karpenter's next command. If all other nodes stay, {goes} in {after} ({ends}){saved}."
            " F forecasts the whole cluster."
        )
    after = "Once the protected pods have ended"
    if trial.wait_seconds:
        after = f"Once their pods' protection has ended ({ends} at the latest)"
    return f"Above is the result now. {after}, {goes}{saved}. F shows the forecast."
