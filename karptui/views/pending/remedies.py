"""Remedies for pending pods: as text, as rows, and as manifests."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from karptui.aws.money import node_price_text
from karptui.kube.units import count_text, counted, first_of, verb
from karptui.views.column import Column, Field, FieldKind, Heading, text_column
from karptui.views.pending.sentences import others_text
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, ZERO, Cell, Tone
from karptui.views.sanitize import clean, short_name
from karptui.views.table import Sort, TableSpec
from karptui.whatif.edits import AnyEdit, DeleteObject, SetField, SetSetting
from karptui.whatif.field_path import path_text
from karptui.whatif.remedies.pending.remedy import Gain, Remedy, RemedyReport

_PLURALS: Final[Mapping[str, str]] = {"NodePool": "nodepool", "EC2NodeClass": "ec2nodeclass", "DaemonSet": "daemonset"}
_HELM: Final[Mapping[str, str]] = {"VM_MEMORY_OVERHEAD_PERCENT": "settings.vmMemoryOverheadPercent"}


def remedy_text(remedy: Remedy, pods: str, origin: str, *, try_key: str = "ctrl+t") -> str:
    """Return the full text of a remedy."""
    gain = remedy.gain
    price = f", {node_price_text(gain.price_per_hour)}/h" if gain.price_per_hour is not None else ""
    lines = [
        f"{clean(remedy.subject)}: {clean(remedy.words)}",
        "",
        f"Simulated: {count_text(gain.placed)} of {count_text(gain.asked)} of {clean(pods)} fit.",
        f"They land on {gain_text(gain)}{price}.",
    ]
    if gain.displaced:
        lines.append(
            f"{count_text(len(gain.displaced))} others become unschedulable: {', '.join(map(clean, gain.displaced))}"
        )
    lines += [
        "",
        *_fields(remedy.edits, origin),
        "",
        f"In the list {try_key} opens it as a what-if; karptui itself changes nothing.",
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
    fields = [edit for edit in edits if edit.object == first]
    if kind == "Pod":
        yield f"in pod {clean(first.key)}, which must be recreated:"
    else:
        yield f"in the pod template of {clean(kind)} {clean(name)} (spec.template):"
    for edit in fields:
        value = "(removed)" if edit.value is None else _json(edit.value)
        yield f"  {clean(path_text(edit.path))}: {value}"
    if any(edit.path[1:3] == ("containers", 0) for edit in fields):
        yield "  The amount is the sum of a pod's containers."


def _json(value: Any) -> str:
    return "(removed)" if value is None else clean(json.dumps(value))


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
    """Position in the order of offering, from 0."""
    remedy: Remedy

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return f"{self.remedy.kind}/{self.remedy.subject}/{self.remedy.words}"


def remedy_entries(report: RemedyReport | None) -> tuple[RemedyEntry, ...]:
    """Return the changes that make pods schedulable, in order."""
    remedies = () if report is None else report.remedies
    return tuple(RemedyEntry(place, remedy) for place, remedy in enumerate(remedies))


def gain_text(gain: Gain) -> str:
    """Return the destinations of pods: ``2 × r5a.8xlarge in trino``, ``ip-10-0-8-41``."""
    parts = []
    if gain.new_nodes:
        pools = ", ".join(clean(name) for name in gain.nodepools)
        others = others_text(gain.other_types)
        if gain.mixed_types:
            others = f" ({first_of(list(map(clean, gain.mixed_types)), 2)})"
        parts.append(f"{_new_nodes(gain)}{others} in {pools}")
    if gain.nodes:
        named = first_of([short_name(clean(name)) for name in gain.nodes], 1)
        parts.append(f"{named}, which {'are' if len(gain.nodes) > 1 else 'is'} there")
    return " and ".join(parts)


def _new_nodes(gain: Gain) -> str:
    if gain.mixed_types:
        return counted(gain.new_nodes, "new node")
    times = f"{count_text(gain.new_nodes)} × " if gain.new_nodes > 1 else "new "
    return f"{times}{clean(gain.instance_type)}"


def _short_keys(words: str) -> str:
    """Return words with label keys without well-known domains."""
    for domain in ("node.kubernetes.io/", "karpenter.k8s.aws/", "karpenter.sh/", "topology.kubernetes.io/"):
        words = words.replace(domain, "")
    return words


def _short_gain(gain: Gain) -> str:
    """Return the same in a few characters: types and counts without their NodePool."""
    if not gain.new_nodes:
        return short_name(clean(gain.nodes[0])) if gain.nodes else ""
    return f"{_new_nodes(gain)}{'+' if gain.other_types and not gain.mixed_types else ''}"


def remedy_words(remedy: Remedy, pods: str = "") -> str:
    """Return a remedy as one line: ``NodePool trino: allow …``.

    Args:
        pods: Name of the pods, which replaces "the pods".
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
    return NOT_AVAILABLE if gain.new_nodes else ZERO


def _loses(entry: RemedyEntry, _: int) -> Cell:
    lost = entry.remedy.gain.displaced
    if not lost:
        return NOT_APPLICABLE
    words = f"{counted(len(lost), 'other pod')}"
    return Cell(f"{words}: {clean(lost[0])}", Tone.WARNING, words)


REMEDIES: Final[TableSpec[RemedyEntry]] = TableSpec(
    noun="changes that make pods schedulable",
    columns=(
        text_column(
            Heading("change", "CHANGE", "A single change; everything else stays the same.", 34, 100, fill_width=100),
            lambda entry: entry.remedy.words,
            tone=lambda _: Tone.STRONG,
            short=lambda entry: _short_keys(entry.remedy.words),
            filters={},
        ),
        text_column(
            Heading("of", "OBJECT", "The object that is changed.", 8, 34, drop_order=4),
            lambda entry: entry.remedy.subject,
            filters=Field(FieldKind.TEXT, lambda entry, _: entry.remedy.subject, "NodePool general…"),
        ),
        Column(
            Heading("fits", "FITS", "Pending pods that become schedulable.", 6, 12, drop_order=2),
            _fits,
            lambda entry: entry.remedy.gain.placed,
        ),
        text_column(
            Heading("gives", "RESULT", "Where they are scheduled.", 20, 60),
            lambda entry: gain_text(entry.remedy.gain),
            short=lambda entry: _short_gain(entry.remedy.gain),
            filters={},
        ),
        Column(
            Heading("price", "$/H", "Cost of the new nodes per hour.", 6, 12, is_right_aligned=True, drop_order=1),
            _price,
            lambda entry: entry.remedy.gain.price_per_hour or 0.0,
        ),
        Column(
            Heading("loses", "DISPLACES", "Other pods that become unschedulable.", 5, 40, drop_order=3),
            _loses,
            lambda entry: len(entry.remedy.gain.displaced) or None,
        ),
        Column(
            Heading("place", "#", "Rank.", 2, 3, is_wide_only=True),
            lambda entry, _: Cell(str(entry.place + 1)),
            lambda entry: entry.place,
        ),
    ),
    text=lambda entry: f"{entry.remedy.subject} {entry.remedy.words} {gain_text(entry.remedy.gain)}".lower(),
    more_filters={"kind": Field(FieldKind.TEXT, lambda entry, _: entry.remedy.kind, "limit, overhead, request…")},
    key=lambda entry: entry.key,
    default_sort=Sort("place"),
)


def remedy_values(remedy: Remedy) -> dict[str, Any]:
    """Return a change as plain values, with the edits as a what-if takes them."""
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


def remedies_sentence(report: RemedyReport) -> tuple[str, Tone]:
    """Return the progress of trying remedies, or that none helps."""
    if not report.is_complete:
        of = f" of {count_text(report.to_try)}" if report.to_try > report.tried + 1 else ""
        return f"simulating changes: {count_text(report.tried)}{of}", Tone.ACTIVE
    tried = f"{counted(report.tried, 'change')} tried, one at a time"
    if not report.tried:
        return "no change applies", Tone.WARNING
    if not report.remedies:
        return f"{tried}: none helps", Tone.WARNING
    return f"{tried}: {count_text(len(report.remedies))} {verb(len(report.remedies), 'helps', 'help')}", Tone.GOOD
