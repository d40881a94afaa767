"""Node detail: the resource ledger, and facts about node and NodeClaim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from karptui.aws.money import node_price_text
from karptui.kube import resources
from karptui.kube.objects import Condition
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import ResourceList
from karptui.kube.units import age_text, count_text, cpu_text, memory_text, percent_text
from karptui.kube.usage import LiveUsage, Used
from karptui.session.nodes import NodeEntry, PodAccess
from karptui.views.instants import expiry_text
from karptui.views.nodes.resources import delta_text
from karptui.views.nodes.sentences import asking_text
from karptui.views.nodes.status import node_status
from karptui.views.prices import price_sentence
from karptui.views.row import FORBIDDEN, WAITING, Pieces, Tone
from karptui.views.sanitize import clean, short_name
from karptui.views.usage import samples_text, usage_note

_LINES: Final = (
    "capacity",
    "reserved",
    "allocatable",
    "DaemonSets",
    "workload",
    "free",
    "requested",
    "in use",
    "Δ claim",
)
MI: Final = 1 << 20
_NONE: Final[Pieces] = (("none", Tone.MUTED),)
_FIRST: Final = (resources.CPU, resources.MEMORY, resources.PODS, resources.EPHEMERAL_STORAGE)


def title_parts(entry: NodeEntry, now_ns: int) -> Pieces:
    """Return the heading: name, pool, type, capacity type, zone, age."""
    kind = entry.capacity_type
    parts = [entry.pool or "not managed by Karpenter", entry.instance_type, kind, entry.zone]
    if entry.price is not None:
        parts.append(f"{node_price_text(entry.price.per_hour, entry.price.currency)}/h")
    if entry.created_ns:
        parts.append(age_text(entry.created_ns, now_ns))
    name = short_name(clean(entry.name)) if entry.node is not None else f"({clean(entry.name)})"
    return (f" {name} ", Tone.STRONG), (f"─ {' · '.join(clean(part) for part in parts if part)} ", Tone.NORMAL)


def resource_lines(entry: NodeEntry) -> tuple[Pieces, ...]:
    """Return the ledger as aligned lines, one column per resource, from capacity to free."""
    names = _resource_names(entry)
    if not names:
        return ((("the node has not reported its resources", Tone.MUTED),),)
    columns = {name: _column(entry, name) for name in names}
    widths = {name: max(len(_heading(name)), *(len(text) for text, _ in columns[name].values())) for name in names}
    head = "".join(f"  {_heading(name):>{widths[name]}}" for name in names)
    lines: list[Pieces] = [((f"{'':<11}{head}", Tone.MUTED),)]
    for line in _LINES:
        if all(columns[name][line][0] == "" for name in names):
            continue
        pieces: list[tuple[str, Tone]] = [(f"{line:<11}", Tone.MUTED)]
        for name in names:
            text, tone = columns[name][line]
            pieces.append((f"  {text:>{widths[name]}}", tone))
        lines.append(tuple(pieces))
    return tuple(lines)


def fact_lines(entry: NodeEntry, now_ns: int) -> tuple[Pieces, ...]:
    """Return the facts about a node and its NodeClaim."""
    return (*node_lines(entry, now_ns), *claim_lines(entry, now_ns))


def claim_lines(entry: NodeEntry, now_ns: int) -> tuple[Pieces, ...]:
    """Return the facts about the NodeClaim, and its labels."""
    labels = [
        ((clean(key), Tone.MUTED), (f"={clean(value)}", Tone.NORMAL)) for key, value in sorted(entry.labels.items())
    ]
    return (*_claim_block(entry, now_ns), *_block("Labels", *labels))


def node_lines(entry: NodeEntry, now_ns: int) -> tuple[Pieces, ...]:
    """Return the facts about the node: state, conditions, taints, system, price."""
    lines: list[Pieces] = []
    status = node_status(entry)
    means = "" if status.sentence.lower() == status.word.lower() else f"  {clean(status.sentence)}"
    lines += _block("State", ((status.text(now_ns), status.tone), (means, Tone.NORMAL)))
    if entry.node is not None:
        lines += _conditions("Node conditions", entry.node.conditions, now_ns)
        taints: list[Pieces] = [
            (
                (clean(f"{taint.key}={taint.value}" if taint.value else taint.key), Tone.NORMAL),
                (f":{taint.effect}", Tone.MUTED),
            )
            for taint in entry.node.taints
        ]
        lines += _block("Taints", *(taints or [_NONE]))
        node = entry.node
        system = [node.kubelet_version, node.os_image, entry.architecture, node.internal_ip, node.provider_id]
        lines += _block("System", *(((clean(text), Tone.NORMAL),) for text in system if text))
    if entry.price is not None:
        lines += _block("Price", ((price_sentence(entry), Tone.NORMAL),))
    return tuple(lines)


def _block(title: str, *lines: Pieces) -> list[Pieces]:
    return [((title, Tone.MUTED),), *((("  ", Tone.NORMAL), *line) for line in lines)]


def _claim_block(entry: NodeEntry, now_ns: int) -> list[Pieces]:
    claim = entry.claim
    if claim is None:
        if entry.is_managed:
            return _block("NodeClaim", (("NodeClaims may not be listed", Tone.WARNING),))
        return _block("NodeClaim", (("none: Karpenter does not manage this node", Tone.MUTED),))
    lines: list[Pieces] = [((clean(claim.name), Tone.STRONG),)]
    if (delta := entry.delta) is not None:
        text = delta_text(delta)
        tone = Tone.WARNING if delta.is_smaller else Tone.NORMAL
        sentence = (
            f"allocatable differs from the NodeClaim by {text}"
            if text
            else "the node's allocatable matches the NodeClaim"
        )
        lines.append(((sentence, tone),))
    if not claim.is_deleting:
        lines.append((("expires ", Tone.MUTED), (expiry_text(claim.expires_ns, now_ns), Tone.NORMAL)))
    grace = claim.termination_grace_period_ns
    lines.append((("drain deadline ", Tone.MUTED), (age_text(0, grace) if grace is not None else "none", Tone.NORMAL)))
    if claim.image_id:
        lines.append((("image ", Tone.MUTED), (clean(claim.image_id), Tone.NORMAL)))
    if requesting := asking_text(claim):
        lines.append((("launched for ", Tone.MUTED), (requesting, Tone.NORMAL)))
    return [*_block("NodeClaim", *lines), *_conditions("NodeClaim conditions", claim.conditions, now_ns)]


def _conditions(title: str, conditions: tuple[Condition, ...], now_ns: int) -> list[Pieces]:
    """Return one line per condition; a glyph shows whether it is healthy."""
    lines: list[Pieces] = []
    for condition in conditions:
        mark, tone = _verdict(condition)
        since = f" {age_text(condition.last_transition_ns, now_ns)}" if condition.last_transition_ns else ""
        text = clean(condition.message or condition.reason)
        is_dull = tone is Tone.GOOD or text == condition.type
        lines.append(
            (
                (f"{mark} ", tone),
                (f"{clean(condition.type)} {clean(condition.status)}", tone if tone is not Tone.GOOD else Tone.NORMAL),
                (since, Tone.MUTED),
                ("" if is_dull else f"  {text}", Tone.NORMAL),
            )
        )
    return _block(title, *(lines or [(("none reported", Tone.MUTED),)]))


_TRUE_AND_LEAVING: Final = ("Drifted", "DisruptionReason", "Drained", "VolumesDetached", "InstanceTerminating")


def _verdict(condition: Condition) -> tuple[str, Tone]:
    is_true = condition.status == "True"
    if condition.type in _TRUE_AND_LEAVING:
        return ("!", Tone.WARNING) if is_true else ("·", Tone.MUTED)
    if condition.type == "Consolidatable":
        return ("✔", Tone.GOOD) if is_true else ("·", Tone.MUTED)
    if condition.status == "Unknown":
        return "?", Tone.ACTIVE
    return ("✔", Tone.GOOD) if is_true is not condition.is_good_when_false else ("✘", Tone.FAULT)


def _resource_names(entry: NodeEntry) -> list[str]:
    """Return cpu, memory, pods and ephemeral storage, then present extended resources."""
    lists: list[ResourceList] = [entry.allocatable]
    if entry.node is not None:
        lists.append(entry.node.capacity)
    if entry.claim is not None:
        lists.append(entry.claim.allocatable)
    present = {name for amounts in lists for name, amount in amounts.items() if amount}
    extended = sorted(name for name in present if "/" in name)
    return [name for name in _FIRST if name in present] + extended[:4]


def _heading(name: str) -> str:
    return {"ephemeral-storage": "ephemeral"}.get(name, clean(name.rpartition("/")[2] if "/" in name else name))


def _writer(name: str) -> tuple[int, Callable[[int], str]]:
    """Return a resource's unit in nano-units, and its formatter: exact figures in one unit, so that columns add up."""
    if name == resources.CPU:
        return NANO_PER_MILLI, lambda millis: f"{millis:,}m"
    if name in (resources.MEMORY, resources.EPHEMERAL_STORAGE):
        return NANO * MI, lambda mebibytes: f"{mebibytes:,}Mi"
    return NANO, count_text


def _column(entry: NodeEntry, name: str) -> dict[str, tuple[str, Tone]]:
    unit, text = _writer(name)
    node, claim = entry.node, entry.claim
    allocatable = resources.nano(entry.allocatable, name) // unit
    capacity = resources.nano(node.capacity, name) // unit if node is not None else 0
    daemons = -(-resources.nano(entry.daemons, name) // unit)
    workload = -(-resources.nano(entry.workload, name) // unit)
    free = allocatable - daemons - workload
    column = dict.fromkeys(_LINES, ("", Tone.NORMAL))
    if node is None:
        promised = resources.nano(claim.allocatable, name) // unit if claim is not None else 0
        column["allocatable"] = (f"{text(promised)}", Tone.STRONG)
        return column
    column["capacity"] = (text(capacity), Tone.NORMAL)
    column["reserved"] = (f"−{text(capacity - allocatable)}" if capacity > allocatable else "0", Tone.MUTED)
    column["allocatable"] = (text(allocatable), Tone.STRONG)
    if entry.access is PodAccess.KNOWN:
        column["DaemonSets"] = (f"−{text(daemons)}" if daemons else "0", Tone.DAEMON if daemons else Tone.MUTED)
        column["workload"] = (f"−{text(workload)}" if workload else "0", Tone.WORKLOAD if workload else Tone.MUTED)
        column["free"] = (text(free), Tone.WARNING if free < 0 else Tone.STRONG)
        column["requested"] = (percent_text(daemons + workload, allocatable), Tone.MUTED)
    else:
        hidden = FORBIDDEN if entry.access is PodAccess.FORBIDDEN else WAITING
        column["free"] = (hidden.text, hidden.tone)
    if (measured := _measured(entry.used, name)) is not None:
        column["in use"] = (text(-(-measured // unit)), Tone.NORMAL)
    if claim is not None and name in claim.allocatable:
        less = allocatable - resources.nano(claim.allocatable, name) // unit
        sign = "+" if less > 0 else "−" if less < 0 else ""
        tone = Tone.WARNING if less < 0 else Tone.MUTED
        column["Δ claim"] = (f"{sign}{text(abs(less))}" if less else "0", tone)
    return column


def _measured(used: Used | None, name: str) -> int | None:
    if used is None:
        return None
    if name == resources.CPU:
        return used.latest.cpu_millis * NANO_PER_MILLI
    return used.latest.memory_bytes * NANO if name == resources.MEMORY else None


def usage_lines(entry: NodeEntry, live: LiveUsage, now_ns: int) -> tuple[Pieces, ...]:
    """Return usage compared with capacity and requests, or why usage is unknown."""
    note = usage_note(live, now_ns)
    used = entry.used
    if used is None:
        return tuple(_block("Live usage", note))
    parts = []
    for name, amount, whole in (
        ("cpu", cpu_text(used.latest.cpu_millis), (used.latest.cpu_millis, entry.cpu)),
        ("mem", memory_text(used.latest.memory_bytes), (used.latest.memory_bytes, entry.memory)),
    ):
        measured, share = whole
        of_node = f"{percent_text(measured, share.capacity)} of allocatable"
        of_requests = f", {percent_text(measured, share.requested)} of requests" if share.requested else ""
        parts.append(f"{name} {amount} ({of_node}{of_requests})")
    lines: list[Pieces] = [((" · ".join(parts), Tone.NORMAL),)]
    if used.samples > 1:
        peak = f"cpu {cpu_text(used.peak_cpu_millis)} mem {memory_text(used.peak_memory_bytes)}"
        lines.append(((f"{samples_text(used)}: {peak}", Tone.MUTED),))
    return tuple(_block("Live usage", *lines, note))
