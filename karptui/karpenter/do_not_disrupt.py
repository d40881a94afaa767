"""What karpenter.sh/do-not-disrupt on a pod says at one instant: a value with a clock.

Everybody asks here; what disruption makes of it, and of nodes that say it, is ``disruption/do_not_disrupt.py``.
Rules: ``IsDoNotDisruptActive`` in ``pkg/utils/pod/scheduling.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache

import msgspec

from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS


class ProtectionKind(StrEnum):
    """What an annotation amounts to."""

    NONE = "none"
    """No annotation."""
    ALWAYS = "always"
    """``"true"``: as long as the pod is active."""
    TIMED = "timed"
    """A duration that still runs."""
    NOT_STARTED = "not started"
    """A duration whose clock has not begun, as the kubelet has not taken the pod: protects."""
    ELAPSED = "elapsed"
    """A duration that is over: protects nothing any more."""
    INVALID = "invalid"
    """Neither ``"true"`` nor a positive duration: protects nothing, and Karpenter warns."""


class Protection(msgspec.Struct, frozen=True, gc=False):
    """What ``karpenter.sh/do-not-disrupt`` does for one pod at one instant."""

    kind: ProtectionKind
    value: str = ""
    """The annotation as written."""
    until_ns: int = ABSENT_NS
    """When a duration ends or ended; ``ABSENT_NS`` where there is no such instant."""
    problem: str = ""
    """Why an invalid value is one, in Karpenter's words."""

    @property
    def is_active(self) -> bool:
        """Whether it protects an active pod."""
        return self.kind in (ProtectionKind.ALWAYS, ProtectionKind.TIMED, ProtectionKind.NOT_STARTED)


UNPROTECTED = Protection(ProtectionKind.NONE)
_ALWAYS = Protection(ProtectionKind.ALWAYS, "true")


class DoNotDisruptValue(msgspec.Struct, frozen=True, gc=False):
    """An annotation value, read once for all pods of a template."""

    text: str
    duration_ns: int = 0
    """0 for ``"true"`` and for values that are not positive durations."""
    problem: str = ""

    def at(self, start_ns: int, now_ns: int) -> Protection:
        """Return what it does for a pod that the kubelet took at ``start_ns``, apart from the pod being active."""
        if self.text == "true":
            return _ALWAYS
        if self.problem:
            return Protection(ProtectionKind.INVALID, self.text, problem=self.problem)
        if start_ns == ABSENT_NS:
            return Protection(ProtectionKind.NOT_STARTED, self.text)
        until_ns = start_ns + self.duration_ns
        kind = ProtectionKind.TIMED if now_ns < until_ns else ProtectionKind.ELAPSED
        return Protection(kind, self.text, until_ns)


def value_of(annotations: Mapping[str, str]) -> DoNotDisruptValue | None:
    """Read the annotation of a pod or its template; None where there is none."""
    text = annotations.get(DO_NOT_DISRUPT)
    return None if text is None else read_value(text)


def protection_of(pod: Pod, now_ns: int) -> Protection:
    """Return what the annotation does for a pod now; of pods that ended or are being deleted nothing is protected."""
    value = value_of(pod.template.annotations) if pod.is_active else None
    return UNPROTECTED if value is None else value.at(pod.start_ns, now_ns)


@lru_cache(maxsize=1024)
def read_value(text: str) -> DoNotDisruptValue:
    """Read an annotation value; never raises, a value that protects nothing carries its problem."""
    if text == "true":
        return DoNotDisruptValue(text)
    try:
        duration_ns = parse_duration(text)
    except DurationError as error:
        return DoNotDisruptValue(text, problem=f'failed to parse "{text}" as a duration: {error}')
    if duration_ns <= 0:
        return DoNotDisruptValue(text, problem=f'duration "{text}" must be positive')
    return DoNotDisruptValue(text, duration_ns)
