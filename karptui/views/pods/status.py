"""The state of a pod in a word, with its tone."""

from __future__ import annotations

from karptui.kube.timestamps import ABSENT_NS
from karptui.kube.units import age_text
from karptui.session.pods import PodEntry
from karptui.views.row import Tone


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
