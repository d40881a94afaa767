"""The table of advice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from karptui.advice.finding import Severity
from karptui.kube.units import counted
from karptui.session.advice import AdviceEntry, AdviceGroup, AdviceLine
from karptui.views.column import NUMBER_OR_NULL, TEXT, Column, Field, FieldKind, FieldValue, Heading, SortKey, Value
from karptui.views.row import NOT_APPLICABLE, Cell, Tone, text_cell
from karptui.views.sanitize import clean, short_name
from karptui.views.table import Sort, TableSpec, natural_key
from karptui.whatif.edits import ObjectRef

TONES: Final = {Severity.ERROR: Tone.FAULT, Severity.WARNING: Tone.WARNING, Severity.INFO: Tone.MUTED}
MARKS: Final = {Severity.ERROR: "✘", Severity.WARNING: "▲", Severity.INFO: "·"}


def counts_text(severities: Iterable[Severity]) -> str:
    """Return ``3 errors, 6 warnings, 9 infos``; what there is none of is left out."""
    counts = Counter(severities)
    return ", ".join(counted(counts[severity], severity) for severity in Severity if counts[severity])


_SHORT_KINDS: Final = {"PodDisruptionBudget": "PDB"}


def _cell(
    read: Callable[[AdviceEntry], Cell], of_group: Callable[[AdviceGroup], Cell] = lambda _: Cell("")
) -> Callable[[AdviceLine, int], Cell]:
    return lambda line, _: of_group(line) if isinstance(line, AdviceGroup) else read(line)


def _sort(read: Callable[[AdviceEntry], SortKey]) -> Callable[[AdviceLine], SortKey]:
    return lambda line: None if isinstance(line, AdviceGroup) else read(line)


def _field(read: Callable[[AdviceEntry], FieldValue]) -> Callable[[AdviceLine, int], FieldValue]:
    return lambda line, _: None if isinstance(line, AdviceGroup) else read(line)


def _severity(entry: AdviceEntry) -> Cell:
    return Cell(f"{MARKS[entry.severity]} {entry.severity}", TONES[entry.severity])


def _kind(entry: AdviceEntry) -> Cell:
    kind = entry.first.kind if entry.first is not None else ""
    return text_cell(_SHORT_KINDS.get(kind, kind), Tone.MUTED)


def _object_cell(entry: AdviceEntry) -> Cell:
    name = entry.object_name
    if entry.first is None or entry.first.kind != "Node":
        return text_cell(name, Tone.STRONG, short=name.rpartition("/")[2])
    more = name.removeprefix(entry.first.key)
    return text_cell(f"{short_name(entry.first.name)}{more}", Tone.STRONG)


def _group_heading(group: AdviceGroup) -> Cell:
    return Cell(f"{'▸' if group.is_folded else '▾'} {clean(group.name)}", Tone.STRONG)


def _group_counts(group: AdviceGroup) -> Cell:
    return Cell(counts_text(group.severities), TONES[group.severity])


def _money(entry: AdviceEntry) -> Cell:
    per_hour = entry.finding.per_hour
    return Cell(f"{per_hour:,.2f}") if per_hour else NOT_APPLICABLE


def _place(entry: AdviceEntry) -> tuple[float | str, ...]:
    """Return the order that findings come in: the worst first, then the dearest."""
    return entry.severity.rank, -(entry.finding.per_hour or 0.0), entry.rule.id, entry.key


def _text(line: AdviceLine) -> str:
    if isinstance(line, AdviceGroup):
        return line.name.lower()
    finding = line.finding
    objects = " ".join(f"{ref.kind} {ref.key}" for ref in finding.objects)
    return f"{finding.severity} {line.rule.id} {line.rule.title} {finding.fact} {objects}".lower()


def _value(read: Callable[[AdviceEntry], Any]) -> Callable[[AdviceLine, int], Any]:
    return lambda line, _: None if isinstance(line, AdviceGroup) else read(line)


def _object(kind: str, namespace: str, name: str) -> dict[str, str]:
    return {"kind": kind, "namespace": namespace, "name": name} if namespace else {"kind": kind, "name": name}


def _names(objects: list[dict[str, str]]) -> str:
    return " ".join("/".join(one.values()) for one in objects)


def _json(edits: list[Any]) -> str:
    return msgspec.json.encode(edits).decode()


COLUMNS: Final[tuple[Column[AdviceLine], ...]] = (
    Column(
        Heading(
            "severity",
            "SEVERITY",
            "error: cannot work or stands still; warning: costs money or safety; info: good to know.",
            min_width=9,
            max_width=30,
        ),
        _cell(_severity, _group_heading),
        _sort(_place),
        values=(
            Value("severity", _value(lambda one: str(one.finding.severity)), {"enum": ["error", "warning", "info"]}),
        ),
        filters={
            "severity": Field(FieldKind.TEXT, _field(lambda one: str(one.severity)), help="error, warning or info")
        },
    ),
    Column(
        Heading("kind", "KIND", "Kind of the object that tells most.", min_width=8, max_width=19, drop_order=3),
        _cell(_kind),
        _sort(lambda one: one.first.kind if one.first is not None else None),
        filters={
            "kind": Field(
                FieldKind.TEXT,
                _field(lambda one: tuple({ref.kind for ref in one.finding.objects})),
                help="kind of an object",
            )
        },
    ),
    Column(
        Heading(
            "name", "OBJECT", "The object that tells most, and how many more there are.", min_width=12, max_width=34
        ),
        _cell(_object_cell),
        _sort(lambda one: one.object_name or None),
        values=(
            Value(
                "objects",
                _value(lambda one: [_object(ref.kind, ref.namespace, ref.name) for ref in one.finding.objects]),
                {"type": "array", "items": {"$ref": "#/$defs/ref"}},
                after="title",
                flat=_names,
            ),
        ),
        filters={
            "object": Field(
                FieldKind.TEXT,
                _field(lambda one: tuple(ref.key for ref in one.finding.objects)),
                help="namespace/name, or name",
            )
        },
    ),
    Column(
        Heading("finding", "FINDING", "The trap in a few words.", min_width=30, max_width=48),
        _cell(lambda one: text_cell(one.rule.title), _group_counts),
        _sort(lambda one: one.rule.title),
        values=(Value("title", _value(lambda one: one.rule.title), TEXT, after="rule"),),
    ),
    Column(
        Heading(
            "price",
            "$/H",
            "What the nodes concerned cost together, where nodes are concerned.",
            min_width=6,
            max_width=10,
            is_right_aligned=True,
            is_descending_first=True,
            drop_order=2,
        ),
        _cell(_money),
        _sort(lambda one: one.finding.per_hour),
        values=(
            Value(
                "price_per_hour",
                _value(lambda one: one.finding.per_hour),
                NUMBER_OR_NULL,
                "Dollars that it costs; null where it costs none or nobody knows.",
                after="remedy",
            ),
        ),
        filters={
            "$": Field(
                FieldKind.MONEY, _field(lambda one: one.finding.per_hour), help="$/h that the nodes concerned cost"
            )
        },
    ),
    Column(
        Heading("rule", "RULE", "Its id, as docs/advice.md has it.", min_width=27, max_width=30, drop_order=5),
        _cell(lambda one: text_cell(one.rule.id, Tone.MUTED)),
        _sort(lambda one: one.rule.id),
        values=(
            Value("rule", _value(lambda one: one.rule.id), TEXT, after="severity"),
            Value("docs", _value(lambda one: one.rule.anchor), TEXT, after="price_per_hour"),
        ),
        filters={"rule": Field(FieldKind.TEXT, _field(lambda one: one.rule.id), help="id of the rule")},
    ),
    Column(
        Heading("fact", "FACT", "What is so in this cluster.", min_width=40, max_width=300, drop_order=6),
        _cell(lambda one: text_cell(one.finding.fact)),
        _sort(lambda one: one.finding.fact),
        values=(
            Value("fact", _value(lambda one: one.finding.fact), TEXT, after="objects"),
            Value("remedy", _value(lambda one: one.finding.remedy), TEXT),
            Value(
                "edits",
                _value(lambda one: [msgspec.to_builtins(edit) for edit in one.finding.edits]),
                {"type": "array", "items": {"$ref": "#/$defs/edit"}},
                after="docs",
                flat=_json,
            ),
        ),
    ),
)
"""Every column in order."""

TABLE: Final[TableSpec[AdviceLine]] = TableSpec(
    noun="findings",
    columns=COLUMNS,
    text=_text,
    key=lambda line: line.key,
    default_sort=Sort("severity"),
    is_notable=lambda line, _: line.severity.rank < 2,
)
"""One row per finding."""

OBJECTS_TABLE: Final[TableSpec[tuple[int, ObjectRef]]] = TableSpec(
    noun="objects",
    columns=(
        Column(
            Heading("place", "#", "Place among the objects, the most telling first.", is_right_aligned=True),
            lambda item, _: text_cell(str(item[0] + 1), Tone.MUTED),
            lambda item: float(item[0]),
        ),
        Column(
            Heading("kind", "KIND", "Kind of the object.", min_width=8, max_width=24),
            lambda item, _: text_cell(item[1].kind),
            lambda item: item[1].kind,
        ),
        Column(
            Heading("namespace", "NAMESPACE", "Its namespace.", min_width=9, max_width=30, drop_order=1),
            lambda item, _: text_cell(item[1].namespace),
            lambda item: item[1].namespace or None,
        ),
        Column(
            Heading("name", "NAME", "Its name.", min_width=12, max_width=80, is_name=True),
            lambda item, _: text_cell(item[1].name, Tone.STRONG),
            lambda item: natural_key(item[1].name),
        ),
    ),
    text=lambda item: f"{item[1].kind} {item[1].key}".lower(),
    more_filters={
        "kind": Field(FieldKind.TEXT, lambda item, _: item[1].kind, help="kind of the object"),
        "namespace": Field(FieldKind.TEXT, lambda item, _: item[1].namespace, help="its namespace"),
        "name": Field(FieldKind.TEXT, lambda item, _: item[1].name, help="its name"),
    },
    key=lambda item: f"{item[1].kind}/{item[1].key}",
    default_sort=Sort("place"),
)
"""One row per object, with its place."""
