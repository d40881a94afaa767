"""A pod in words: its state, and what its node's removal would meet."""

from __future__ import annotations

from typing import Final

from karptui.karpenter.do_not_disrupt import ProtectionKind
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.kube.timestamps import ABSENT_NS
from karptui.kube.units import age_text, cpu_text, memory_text
from karptui.session.pods import PodEntry
from karptui.views.live_usage import latest_cpu, latest_memory
from karptui.views.names import short_name
from karptui.views.row import Tone
from karptui.views.sanitize import clean

_DEAD: Final = {
    ProtectionKind.INVALID: "protects nothing",
    ProtectionKind.ELAPSED: "is over and protects nothing any more",
}


def pod_status(entry: PodEntry) -> tuple[str, Tone, int]:
    """Return the state that matters most as a word, its tone, and since when (0 where time says nothing)."""
    pod = entry.pod
    if pod.is_terminating:
        return "Terminating", Tone.LEAVING, pod.deletion_ns
    if pod.waiting_reason:
        is_starting = pod.waiting_reason in ("ContainerCreating", "PodInitializing")
        return pod.waiting_reason, Tone.ACTIVE if is_starting else Tone.FAULT, ABSENT_NS
    if pod.phase == "Pending" and not pod.node_name:
        word = pod.scheduled_reason or "Pending"
        return word, Tone.WARNING, pod.scheduled_ns or pod.created_ns
    if pod.phase == "Running" and pod.ready is False:
        return "NotReady", Tone.WARNING, ABSENT_NS
    tone = {"Running": Tone.GOOD, "Pending": Tone.ACTIVE, "Failed": Tone.FAULT, "Succeeded": Tone.MUTED}
    return pod.phase or "Unknown", tone.get(pod.phase, Tone.NORMAL), ABSENT_NS


def pod_status_text(entry: PodEntry, now_ns: int) -> str:
    """Return the status word, with how long it has been so where that is known."""
    word, _, since_ns = pod_status(entry)
    return f"{word} {age_text(since_ns, now_ns)}" if since_ns else word


def explain_pod(entry: PodEntry, now_ns: int) -> tuple[tuple[str, Tone], ...]:
    """Return a sentence about a pod: its state, where it runs, and what its node's removal would meet."""
    pod = entry.pod
    pieces: list[tuple[str, Tone]] = [(clean(pod_status_text(entry, now_ns)), pod_status(entry)[1])]
    between = (" · ", Tone.MUTED)
    if not pod.node_name and pod.scheduled_message:
        pieces += [(f": {clean(pod.scheduled_message)}", Tone.NORMAL)]
    if pod.node_name:
        pool = f" of {clean(entry.pool)}" if entry.pool else ""
        pieces += [between, (f"on {short_name(clean(pod.node_name))}{pool}", Tone.NORMAL)]
    asks = f"asks cpu {cpu_text(entry.cpu_millis)} mem {memory_text(entry.memory_bytes)}"
    pieces += [between, (asks if pod.requests else "asks for nothing", Tone.NORMAL)]
    if entry.used is not None:
        used = f"uses cpu {cpu_text(latest_cpu(entry.used))} mem {memory_text(latest_memory(entry.used))}"
        pieces += [between, (f"{used} {age_text(entry.used.latest.at_ns, now_ns)} ago", Tone.MUTED)]
    if entry.made_by is not None and entry.made_by.is_by_name:
        pieces += [between, (f"{clean(entry.owner)} by the name of its ReplicaSet, which is not known", Tone.MUTED)]
    protection = entry.protection(now_ns)
    if protection.is_active:
        pieces += [between, (f"{DO_NOT_DISRUPT} keeps its node from being consolidated", Tone.WARNING)]
        return tuple(pieces)
    if entry.protection_text(now_ns):
        pieces += [between, ("leaves with its node", Tone.MUTED)]
    if protection.kind in _DEAD:
        pieces += [between, (f'{DO_NOT_DISRUPT} "{clean(protection.value)}" {_DEAD[protection.kind]}', Tone.NORMAL)]
    return tuple(pieces)
