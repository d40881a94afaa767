"""Taints and tolerations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

NO_SCHEDULE: Final = "NoSchedule"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
NO_EXECUTE: Final = "NoExecute"

HARD_EFFECTS: Final = frozenset({NO_SCHEDULE, NO_EXECUTE})
"""Effects that keep pods off a node."""

_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,18}")


class Taint(msgspec.Struct, frozen=True, gc=False):
    """A taint of a node, a NodeClaim or a NodePool template."""

    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"

    def matches(self, other: Taint) -> bool:
        """Return whether key and effect are equal, ignoring the value (``MatchTaint``)."""
        return self.key == other.key and self.effect == other.effect


class Toleration(msgspec.Struct, frozen=True, gc=False):
    """A toleration of a pod."""

    key: str = ""
    operator: str = ""
    """``""`` and ``Equal`` compare values, ``Exists`` does not, ``Lt`` and ``Gt`` compare integers."""
    value: str = ""
    effect: str = ""
    """Empty tolerates every effect."""
    seconds: int | None = None
    """``tolerationSeconds``, of NoExecute taints only."""

    def tolerates(self, taint: Taint) -> bool:
        """Return whether this toleration covers the taint.

        Rule: ``Toleration.ToleratesTaint`` of k8s.io/api/core/v1 with the comparison operators enabled.
        """
        if (self.effect and self.effect != taint.effect) or (self.key and self.key != taint.key):
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        if self.operator in ("Lt", "Gt"):
            left, right = _integer(taint.value), _integer(self.value)
            if left is None or right is None:
                return False
            return left < right if self.operator == "Lt" else left > right
        return self.operator == "Exists"


def _integer(text: str) -> int | None:
    """Return a canonical decimal integer that fits in 64 bits, otherwise None."""
    if _INTEGER.fullmatch(text) is None:
        return None
    value = int(text)
    return value if -(1 << 63) <= value < 1 << 63 else None


def untolerated(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> list[Taint]:
    """Return the taints that no toleration covers; PreferNoSchedule counts like the other effects.

    Rule: ``Taints.Tolerates`` in Karpenter's pkg/scheduling/taints.go.
    """
    return [taint for taint in taints if not any(toleration.tolerates(taint) for toleration in tolerations)]


def forbidding(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> list[Taint]:
    """Return the taints that no toleration covers, and that do not only prefer other pods."""
    return untolerated((taint for taint in taints if taint.effect != PREFER_NO_SCHEDULE), tolerations)
