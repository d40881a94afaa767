"""What a pod means for the disruption of its node: whether a drain waits for it, and what moving it costs.

Rules: ``pkg/utils/pod/scheduling.go`` and ``pkg/utils/disruption/disruption.go``. What provisioning needs too is
in ``karptui.provisioning.waiting_pods``.
"""

from __future__ import annotations

import math
import re
from typing import Final

from karptui.karpenter.labels import DISRUPTED_TAINT, POD_DELETION_COST
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.taints import untolerated
from karptui.kube.timestamps import NS_PER_SECOND

STUCK_AFTER_NS: Final = 60 * NS_PER_SECOND
"""How long past its deletionTimestamp, grace included, a pod is still waited for."""
CRITICAL_CLASSES: Final = frozenset({"system-cluster-critical", "system-node-critical"})
MAX_EVICTION_COST: Final = 10.0
_PRIORITY_SCALE: Final = float(1 << 25)
_DELETION_COST_SCALE: Final = float(1 << 27)
_DIGITS: Final = r"[0-9]+(?:_[0-9]+)*"
_HEX_DIGITS: Final = r"[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*"
_DECIMAL: Final = re.compile(rf"[+-]?(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEXADECIMAL: Final = re.compile(
    rf"[+-]?0[xX](?:_?{_HEX_DIGITS}\.?(?:{_HEX_DIGITS})?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}"
)
_NAMED: Final = re.compile(r"[+-]?(inf|infinity)|nan", re.IGNORECASE | re.ASCII)


def tolerates_disrupted(template: PodTemplate) -> bool:
    """Return whether the pods tolerate Karpenter's disrupted taint; a keyless ``Exists`` toleration does."""
    return not untolerated((DISRUPTED_TAINT,), template.tolerations)


def is_critical(template: PodTemplate) -> bool:
    """Return whether the pods are drained in the later tiers: by the two system priority classes' names only."""
    return template.priority_class_name in CRITICAL_CLASSES


def is_stuck_terminating(pod: Pod, now_ns: int) -> bool:
    """Return whether a terminating pod is more than a minute past its deletionTimestamp."""
    return pod.is_terminating and now_ns - pod.deletion_ns > STUCK_AFTER_NS


def eviction_cost(template: PodTemplate) -> float:
    """Return what evicting one of the pods costs, from -10 to 10; an ordinary pod is 1 (``EvictionCost``)."""
    cost = 1.0
    written = template.annotations.get(POD_DELETION_COST)
    deletion_cost = None if written is None else parse_float(written)
    if deletion_cost is not None:
        cost += deletion_cost / _DELETION_COST_SCALE
    cost += template.priority / _PRIORITY_SCALE
    # Written so that NaN stays NaN, as Go's comparison leaves it.
    if cost < -MAX_EVICTION_COST:
        return -MAX_EVICTION_COST
    return min(cost, MAX_EVICTION_COST)


def positive_cost(cost: float) -> float:
    """Return the cost where it is above zero, else zero; NaN stays NaN."""
    return 0.0 if cost <= 0 else cost


def parse_float(text: str) -> float | None:
    """Return a number as Go's ``strconv.ParseFloat`` reads it, None where it does not; ``1_000`` is one."""
    if _NAMED.fullmatch(text):
        return float(text)
    digits = text.replace("_", "")
    if _DECIMAL.fullmatch(text):
        value = float(digits)
    elif _HEXADECIMAL.fullmatch(text):
        try:
            value = float.fromhex(digits)
        except OverflowError:
            return None
    else:
        return None
    return None if math.isinf(value) else value
