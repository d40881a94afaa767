"""What happens in plays, a row for each command, launch and expiry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from karptui.aws.money import node_price_text
from karptui.forward.result import Moment, Step, StepKind
from karptui.kube.units import clock_text, count_text, first_of
from karptui.session.answers import Forecast
from karptui.views.column import Column, Field, FieldKind, Heading
from karptui.views.forward.sentences import AS_IT_IS, MAX_NAMES, SHOWN, claims_text
from karptui.views.prices import known_text
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone, text_cell
from karptui.views.sanitize import short_name
from karptui.views.table import Sort, TableSpec
from karptui.views.why.lanes import short_method


class PlayedStep(msgspec.Struct, frozen=True):
    """A step as a row."""

    place: int
    """Among all rows."""
    scenario: str
    """Whose play it is of; empty for the cluster as it is."""
    step: Step
    moment: Moment
    """The cluster at its instant: what goes is still there, and what comes is not yet."""

    @property
    def key(self) -> str:
        """What the row is known by."""
        return f"{self.scenario}/{self.place}"


def played_steps(plays: Sequence[Forecast]) -> tuple[PlayedStep, ...]:
    """Return the rows of plays."""
    found: list[PlayedStep] = []
    for play in plays:
        if play.played is not None:
            for step in play.played.steps:
                if step.kind in SHOWN:
                    found.append(PlayedStep(len(found), play.name, step, play.played.moment_at(step.at_ns)))
    return tuple(found)


_WORDS: Final = {StepKind.PROVISION: "launch", StepKind.EXPIRE: "expire", StepKind.REJECT: "give up"}


def does_text(step: Step) -> str:
    """Return what is done, in a word or two."""
    return _WORDS.get(step.kind) or step.decision


def _does(row: PlayedStep) -> Cell:
    tones = {StepKind.PROVISION: Tone.ACTIVE, StepKind.REJECT: Tone.MUTED}
    return Cell(does_text(row.step), tones.get(row.step.kind, Tone.LEAVING))


def _why(row: PlayedStep) -> Cell:
    if row.step.kind is StepKind.PROVISION:
        return Cell("pods wait" if row.step.pods else "replicas")
    return text_cell(short_method(row.step.method) or "age")


def _saves(row: PlayedStep) -> Cell:
    saved = row.step.savings_per_hour
    if saved is None and row.step.kind is StepKind.DISRUPT:
        return NOT_AVAILABLE
    return Cell(node_price_text(saved), Tone.STRONG) if saved else NOT_APPLICABLE


def _count(count: int) -> Cell:
    return Cell(count_text(count)) if count else NOT_APPLICABLE


def _text(row: PlayedStep) -> str:
    step = row.step
    return " ".join((row.scenario, step.method, does_text(step), *step.nodes, *step.pods)).lower()


TABLE: Final[TableSpec[PlayedStep]] = TableSpec(
    "steps",
    (
        Column(
            Heading("time", "TIME", "When, in UTC.", 9, 9),
            lambda row, _: Cell(clock_text(row.step.at_ns)),
            lambda row: (row.step.at_ns, row.place),
        ),
        Column(
            Heading("scenario", "OF", "Whose play it is: the cluster as it is, or a scenario.", 8, 20, drop_order=1),
            lambda row, _: text_cell(row.scenario or AS_IT_IS),
            lambda row: (row.scenario, row.place),
            filters={"scenario": Field(FieldKind.TEXT, lambda row, _: row.scenario or AS_IT_IS, help="whose play")},
        ),
        Column(
            Heading("does", "DOES", "What Karpenter does, or gives up.", 7, 15),
            lambda row, _: _does(row),
            lambda row: does_text(row.step),
            filters={"does": Field(FieldKind.TEXT, lambda row, _: does_text(row.step), help="what is done")},
        ),
        Column(
            Heading("why", "WHY", "The method of disruption; pods that wait; a node's age.", 8, 12, drop_order=3),
            lambda row, _: _why(row),
            lambda row: row.step.method,
            filters={"why": Field(FieldKind.TEXT, lambda row, _: _why(row).text, help="the method, or what else")},
        ),
        Column(
            Heading("nodes", "NODES", "The nodes that go.", 14, 52, is_name=True),
            lambda row, _: text_cell(first_of([short_name(name) for name in row.step.nodes], MAX_NAMES)),
            lambda row: row.step.nodes,
        ),
        Column(
            Heading(
                "by", "COMES", "What is launched: NodePool, types it may have, the least price.", 14, 44, drop_order=2
            ),
            lambda row, _: text_cell(claims_text(row.step), short=claims_text(row.step, is_short=True)),
            lambda row: len(row.step.claims),
        ),
        Column(
            Heading(
                "saves",
                "SAVES",
                "Per hour, as Karpenter reckons.",
                8,
                12,
                is_right_aligned=True,
                is_descending_first=True,
            ),
            lambda row, _: _saves(row),
            lambda row: row.step.savings_per_hour,
        ),
        Column(
            Heading("evicts", "EVICTS", "Pods that move.", 6, 8, is_right_aligned=True, is_descending_first=True),
            lambda row, _: _count(row.step.evictions),
            lambda row: row.step.evictions,
            filters={"evicts": Field(FieldKind.COUNT, lambda row, _: row.step.evictions, help="pods that move")},
        ),
        Column(
            Heading(
                "then",
                "AS IT BEGINS",
                "Nodes and $/h right then: what goes is still among them, and what comes is not.",
                14,
                22,
                drop_order=4,
                is_right_aligned=True,
            ),
            lambda row, _: Cell(f"{count_text(row.moment.nodes)}, {known_text(row.moment)}"),
            lambda row: row.moment.price_per_hour,
        ),
    ),
    key=lambda row: row.key,
    default_sort=Sort("time"),
    text=_text,
)
