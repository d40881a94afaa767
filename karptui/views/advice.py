"""Advice: rows and lines of findings, grouped by rule, and the texts of a finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from karptui.advice.finding import Finding, Severity
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import counted, duration_text
from karptui.session.advice import AdviceEntry, AdviceGroup, AdviceLine
from karptui.session.answers import Overview
from karptui.session.facts import AdviceAround
from karptui.views.column import Column, Field, FieldKind, Heading, NumberHeading, SortKey, Value, text_column
from karptui.views.instants import unready_line
from karptui.views.row import NOT_APPLICABLE, Cell, Pieces, Tone, text_cell
from karptui.views.sanitize import clean, short_name
from karptui.views.table import Sort, TableSpec
from karptui.whatif.edits import AnyEdit, CordonNode, DeleteObject, ObjectRef, RemoveNode, SetField
from karptui.whatif.scenario import NOTHING, Opening, Replay

TONES: Final = {Severity.ERROR: Tone.FAULT, Severity.WARNING: Tone.WARNING, Severity.INFO: Tone.MUTED}
MARKS: Final = {Severity.ERROR: "✘", Severity.WARNING: "▲", Severity.INFO: "·"}


def counts_text(severities: Iterable[Severity]) -> str:
    """Return ``3 errors, 6 warnings, 9 infos``, without severities that have no findings."""
    counts = Counter(severities)
    return ", ".join(counted(counts[severity], severity) for severity in Severity if counts[severity])


_SHORT_KINDS: Final = {"PodDisruptionBudget": "PDB"}


def _cell(
    read: Callable[[AdviceEntry], Cell], of_group: Callable[[AdviceGroup], Cell] = lambda _: Cell("")
) -> Callable[[AdviceLine, int], Cell]:
    return lambda line, _: of_group(line) if isinstance(line, AdviceGroup) else read(line)


def _sort(read: Callable[[AdviceEntry], SortKey]) -> Callable[[AdviceLine], SortKey]:
    return lambda line: None if isinstance(line, AdviceGroup) else read(line)


def _kind(entry: AdviceEntry) -> Cell:
    kind = entry.first.kind if entry.first is not None else ""
    return text_cell(_SHORT_KINDS.get(kind, kind), Tone.MUTED)


def _object_cell(entry: AdviceEntry) -> Cell:
    name = entry.object_name
    if entry.first is None or entry.first.kind != "Node":
        return text_cell(name, Tone.STRONG, short=name.rpartition("/")[2])
    more = name.removeprefix(entry.first.key)
    return text_cell(f"{short_name(entry.first.name)}{more}", Tone.STRONG)


def _money(entry: AdviceEntry) -> Cell:
    per_hour = entry.finding.per_hour
    return Cell(f"{per_hour:,.2f}") if per_hour else NOT_APPLICABLE


def _place(entry: AdviceEntry) -> tuple[float | str, ...]:
    """Return the sort key: worst first, then most expensive."""
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


COLUMNS: Final[tuple[Column[AdviceLine], ...]] = (
    Column(
        Heading(
            "severity",
            "SEVERITY",
            "error: cannot work or is stuck; warning: costs money or safety; info: good to know.",
            9,
            30,
        ),
        _cell(
            lambda entry: Cell(f"{MARKS[entry.severity]} {entry.severity}", TONES[entry.severity]),
            lambda group: Cell(f"{'▸' if group.is_folded else '▾'} {clean(group.name)}", Tone.STRONG),
        ),
        _sort(_place),
        values=Value("severity", _value(lambda row: str(row.finding.severity)), {"enum": ["error", "warning", "info"]}),
        filters=Field(FieldKind.TEXT, _value(lambda entry: str(entry.severity)), "error, warning or info"),
    ),
    Column(
        Heading("kind", "KIND", "Kind of the main object.", 8, 19, drop_order=3),
        _cell(_kind),
        _sort(lambda entry: entry.first.kind if entry.first is not None else None),
        filters=Field(
            FieldKind.TEXT,
            _value(lambda entry: tuple({ref.kind for ref in entry.finding.objects})),
            "kind of an object",
        ),
    ),
    Column(
        Heading("name", "OBJECT", "The main object, and the number of others.", 12, 34),
        _cell(_object_cell),
        _sort(lambda entry: entry.object_name or None),
        values=Value(
            "objects",
            _value(lambda entry: [_object(ref.kind, ref.namespace, ref.name) for ref in entry.finding.objects]),
            {"type": "array", "items": {"$ref": "#/$defs/ref"}},
            after="title",
            flat=lambda objects: " ".join("/".join(ref.values()) for ref in objects),
        ),
        filters={
            "object": Field(
                FieldKind.TEXT,
                _value(lambda entry: tuple(ref.key for ref in entry.finding.objects)),
                "namespace/name, or name",
            )
        },
    ),
    Column(
        Heading("finding", "FINDING", "The problem in a few words.", 30, 48),
        _cell(
            lambda entry: text_cell(entry.rule.title),
            lambda group: Cell(counts_text(group.severities), TONES[group.severity]),
        ),
        _sort(lambda entry: entry.rule.title),
        values=Value("title", _value(lambda entry: entry.rule.title), str, after="rule"),
    ),
    Column(
        NumberHeading(
            "price",
            "NODES $/H",
            "Cost of the affected nodes together; the savings of removing them are $/H HELD on Blockers.",
            9,
            10,
            drop_order=2,
        ),
        _cell(_money),
        _sort(lambda entry: entry.finding.per_hour),
        values=Value(
            "price_per_hour",
            _value(lambda entry: entry.finding.per_hour),
            float | None,
            "Dollars that it costs; null if it costs nothing or the cost is unknown.",
            after="remedy",
        ),
        filters={
            "$": Field(
                FieldKind.MONEY, _value(lambda entry: entry.finding.per_hour), "$/h that the nodes concerned cost"
            )
        },
    ),
    Column(
        Heading("rule", "RULE", "Its id, as docs/advice.md has it.", 27, 30, drop_order=5),
        _cell(lambda entry: text_cell(entry.rule.id, Tone.MUTED)),
        _sort(lambda entry: entry.rule.id),
        values=(
            Value("rule", _value(lambda entry: entry.rule.id), str, after="severity"),
            Value("docs", _value(lambda entry: entry.rule.anchor), str, after="price_per_hour"),
        ),
        filters=Field(FieldKind.TEXT, _value(lambda entry: entry.rule.id), "id of the rule"),
    ),
    Column(
        Heading("fact", "FACT", "The fact in this cluster.", 40, 300, drop_order=6),
        _cell(lambda entry: text_cell(entry.finding.fact)),
        _sort(lambda entry: entry.finding.fact),
        values=(
            Value("fact", _value(lambda entry: entry.finding.fact), str, after="objects"),
            Value("remedy", _value(lambda entry: entry.finding.remedy), str),
            Value(
                "edits",
                _value(lambda entry: [msgspec.to_builtins(edit) for edit in entry.finding.edits]),
                {"type": "array", "items": {"$ref": "#/$defs/edit"}},
                after="docs",
                flat=lambda edits: msgspec.json.encode(edits).decode(),
            ),
        ),
    ),
)

TABLE: Final[TableSpec[AdviceLine]] = TableSpec(
    noun="findings",
    columns=COLUMNS,
    text=_text,
    key=lambda line: line.key,
    default_sort=Sort("severity"),
    is_notable=lambda line, _: line.severity.rank < 2,
)

OBJECTS_TABLE: Final[TableSpec[tuple[int, ObjectRef]]] = TableSpec(
    noun="objects",
    columns=(
        Column(
            Heading("place", "#", "Rank among the objects, the most relevant first.", is_right_aligned=True),
            lambda item, _: text_cell(str(item[0] + 1), Tone.MUTED),
            lambda item: item[0],
        ),
        text_column(Heading("kind", "KIND", "Kind of the object.", 8, 24), lambda item: item[1].kind),
        text_column(
            Heading("namespace", "NAMESPACE", "Its namespace.", 9, 30, drop_order=1), lambda item: item[1].namespace
        ),
        text_column(
            Heading("name", "NAME", "Its name.", 12, 80, is_name=True),
            lambda item: item[1].name,
            tone=lambda _: Tone.STRONG,
        ),
    ),
    text=lambda item: f"{item[1].kind} {item[1].key}".lower(),
    key=lambda item: f"{item[1].kind}/{item[1].key}",
    default_sort=Sort("place"),
)


def finding_sentences(line: AdviceLine) -> tuple[Pieces, ...]:
    """Return the lines about the row under the cursor."""
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
    """Return the age of the report, and the rules that failed."""
    if report is None:
        problem = overview.analysed.problem if overview.analysed is not None else ""
        if problem:
            return ((f"the rules failed: {clean(problem)}", Tone.FAULT),)
        return (unready_line(overview, "the rules are running"),)
    age = max(now_ns - report.now_ns, 0) // NS_PER_SECOND
    evaluated = f"rules evaluated {f'{duration_text(age)} ago' if age else 'just now'}"
    if report.failures:
        return ((f"{evaluated}; {clean(report.failures[0])}", Tone.FAULT),)
    return ((evaluated, Tone.MUTED),)


_DOCUMENTS: Final = frozenset(
    {"NodePool", "EC2NodeClass", "DaemonSet", "Deployment", "StatefulSet", "Job", "CronJob", "PodDisruptionBudget"}
)
_MOST_DOCUMENTS: Final = 3
_DISRUPTION: Final = "disruption"


PROPORTION_RULES: Final = frozenset({"pool-weight-order"})
"""Rules about NodePool weights that look like shares: the what-if asks for the intended proportion first."""


def pools_to_share(finding: Finding) -> tuple[str, ...]:
    """Return the NodePools whose proportion the user enters before the what-if, if any."""
    if finding.rule not in PROPORTION_RULES:
        return ()
    return tuple(ref.name for ref in finding.objects if ref.kind == "NodePool")


def opening_of(finding: Finding) -> Opening:
    """Return a finding's objects as documents, and the edits of its remedy."""
    documents = [ref for ref in finding.objects if ref.kind in _DOCUMENTS][:_MOST_DOCUMENTS]
    documents += [ref for ref in map(_object_of, finding.edits) if ref is not None and ref not in documents]
    if not documents and not finding.edits:
        return NOTHING
    return Opening(
        finding.rule, tuple(dict.fromkeys(documents)), finding.edits, _replay(finding), is_new=bool(finding.edits)
    )


def _object_of(edit: AnyEdit) -> ObjectRef | None:
    return edit.object if isinstance(edit, (SetField, DeleteObject)) else None


def _replay(finding: Finding) -> Replay:
    """Return the replay that shows the effect: next disruption for blocked nodes, else pending pods."""
    for edit in finding.edits:
        if isinstance(edit, (CordonNode, RemoveNode)):
            return Replay.NEXT
        if isinstance(edit, SetField) and (_DISRUPTION in edit.path or edit.object.kind == "PodDisruptionBudget"):
            return Replay.NEXT
    if finding.rule.startswith(("pool-weight", "setting-overhead", "pod-preferences", "pool-daemonset")):
        return Replay.SCRATCH
    return Replay.NEXT if finding.rule.startswith(("budget", "pdb", "node-", "pod-several")) else Replay.PENDING
