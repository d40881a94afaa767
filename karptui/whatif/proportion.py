"""A proportion between NodePools: what weights cannot do, a topology spread over a label can.

Every NodePool is given some values of one label, as many as its share, and pods are spread over the label: each value
gets as many pods as any other. That is Karpenter's own recipe for a ratio of spot to on-demand
(https://karpenter.sh/docs/concepts/scheduling/, "On-Demand/Spot Ratio Split").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd
from typing import Any, Final

import msgspec

from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import PodTemplate
from karptui.kube.workload import workload_labels
from karptui.whatif.edits import AnyEdit, ObjectRef, SetField
from karptui.whatif.edits.document import template_document
from karptui.whatif.path import POOL_REQUIREMENTS, value_at

LABEL: Final = "capacity-spread"
"""The label, called as Karpenter's documentation calls it."""
MOST_VALUES: Final = 20
"""Values of the label at the most: every one of them asks for a node of its own."""
_SPREADS: Final = ("spec", "topologySpreadConstraints")


class ProportionError(ValueError):
    """A proportion that cannot be had; a sentence."""


class Bearer(msgspec.Struct, frozen=True):
    """What is edited so that pods change: their workload, or a pod of its own."""

    ref: ObjectRef
    template: PodTemplate


def parse_shares(text: str, offered: Sequence[str], known: Iterable[str]) -> Mapping[str, int]:
    """Read ``70/30``, the shares of the NodePools offered in their order, or ``primary=70 spare=30``.

    Args:
        text: as typed.
        offered: names of the NodePools that numbers alone are for.
        known: names of every NodePool.

    Returns:
        Values of the label by NodePool, divided by what they have in common.

    Raises:
        ProportionError: with a sentence.
    """
    words = text.replace("/", " ").replace(":", " ").replace(",", " ").split()
    if not any("=" in word for word in words):
        if len(words) != len(offered):
            raise ProportionError(f"{len(offered)} numbers are needed, for {', '.join(offered)}; or name=number each")
        words = [f"{name}={word}" for name, word in zip(offered, words, strict=True)]
    shares: dict[str, int] = {}
    names = frozenset(known)
    for word in words:
        name, _, number = word.partition("=")
        if name not in names:
            raise ProportionError(f"there is no NodePool {name}")
        if not (number.isascii() and number.isdecimal() and 0 < int(number[:7]) < 1_000_000):
            raise ProportionError(f"{word}: a share is a whole number from 1 up")
        shares[name] = int(number)
    if len(shares) < 2:
        raise ProportionError("a proportion needs two NodePools")
    return _reduced(shares)


def _reduced(shares: Mapping[str, int]) -> Mapping[str, int]:
    common = gcd(*shares.values())
    values = {name: share // common for name, share in shares.items()}
    if sum(values.values()) <= MOST_VALUES:
        return values
    near = "/".join(map(str, _nearest(list(values.values()))))
    raise ProportionError(
        f"it takes {sum(values.values()):,} values of the label, each with a node of its own; {near} comes near with "
        f"{MOST_VALUES} at the most"
    )


def _nearest(shares: list[int]) -> list[int]:
    """Return the proportion of few enough values that is nearest: least is the largest error of a share."""
    whole = sum(shares)
    best, least = [1] * len(shares), 2.0
    for total in range(len(shares), MOST_VALUES + 1):
        parts = [max(1, round(share * total / whole)) for share in shares]
        error = max(abs(part / sum(parts) - share / whole) for part, share in zip(parts, shares, strict=True))
        if sum(parts) <= MOST_VALUES and error < least:
            best, least = parts, error
    return best


def proportion_edits(
    values: Mapping[str, int], nodepools: Mapping[str, NodePool], bearers: Iterable[Bearer]
) -> tuple[AnyEdit, ...]:
    """Return the edits: values of the label for every NodePool, and a spread over it for every workload.

    Args:
        values: by NodePool, how many values of the label it gets.
        nodepools: by name.
        bearers: what is edited so that the pods change; those without labels of their own are left out, as nothing
            would tell their pods from others.

    Raises:
        ProportionError: when a NodePool is not known as it was written.
    """
    edits: list[AnyEdit] = []
    first = 1
    for name, count in values.items():
        pool = nodepools.get(name)
        if pool is None or not pool.raw:
            raise ProportionError(f"the NodePool {name} is not known as it was written, so it cannot be edited")
        own = {"key": LABEL, "operator": "In", "values": [str(value) for value in range(first, first + count)]}
        written = value_at(pool.raw, POOL_REQUIREMENTS, [])
        others = [one for one in written if not (isinstance(one, Mapping) and one.get("key") == LABEL)]
        edits.append(SetField(ObjectRef("NodePool", name), POOL_REQUIREMENTS, [*others, own]))
        first += count
    edits += [
        SetField(one.ref, (*(() if one.ref.kind == "Pod" else ("spec", "template")), *_SPREADS), _spreads(one.template))
        for one in bearers
        if workload_labels(one.template.labels)
    ]
    return tuple(edits)


def _spreads(template: PodTemplate) -> list[dict[str, Any]]:
    """Return the spreads that pods have, and the one over the label; an older one over the label gives way."""
    written: list[dict[str, Any]] = value_at(template_document(template), _SPREADS, [])
    own = {
        "maxSkew": 1,
        "topologyKey": LABEL,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": workload_labels(template.labels)},
    }
    return [*(one for one in written if one.get("topologyKey") != LABEL), own]
