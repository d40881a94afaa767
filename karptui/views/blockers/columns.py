"""The table of blockers: its columns, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from karptui.disruption.codes import Blocker, WhyCode
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, count_text, counted, duration_text
from karptui.session.blockers import BlockerEntry, BlockerGroup, BlockerLine
from karptui.views.blockers.sentences import BOUNDED
from karptui.views.column import NOTHING as NO_WORDS
from karptui.views.column import (
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    SortKey,
    Words,
    cell_words,
)
from karptui.views.prices import money_cell
from karptui.views.row import COMPUTING, NOT_APPLICABLE, NOT_AVAILABLE, ZERO, Cell, Tone, text_cell
from karptui.views.sanitize import clean, short_name
from karptui.views.table import Sort, TableSpec
from karptui.views.why.labels import LABELS
from karptui.views.why.sentences import held_text

NOTHING: Final = Cell("")
OBJECT_WIDTH: Final = 14
"""Minimum width of OBJECT in cells."""
_BLOCKED_CLUSTER: Final = Cell("blocked (cluster)", LABELS[WhyCode.WAITS].tone, "blocked")
_IF_REMOVED: Final[Mapping[str, Cell]] = {
    "delete": Cell("node freed", Tone.GOOD, "freed"),
    "replace": Cell("node replaced", Tone.GOOD, "replaced"),
    "no": Cell("node stays", Tone.MUTED, "stays"),
    "unknown": Cell("unknown", Tone.MUTED),
}


def _kind_cell(line: BlockerLine, _: int) -> Cell:
    if isinstance(line, BlockerGroup):
        mark = "▸" if line.is_folded else "▾"
        if line.is_idle:
            return Cell(f"  {mark} not blocking anything", Tone.MUTED)
        return Cell(f"{mark} {clean(line.title)}", Tone.MUTED if line.is_only_idle else Tone.STRONG)
    tone = Tone.MUTED if line.is_passing or line.is_idle else Tone.WARNING
    return Cell(f"  {line.kind}", tone)


_NOUNS: Final = {"Pod": "pod", "Node": "node"}


def _group_object(group: BlockerGroup) -> Cell:
    """Return the number of blocking objects of a group, and their kind."""
    objects = group.objects
    kinds = {entry.blocker.object_kind for entry in group.counted}
    noun = f"{_NOUNS.get(kind := kinds.pop(), kind)}{'s' if objects > 1 else ''}" if len(kinds) == 1 else "objects"
    text = f"{count_text(objects)} {noun or 'things'}"
    words = tuple(dict.fromkeys(entry.kind for entry in group.counted))
    more = f" +{len(words) - 1}" if len(words) > 1 else ""
    tone = Tone.MUTED if group.is_only_idle else Tone.NORMAL
    return Cell(f"{text} {words[0]}{more}" if words else text, tone, short=text)


def _group_owner(group: BlockerGroup) -> Cell:
    """Return the controller behind the pods, or how many there are."""
    if not group.owners:
        return NOTHING
    kinds = {owner.partition("/")[0] for owner in group.owners}
    kind = kinds.pop() if len(kinds) == 1 else "owner"
    many = len(group.owners)
    if many > 1:
        return Cell(f"{count_text(many)} {clean(kind)}s", Tone.MUTED)
    is_title = group.owners[0].partition("/")[2] == group.title
    return Cell(clean(group.owners[0]), Tone.MUTED, clean(kind) if is_title else "")


def _value_cell(text: str, tone: Tone = Tone.NORMAL) -> Cell:
    """Return the value, without the words that repeat the kind: ``2, Drifted``, ``ledger``."""
    short = " ".join(word.rpartition("/")[2] for word in text.split(" "))
    if text.startswith("nodes "):
        short = text.removeprefix("nodes ").replace("reasons ", "")
    return text_cell(text, tone, short=short)


def _group_without(group: BlockerGroup) -> Cell:
    """Return the number of nodes freed, each simulated alone, if the group's blockers were removed."""
    trial = group.without
    if group.is_only_idle:
        return NOTHING
    if not trial.nodes:
        return NOT_APPLICABLE
    if not trial.simulated:
        return Cell("unknown", Tone.MUTED) if trial.unknown == trial.nodes else COMPUTING
    if trial.waits and not trial.goes:
        return _BLOCKED_CLUSTER
    more = "+" if trial.simulated < trial.nodes else ""
    count = trial.goes + trial.waits
    if not count:
        return Cell(f"none freed{more}", Tone.MUTED, f"none{more}")
    if trial.nodes == 1:
        return _IF_REMOVED["delete"]
    text = f"{count_text(count)}{more} of {count_text(trial.nodes)}"
    return Cell(f"{text} freed", Tone.GOOD if trial.goes else Tone.NORMAL, text)


def _left_cell(entry: BlockerEntry, now_ns: int) -> Cell:
    """Return the time until the blocker ends automatically."""
    until = entry.blocker.until_ns
    if until is None:
        return NOT_APPLICABLE
    left = (until - now_ns) // NS_PER_SECOND
    return Cell(duration_text(left)) if left > 0 else Cell("over", Tone.MUTED)


def _own_since(entry: BlockerEntry, now_ns: int) -> Cell:
    return Cell(age_text(entry.blocker.since_ns, now_ns)) if entry.blocker.since_ns else NOT_AVAILABLE


def _group_nodes(group: BlockerGroup) -> Cell:
    """Return the number of nodes of a group, or a note that no method wants them."""
    nodes = counted(len(group.nodes), "node")
    if group.is_only_idle and group.nodes:
        return Cell(f"{nodes}, not blocked", Tone.MUTED, short=nodes)
    return Cell(nodes if group.nodes else "", Tone.MUTED)


def _group_value(group: BlockerGroup) -> Cell:
    values = {entry.blocker.value for entry in group.counted}
    return _value_cell(values.pop(), Tone.MUTED) if len(values) == 1 else NOTHING


def _group_since(group: BlockerGroup, now_ns: int) -> Cell:
    starts_ns = [entry.blocker.since_ns for entry in group.counted if entry.blocker.since_ns]
    return Cell(age_text(min(starts_ns), now_ns), Tone.MUTED) if starts_ns and not group.is_idle else NOTHING


def _since_cell(line: BlockerLine, now_ns: int) -> Cell:
    return _group_since(line, now_ns) if isinstance(line, BlockerGroup) else _own_since(line, now_ns)


def held_cell(entry: BlockerEntry, _: int) -> Cell:
    """Return the savings if the node were not blocked."""
    if entry.is_idle:
        return NOT_APPLICABLE
    held = entry.held
    if held is None:
        waiting = entry.findings is not None and entry.findings.outlook is None
        return COMPUTING if waiting else NOT_AVAILABLE
    price = entry.node.price if entry.node is not None else None
    currency = price.currency if price is not None else "USD"
    return money_cell(held, currency, Tone.NORMAL) if held else ZERO


def _group_held(group: BlockerGroup) -> Cell:
    """Return the held cost of a group's nodes, each counted once, dim until complete."""
    if group.is_only_idle:
        return NOT_APPLICABLE
    tone = Tone.STRONG if group.held.per_hour and not group.held.waiting else Tone.MUTED
    return Cell(held_text(group.held, unit=""), tone, held_text(group.held, is_short=True))


def _without_cell(entry: BlockerEntry, _: int) -> Cell:
    """Return whether the node is freed if this blocker is removed, or which other blockers it has."""
    if entry.findings is None or entry.is_idle:
        return NOT_APPLICABLE
    outcome = entry.without
    if not outcome:
        return COMPUTING
    if outcome == "no" and entry.lifted in ("delete", "replace"):
        others = entry.others
        if not others:
            return _BLOCKED_CLUSTER
        more = others[0].word if len(others) == 1 else f"{count_text(len(others))} more"
        return Cell(f"also blocked by {more}", Tone.NORMAL, f"also {more}")
    return _IF_REMOVED[outcome]


def recent_pods(members: Iterable[BlockerEntry]) -> int:
    """Return the number of pods scheduled to blocked nodes in the last hour, each node counted once."""
    return sum({member.findings.key: member.recent_pods for member in members if member.findings is not None}.values())


def _recent(count: int) -> Cell:
    return Cell(f"{count_text(count)}/h", Tone.WARNING, count_text(count)) if count else ZERO


def _words(cell: Cell, before: str) -> tuple[str, Tone]:
    return NO_WORDS if cell in (NOTHING, NOT_AVAILABLE) else (cell_words(cell, before)[0], Tone.NORMAL)


def _since_words(line: BlockerLine, now_ns: int) -> tuple[str, Tone]:
    is_many = isinstance(line, BlockerGroup) and len(line.members) > 1
    return _words(_since_cell(line, now_ns), "blocking for up to " if is_many else "blocking for ")


def _left_words(line: BlockerLine, now_ns: int) -> tuple[str, Tone]:
    """Return the time a blocker ends as text, for kinds that end."""
    if isinstance(line, BlockerGroup) or line.blocker.code not in BOUNDED or line.blocker.until_ns is None:
        return NO_WORDS
    return ("is over", Tone.NORMAL) if line.blocker.until_ns <= now_ns else _words(_left_cell(line, now_ns), "ends in ")


def _text_words(
    before: str, read: Callable[[Blocker], str], of_group: Callable[[BlockerGroup], Cell]
) -> Callable[[BlockerLine, int], tuple[str, Tone]]:
    cell = _on_blockers(lambda entry, _: text_cell(read(entry.blocker)), of_group)
    return lambda line, now_ns: _words(cell(line, now_ns), before)


def _recent_words(line: BlockerLine, _: int) -> tuple[str, Tone]:
    """Return the number of new pods as text, if no other line shows it."""
    members: Sequence[BlockerEntry] = line.counted if isinstance(line, BlockerGroup) else (line,)
    count = recent_pods(members)
    if not count or any(member.blocker.code in BOUNDED for member in members):
        return NO_WORDS
    return f"{counted(count, 'pod')} started in the last hour", Tone.WARNING


def _on_blockers(
    read: Callable[[BlockerEntry, int], Cell], of_group: Callable[[BlockerGroup], Cell] = lambda _: NOTHING
) -> Callable[[BlockerLine, int], Cell]:
    return lambda line, now_ns: of_group(line) if isinstance(line, BlockerGroup) else read(line, now_ns)


def _sort(read: Callable[[BlockerEntry], SortKey]) -> Callable[[BlockerLine], SortKey]:
    return lambda line: None if isinstance(line, BlockerGroup) else read(line)


def _text_field(read: Callable[[BlockerEntry], str], help_: str) -> Field[BlockerLine]:
    return Field(FieldKind.TEXT, lambda line, _: "" if isinstance(line, BlockerGroup) else read(line), help_)


def _seconds(read: Callable[[BlockerEntry, int], int | None]) -> Callable[[BlockerLine, int], float | None]:
    def value(line: BlockerLine, now_ns: int) -> float | None:
        span = None if isinstance(line, BlockerGroup) else read(line, now_ns)
        return None if span is None else span / NS_PER_SECOND

    return value


COLUMNS: Final[tuple[Column[BlockerLine], ...]] = (
    Column(
        Heading("kind", "GROUP · KIND", "The group, or the node's blocker: see the codes below.", 16, 34),
        _kind_cell,
        _sort(lambda entry: entry.kind),
        filters=_text_field(lambda entry: entry.kind, "do-not-disrupt, PDB, budget…"),
    ),
    Column(
        Heading(
            "object",
            "OBJECT",
            "The pod, node or NodePool that blocks; for a group, their number and the kind of the first.",
            min_width=OBJECT_WIDTH,
            max_width=46,
            is_name=True,
        ),
        _on_blockers(
            lambda entry, _: text_cell(entry.object_name, short=entry.object_name.rpartition("/")[2]), _group_object
        ),
        _sort(lambda entry: entry.object_name),
        filters={
            "object": _text_field(lambda entry: entry.object_name, "pod, node or NodePool"),
            "ns": _text_field(lambda entry: entry.namespace, "namespace of the pod"),
        },
    ),
    Column(
        Heading("node", "NODE", "The blocked node; for a group, the number of nodes.", 12, 44, is_name=True),
        _on_blockers(
            lambda entry, _: text_cell(entry.blocker.node_name, short=short_name(entry.blocker.node_name)), _group_nodes
        ),
        _sort(lambda entry: entry.blocker.node_name),
        filters={
            "node": _text_field(lambda entry: entry.blocker.node_name, "node"),
            "pool": _text_field(lambda entry: entry.blocker.pool_name, "NodePool"),
        },
    ),
    Column(
        Heading("owner", "OWNER", "The controller behind the pod.", max_width=36, drop_order=6),
        _on_blockers(
            lambda entry, _: text_cell(entry.blocker.owner, short=entry.blocker.owner.rpartition("/")[2]), _group_owner
        ),
        _sort(lambda entry: entry.blocker.owner or None),
        filters=_text_field(lambda entry: entry.owner, "owner: Job/gitlab/runner, Deployment/web/front"),
        words=Words(3, _text_words("owned by ", lambda blocker: blocker.owner, _group_owner)),
    ),
    Column(
        Heading("value", "VALUE", "The annotation, budget or PodDisruptionBudget.", 5, 64, drop_order=5),
        _on_blockers(lambda entry, _: _value_cell(entry.blocker.value), _group_value),
        _sort(lambda entry: entry.blocker.value or None),
        filters=_text_field(lambda entry: entry.blocker.value, "annotation, budget or PodDisruptionBudget"),
        words=Words(4, _text_words("value ", lambda blocker: blocker.value, _group_value)),
    ),
    Column(
        Heading(
            "left", "LEFT", "Until it ends automatically; - if it never does.", is_right_aligned=True, drop_order=3
        ),
        _on_blockers(_left_cell),
        _sort(lambda entry: entry.blocker.until_ns),
        words=Words(2, _left_words),
    ),
    Column(
        Heading(
            "since",
            "SINCE",
            "How long it has been blocking; for a group, the longest.",
            5,
            is_right_aligned=True,
            drop_order=2,
        ),
        _since_cell,
        _sort(lambda entry: -entry.blocker.since_ns if entry.blocker.since_ns else None),
        filters=Field(
            FieldKind.DURATION,
            _seconds(lambda entry, now_ns: now_ns - entry.blocker.since_ns if entry.blocker.since_ns else None),
            "for how long",
        ),
        words=Words(1, _since_words),
    ),
    Column(
        NumberHeading(
            "held",
            "$/H HELD",
            "Savings per hour without its blockers (simulated), for a group in total; ≤ marks an upper bound;"
            " -: no method wants it.",
            min_width=8,
        ),
        _on_blockers(held_cell, _group_held),
        _sort(lambda entry: entry.held),
        filters=Field(
            FieldKind.MONEY,
            lambda line, _: None if isinstance(line, BlockerGroup) else line.held,
            "dollars per hour",
        ),
    ),
    Column(
        Heading(
            "without",
            "IF REMOVED",
            "Outcome for the node if this blocker is removed (simulated): freed, replaced, or also blocked by "
            "others. A PodDisruptionBudget is removed for all its pods. For a group, the nodes freed, each simulated "
            "alone.",
            min_width=10,
            max_width=24,
        ),
        _on_blockers(_without_cell, _group_without),
        _sort(lambda entry: entry.without or None),
        filters=_text_field(lambda entry: entry.without, "delete, replace, no, unknown"),
    ),
    Column(
        NumberHeading(
            "recent_pods",
            "NEW",
            "Pods scheduled to the node in the last hour, without DaemonSet pods.",
            3,
            drop_order=1,
        ),
        _on_blockers(lambda entry, _: _recent(entry.recent_pods), lambda group: _recent(recent_pods(group.counted))),
        _sort(lambda entry: float(entry.recent_pods)),
        filters={
            "new": Field(
                FieldKind.COUNT,
                lambda line, _: None if isinstance(line, BlockerGroup) else line.recent_pods,
                "pods started in the last hour",
            )
        },
        words=Words(5, _recent_words),
    ),
)


def _text(line: BlockerLine) -> str:
    if isinstance(line, BlockerGroup):
        return line.name.lower()
    blocker = line.blocker
    return (
        f"{line.kind} {blocker.object_key} {blocker.node_name} {blocker.pool_name} {line.owner} {blocker.value}".lower()
    )


TABLE: Final[TableSpec[BlockerLine]] = TableSpec(
    noun="blockers",
    columns=COLUMNS,
    text=_text,
    key=lambda line: line.key,
    default_sort=Sort("held", is_descending=True),
    tone=lambda line: (
        Tone.MUTED if (line.is_only_idle if isinstance(line, BlockerGroup) else line.is_idle) else Tone.NORMAL
    ),
    is_notable=lambda line, _: isinstance(line, BlockerGroup) or not (line.is_passing or line.is_idle),
)
