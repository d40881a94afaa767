"""How grave what was said or happened is."""

from __future__ import annotations

from typing import Final

from karptui.kube.objects import Condition
from karptui.session.events import DELETED, HEALTHY_FALSE, EventEntry
from karptui.views.row import Tone

_GOOD: Final = ("Ready", "Launched", "Registered", "Initialized")
_LEAVING: Final = ("Drained", "VolumesDetached", "InstanceTerminating", "DisruptionReason")


def event_tone(entry: EventEntry) -> Tone:
    """Return how grave it is."""
    if not entry.is_transition:
        return Tone.WARNING if entry.is_warning else Tone.NORMAL
    if entry.condition is None:
        return Tone.LEAVING if entry.reason == DELETED else Tone.NORMAL
    return _condition_tone(entry.condition)


def _condition_tone(condition: Condition) -> Tone:
    kind, is_true = condition.type, condition.status == "True"
    if kind in _LEAVING:
        return Tone.LEAVING
    if kind in _GOOD:
        return Tone.GOOD if is_true else Tone.ACTIVE if _is_starting(condition) else Tone.FAULT
    if kind == "Drifted" or (kind in HEALTHY_FALSE and is_true):
        return Tone.WARNING
    return Tone.NORMAL if is_true else Tone.WARNING


def _is_starting(condition: Condition) -> bool:
    return condition.status == "Unknown" and condition.type in ("Registered", "Initialized")
