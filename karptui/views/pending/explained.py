"""Why one pod waits, place by place, and what would make pending pods schedulable: sentences and tables."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from karptui.aws.money import node_price_text
from karptui.kube.resources import Shortage
from karptui.kube.units import age_text, count_text, counted, first_of, verb
from karptui.pending.causes import FAULTY
from karptui.pending.groups import MOST_DESTINATIONS, PendingGroup
from karptui.provisioning import NodeRefusal, PodExplanation, PoolExplanation
from karptui.session.pending_report import PendingEntry, PodDetail, PodSurroundings
from karptui.views.column import Column, Field, FieldKind, Heading
from karptui.views.pending.columns import TABLE as PENDING
from karptui.views.pending.gates import COLUMNS, GateRow, gate_lines, gate_rows, refusal_word, refusals_text
from karptui.views.pending.sentences import (
    cause_sentence,
    destination_text,
    disagreement_lines,
    has_no_zone,
    others_text,
    problem_lines,
    quote_lines,
    requests_words,
    zone_lines,
)
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Pieces, Tone
from karptui.views.sanitize import clean, short_name
from karptui.views.table import Sort, TableSpec
from karptui.whatif.edits import AnyEdit, DeleteObject, SetField, SetSetting
from karptui.whatif.field_path import path_text
from karptui.whatif.remedies.pending.remedy import Gain, Remedy, RemedyReport

_PLURALS: Final[Mapping[str, str]] = {"NodePool": "nodepool", "EC2NodeClass": "ec2nodeclass", "DaemonSet": "daemonset"}
_HELM: Final[Mapping[str, str]] = {"VM_MEMORY_OVERHEAD_PERCENT": "settings.vmMemoryOverheadPercent"}


def remedy_text(remedy: Remedy, pods: str, origin: str, *, try_key: str = "ctrl+t") -> str:
    """Return a change at length.

    Args:
        remedy: The change.
        pods: Name of the pods that it is for.
        origin: ``Kind/namespace/name`` of what they come from.
        try_key: the key that opens a what-if.
    """
    gain = remedy.gain
    price = f", {node_price_text(gain.price_per_hour)}/h" if gain.price_per_hour is not None else ""
    lines = [
        f"{clean(remedy.subject)}: {clean(remedy.words)}",
        "",
        f"Tried on the engine: {count_text(gain.placed)} of {count_text(gain.asked)} of {clean(pods)} find a place.",
        f"They go to {gain_text(gain)}{price}.",
    ]
    if gain.displaced:
        lines.append(
            f"{count_text(len(gain.displaced))} others lose their place: {', '.join(map(clean, gain.displaced))}"
        )
    lines += [
        "",
        *_fields(remedy.edits, origin),
        "",
        f"In the list {try_key} opens it as a what-if. karptui changes nothing itself.",
    ]
    return "\n".join(lines)


def _fields(edits: tuple[AnyEdit, ...], origin: str) -> Iterator[str]:
    of_pods = [edit for edit in edits if isinstance(edit, SetField) and edit.object.kind == "Pod"]
    if of_pods:
        yield from _pod_fields(of_pods, origin)
    for edit in edits:
        match edit:
            case SetField() if edit.object.kind != "Pod":
                yield f"{edit.object.kind} {clean(edit.object.key)}"
                yield f"  {clean(path_text(edit.path))}: {_json(edit.value)}"
                yield ""
                yield _patch(edit)
            case SetSetting():
                yield f"in the environment of Karpenter's controller: {edit.name}={edit.value}"
                if edit.name in _HELM:
                    yield f"in the values of its Helm chart:             {_HELM[edit.name]}={edit.value}"
            case DeleteObject():
                kind = _PLURALS.get(edit.object.kind, edit.object.kind.lower())
                namespace = f" -n {shlex.quote(edit.object.namespace)}" if edit.object.namespace else ""
                yield f"kubectl delete {kind}{namespace} {shlex.quote(clean(edit.object.name))}"
            case _:
                pass


def _pod_fields(edits: list[SetField], origin: str) -> Iterator[str]:
    first = edits[0].object
    kind, _, name = origin.partition("/")
    own = [edit for edit in edits if edit.object == first]
    if kind == "Pod":
        yield f"in the pod {clean(first.key)}, which has to be made anew:"
    else:
        yield f"in the pod template of {clean(kind)} {clean(name)} (spec.template):"
    for edit in own:
        value = "(taken away)" if edit.value is None else _json(edit.value)
        yield f"  {clean(path_text(edit.path))}: {value}"
    if any(edit.path[1:3] == ("containers", 0) for edit in own):
        yield "  The amount is what all containers of a pod ask together."


def _json(value: Any) -> str:
    return "(taken away)" if value is None else clean(json.dumps(value))


def _patch(edit: SetField) -> str:
    name = shlex.quote(clean(edit.object.name))
    kind = _PLURALS.get(edit.object.kind, edit.object.kind.lower())
    if any(isinstance(part, int) for part in edit.path):
        pointer = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in edit.path)
        change: dict[str, Any] = {"op": "remove", "path": pointer}
        if edit.value is not None:
            change = {"op": "replace", "path": pointer, "value": edit.value}
        return f"kubectl patch {kind} {name} --type=json -p {shlex.quote(json.dumps([change]))}"
    body: Any = edit.value
    for part in reversed(edit.path):
        body = {part: body}
    return f"kubectl patch {kind} {name} --type=merge -p {shlex.quote(json.dumps(body))}"


@dataclass(frozen=True, slots=True, eq=False)
class RemedyEntry:
    """One change that helps."""

    place: int
    """In the order in which changes are offered, from 0."""
    remedy: Remedy

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return f"{self.remedy.kind}/{self.remedy.subject}/{self.remedy.words}"


def remedy_entries(report: RemedyReport | None) -> tuple[RemedyEntry, ...]:
    """Return the changes that help, in order."""
    found = () if report is None else report.found
    return tuple(RemedyEntry(place, remedy) for place, remedy in enumerate(found))


def gain_text(gain: Gain) -> str:
    """Return where pods go: ``2 × r5a.8xlarge in trino``, ``ip-10-0-8-41``."""
    parts = []
    if gain.new_nodes:
        others = others_text(gain.other_types)
        times = f"{count_text(gain.new_nodes)} × " if gain.new_nodes > 1 else "new "
        pools = ", ".join(clean(name) for name in gain.nodepools)
        parts.append(f"{times}{clean(gain.instance_type)}{others} in {pools}")
    if gain.nodes:
        named = first_of([short_name(clean(name)) for name in gain.nodes], 1)
        parts.append(f"{named}, which {'are' if len(gain.nodes) > 1 else 'is'} there")
    return " and ".join(parts)


def _short_keys(words: str) -> str:
    """Return words with label keys less the domains that everybody knows."""
    for domain in ("node.kubernetes.io/", "karpenter.k8s.aws/", "karpenter.sh/", "topology.kubernetes.io/"):
        words = words.replace(domain, "")
    return words


def _short_gain(gain: Gain) -> str:
    """Return the same in a few characters: types and counts without their NodePool."""
    if not gain.new_nodes:
        return short_name(clean(gain.nodes[0])) if gain.nodes else ""
    more = "+" if gain.other_types else ""
    times = f"{count_text(gain.new_nodes)} × " if gain.new_nodes > 1 else "new "
    return f"{times}{clean(gain.instance_type)}{more}"


def remedy_words(remedy: Remedy, pods: str = "") -> str:
    """Return a change in a line: ``NodePool trino: allow …``.

    Args:
        remedy: The change.
        pods: Name of the pods, which stands in place of "the pods".
    """
    subject = remedy.subject if remedy.subject != "the pods" or not pods else pods
    return f"{clean(subject)}: {clean(remedy.words)}"


def _fits(entry: RemedyEntry, _: int) -> Cell:
    gain = entry.remedy.gain
    text = f"{count_text(gain.placed)} of {count_text(gain.asked)}"
    return Cell(text, Tone.GOOD if gain.placed == gain.asked else Tone.WARNING)


def _price(entry: RemedyEntry, _: int) -> Cell:
    gain = entry.remedy.gain
    if gain.price_per_hour is not None:
        return Cell(f"+{node_price_text(gain.price_per_hour)}", Tone.STRONG, node_price_text(gain.price_per_hour)[1:])
    return NOT_AVAILABLE if gain.new_nodes else Cell("0", Tone.MUTED)


def _loses(entry: RemedyEntry, _: int) -> Cell:
    lost = entry.remedy.gain.displaced
    if not lost:
        return NOT_APPLICABLE
    words = f"{counted(len(lost), 'other pod')}"
    return Cell(f"{words}: {clean(lost[0])}", Tone.WARNING, words)


REMEDY_COLUMNS: Final[tuple[Column[RemedyEntry], ...]] = (
    Column(
        Heading("change", "CHANGE", "A single change; everything else stays as it is.", 34, 100, fill_width=100),
        lambda entry, _: Cell(clean(entry.remedy.words), Tone.STRONG, _short_keys(clean(entry.remedy.words))),
        lambda entry: entry.remedy.words,
    ),
    Column(
        Heading("of", "OF", "What is changed.", 8, 34, drop_order=4),
        lambda entry, _: Cell(clean(entry.remedy.subject)),
        lambda entry: entry.remedy.subject,
    ),
    Column(
        Heading("fits", "FITS", "Pods that find a place then, of those that wait.", 6, 12, drop_order=2),
        _fits,
        lambda entry: float(entry.remedy.gain.placed),
    ),
    Column(
        Heading("gives", "GIVES", "Where they go then.", 20, 60),
        lambda entry, _: Cell(gain_text(entry.remedy.gain), short=_short_gain(entry.remedy.gain)),
        lambda entry: gain_text(entry.remedy.gain),
    ),
    Column(
        Heading("price", "$/H", "What the new nodes cost per hour.", 6, 12, is_right_aligned=True, drop_order=1),
        _price,
        lambda entry: entry.remedy.gain.price_per_hour or 0.0,
    ),
    Column(
        Heading("loses", "LOSES", "Other pods that lose their place by it.", 5, 40, drop_order=3),
        _loses,
        lambda entry: float(len(entry.remedy.gain.displaced)) or None,
    ),
)
FIELDS: Final[Mapping[str, Field[RemedyEntry]]] = {
    "kind": Field(FieldKind.TEXT, lambda entry, _: str(entry.remedy.kind), help="limit, overhead, request…"),
    "of": Field(FieldKind.TEXT, lambda entry, _: entry.remedy.subject, help="NodePool general…"),
}
REMEDIES: Final[TableSpec[RemedyEntry]] = TableSpec(
    noun="changes that help",
    columns=(
        *REMEDY_COLUMNS,
        Column(
            Heading("place", "#", "The order in which they are offered.", 2, 3, is_wide_only=True),
            lambda entry, _: Cell(str(entry.place + 1)),
            lambda entry: float(entry.place),
        ),
    ),
    text=lambda entry: f"{entry.remedy.subject} {entry.remedy.words} {gain_text(entry.remedy.gain)}".lower(),
    more_filters=FIELDS,
    key=lambda entry: entry.key,
    default_sort=Sort("place"),
)
"""What would help."""


def remedy_values(remedy: Remedy) -> dict[str, Any]:
    """Return a change as plain values, with the edits as a what-if takes them."""
    import msgspec  # noqa: PLC0415 - only commands print it

    gain = remedy.gain
    return {
        "kind": str(remedy.kind),
        "of": remedy.subject,
        "change": remedy.words,
        "placed": gain.placed,
        "asked": gain.asked,
        "nodes": list(gain.nodes),
        "pools": list(gain.nodepools),
        "new_nodes": gain.new_nodes,
        "type": gain.instance_type or None,
        "other_types": gain.other_types,
        "price_per_hour": gain.price_per_hour,
        "loses_place": list(gain.displaced),
        "edits": msgspec.to_builtins(remedy.edits),
    }


def title_text(group: PendingGroup, now_ns: int) -> str:
    """Return the heading: ``3 pods · trino/worker-{0,1,2} · 28 cpu 240Gi · pending 14m``."""
    count = len(group.pods)
    many = f"{count_text(count)} pods · " if count > 1 else ""
    age = f" · pending {age_text(group.since_ns, now_ns)}" if group.since_ns else ""
    return f"{many}{clean(group.name)} · {requests_words(group.first)}{age}"


def explained_lines(
    group: PendingGroup,
    detail: PodDetail | None,
    around: PodSurroundings,
    *,
    now_ns: int,
    width: int,
    may_list_events: bool = True,
) -> tuple[Pieces, ...]:
    """Return why pods wait.

    Args:
        group: The pods.
        detail: What is worked out for one of them; None before it is.
        around: What of the cluster is said beside it.
        now_ns: The instant to count ages from: nanoseconds since the epoch.
        width: Cells there are.
        may_list_events: Whether events may be listed.
    """
    tone = Tone.FAULT if group.cause in FAULTY else Tone.NORMAL
    lines: list[Pieces] = [((cause_sentence(group.first, group.cause), tone),)]
    lines += [
        (("→ ", Tone.GOOD), (destination_text(destination), Tone.NORMAL))
        for destination in group.destinations[:MOST_DESTINATIONS]
    ]
    lines += disagreement_lines(group)
    lines += problem_lines(group)
    zones, has_none = zone_lines(group.first, around.zones), has_no_zone(group.first, around.zones)
    lines += zones if has_none else ()
    lines.append(())
    explanation = detail.explanation if detail is not None else group.explanation
    if explanation is not None:
        lines += gate_lines(explanation, width)
        lines += () if has_none else zones
        lines.append((("nodes  ", Tone.STRONG), (refusals_text(explanation), Tone.NORMAL)))
        if explanation.given_up:
            given_up = "; ".join(map(clean, explanation.given_up))
            lines.append((("gave up in vain: ", Tone.MUTED), (given_up, Tone.NORMAL)))
        lines += _findings(explanation, around)
        lines.append(())
    lines += quote_lines(group, now_ns, may_list_events=may_list_events, most=1_000)
    return tuple(lines)


def _findings(explanation: PodExplanation, around: PodSurroundings) -> tuple[Pieces, ...]:
    """Return what is wrong with the requirements of NodePools that take no part."""
    idle = {one.nodepool for one in explanation.pools if one.takes_no_part}
    return tuple(
        (("! ", Tone.WARNING), (f"{clean(finding.object)}: {clean(finding.fact)}", Tone.NORMAL))
        for pool, finding in around.findings
        if pool in idle
    )


def remedies_sentence(report: RemedyReport | None) -> tuple[str, Tone]:
    """Return how far the changes have been tried, and that none helps where none does."""
    if report is None:
        return "", Tone.MUTED
    if not report.is_complete:
        of = f" of {count_text(report.to_try)}" if report.to_try > report.tried + 1 else ""
        return f"trying changes on the engine: {count_text(report.tried)}{of}", Tone.ACTIVE
    tried = f"{counted(report.tried, 'single change')} tried"
    if not report.tried:
        return "no single change suggests itself", Tone.WARNING
    if not report.found:
        return f"{tried}: none of them makes it schedulable", Tone.WARNING
    helps = verb(len(report.found), "helps", "help")
    return f"{tried} on the engine, {count_text(len(report.found))} {helps}", Tone.GOOD


def explained_values(entry: PendingEntry, detail: PodDetail | None, now_ns: int) -> dict[str, Any]:
    """Return everything that is known of a pending pod.

    Args:
        entry: The pods that wait for the same reason.
        detail: What was worked out for one of them.
        now_ns: The instant: nanoseconds since the epoch.
    """
    explanation = detail.explanation if detail is not None else None
    remedies = detail.remedies if detail is not None else None
    if explanation is not None:
        entry = PendingEntry(entry.group.explained(explanation), entry.may_list_events)
    return {
        **PENDING.values(entry, now_ns),
        "waits_for": cause_sentence(entry.group.first, entry.group.cause),
        "pools": pool_values(explanation) if explanation is not None else [],
        "existing_nodes": [node_values(one) for one in explanation.nodes] if explanation is not None else [],
        "given_up": list(explanation.given_up) if explanation is not None else [],
        "changes_tried": remedies.tried if remedies is not None else 0,
        "remedies": [remedy_values(one) for one in remedies.found] if remedies is not None else [],
        "not_tried": list(remedies.left_out) if remedies is not None else [],
    }


def pool_values(explanation: PodExplanation) -> list[dict[str, Any]]:
    """Return every NodePool with its gates, in the order in which they are tried."""
    rows = gate_rows(explanation)
    return [_pool(pool, row) for pool, row in zip(explanation.pools, rows, strict=True)]


def _pool(pool: PoolExplanation, row: GateRow) -> dict[str, Any]:
    nearest = pool.nearest
    return {
        "name": pool.nodepool,
        "weight": pool.weight,
        "rank": pool.position + 1 if pool.position >= 0 else None,
        "gates": {title.lower(): str(mark) for title, mark in zip(COLUMNS, row.marks, strict=True)},
        "failed": COLUMNS[row.failed].lower() if row.failed >= 0 else None,
        "reason": row.reason or None,
        "karpenter_says": str(pool.rejection) if pool.rejection is not None else None,
        "types_left": {left.after.replace(" ", "_"): left.count for left in pool.types_left},
        "nearest_type": nearest.instance_type if nearest is not None else None,
        "short": [_short(one) for one in nearest.shortages] if nearest is not None else [],
    }


def _short(one: Shortage) -> dict[str, Any]:
    return {"resource": one.resource, "need": str(one.need), "room": str(one.room)}


def node_values(refusal: NodeRefusal) -> dict[str, str]:
    """Return a node and why it does not take the pod."""
    return {"name": refusal.node, "by": refusal_word(refusal), "reason": refusal.reason}
