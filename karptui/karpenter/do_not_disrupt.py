"""Value of a pod's ``karpenter.sh/do-not-disrupt`` annotation at a given time.

``disruption/do_not_disrupt.py`` applies it to pods and nodes. Rules: ``IsDoNotDisruptActive`` in
``pkg/utils/pod/scheduling.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final

import msgspec

from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS


class ProtectionKind(StrEnum):
    """Effect of the annotation."""

    NONE = "none"
    """No annotation."""
    ALWAYS = "always"
    """``"true"``: protects an active pod without time limit."""
    TIMED = "timed"
    """A duration that has not ended."""
    NOT_STARTED = "not started"
    """A duration that has not started because the pod has no ``startTime``; protects."""
    ELAPSED = "elapsed"
    """A duration that has ended; does not protect."""
    INVALID = "invalid"
    """Neither ``"true"`` nor a positive duration; does not protect, and Karpenter warns."""


class Protection(msgspec.Struct, frozen=True, gc=False):
    """Effect of ``karpenter.sh/do-not-disrupt`` on a pod at a given time."""

    kind: ProtectionKind
    value: str = ""
    """The annotation as written."""
    until_ns: int = ABSENT_NS
    """End of the duration; ``ABSENT_NS`` if there is none."""
    problem: str = ""
    """Karpenter's message about an invalid value."""

    @property
    def is_active(self) -> bool:
        """Whether it protects an active pod."""
        return self.kind in (ProtectionKind.ALWAYS, ProtectionKind.TIMED, ProtectionKind.NOT_STARTED)


OFF: Final = frozenset({"false", "False", "FALSE", ""})
"""Values by which a user asks for no protection."""
UNPROTECTED = Protection(ProtectionKind.NONE)
_ALWAYS = Protection(ProtectionKind.ALWAYS, "true")


class DoNotDisruptValue(msgspec.Struct, frozen=True, gc=False):
    """A parsed annotation value, shared by all pods of a template."""

    text: str
    duration_ns: int = 0
    """0 for ``"true"`` and for values that are not positive durations."""
    problem: str = ""

    def at(self, start_ns: int, now_ns: int) -> Protection:
        """Return the protection of an active pod that started at ``start_ns``."""
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
    """Return the parsed annotation of a pod or template, None if absent."""
    text = annotations.get(DO_NOT_DISRUPT)
    return None if text is None else read_value(text)


def protection_of(pod: Pod, now_ns: int) -> Protection:
    """Return a pod's protection now; pods that have ended or are terminating are not protected."""
    value = value_of(pod.template.annotations) if pod.is_active else None
    return UNPROTECTED if value is None else value.at(pod.start_ns, now_ns)


@lru_cache(maxsize=1024)
def read_value(text: str) -> DoNotDisruptValue:
    """Parse an annotation value; an invalid value is returned with its problem instead of raising."""
    if text == "true":
        return DoNotDisruptValue(text)
    try:
        duration_ns = parse_duration(text)
    except DurationError as error:
        return DoNotDisruptValue(text, problem=f'failed to parse "{text}" as a duration: {error}')
    if duration_ns <= 0:
        return DoNotDisruptValue(text, problem=f'duration "{text}" must be positive')
    return DoNotDisruptValue(text, duration_ns)
