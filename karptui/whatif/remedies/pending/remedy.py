"""Remedies for pods that wait: tried by a run of the engine, or said without one."""

from __future__ import annotations

from collections.abc import Container, Iterable
from enum import StrEnum
from typing import NamedTuple

import msgspec

from karptui.aws.prices import LIST_PRICES, PriceSettings, settings_of
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU
from karptui.kube.units import amount_text, is_in_bytes, mebibytes_text
from karptui.provisioning.explain import PodExplanation
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.reporter import Reporter, silent
from karptui.provisioning.solution import Solution, solve
from karptui.whatif.difference_lines import ClaimTypes
from karptui.whatif.edits import AnyEdit, EditError, ObjectRef, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.situation import WhatIfBase


class RemedyKind(StrEnum):
    """What sort of change it is."""

    TOLERATE = "tolerate"
    """The pod tolerates a taint of the NodePool."""
    REMOVE_TAINT = "remove taint"
    """The NodePool loses a taint."""
    LIMIT = "limit"
    """The NodePool may grow further."""
    POOL_VALUE = "pool requirement"
    """A requirement of the NodePool allows one more value."""
    POOL_LABEL = "pool label"
    """The NodePool's nodes get a label."""
    POD_SELECTOR = "pod selector"
    """The pod no longer asks for a label."""
    INSTANCE_TYPE = "instance type"
    """A requirement of the NodePool allows a further type."""
    OVERHEAD = "overhead"
    """VM_MEMORY_OVERHEAD_PERCENT is lowered."""
    REQUEST = "request"
    """The pod asks for less."""
    MAX_PODS = "maxPods"
    """Nodes take more pods."""
    DAEMONSET = "DaemonSet"
    """A DaemonSet is taken away."""
    SPREAD = "spread"
    """The pod is no longer spread."""
    AFFINITY = "affinity"
    """The pod no longer keeps to other pods, or away from them."""
    MIN_VALUES = "minValues"
    """A requirement of the NodePool asks for fewer values."""


class Gain(msgspec.Struct, frozen=True):
    """The effect of a change on pods."""

    placed: int
    """Number of the pods that become schedulable."""
    asked: int
    nodes: tuple[str, ...] = ()
    """Existing nodes that take them."""
    nodepools: tuple[str, ...] = ()
    """NodePools of the new nodes that take them."""
    new_nodes: int = 0
    instance_type: str = ""
    """The cheapest type of the first new node."""
    other_types: int = 0
    """Further types that the first new node may have."""
    mixed_types: tuple[str, ...] = ()
    """The cheapest type of each new node, each once; empty if all may have the same types."""
    price_per_hour: float | None = None
    """Cost of the new nodes at their cheapest offerings; None without a new node or a price."""
    displaced: tuple[str, ...] = ()
    """Other pods, ``namespace/name``, that had a place and lose it."""


class Remedy(msgspec.Struct, frozen=True):
    """A change that was tried and helps."""

    kind: RemedyKind
    subject: str
    """The object it changes: ``NodePool general``, ``Pod trino/worker-0``, ``setting``."""
    words: str
    """The change, as text that holds for all pods: ``raise its limit of cpu to 120``."""
    edits: tuple[AnyEdit, ...]
    """The change as a what-if takes it; for several pods one edit each."""
    gain: Gain


class RemedyReport(msgspec.Struct, frozen=True):
    """The changes that were tried for pods."""

    tried: int = 0
    to_try: int = 0
    """Changes in all."""
    remedies: tuple[Remedy, ...] = ()
    """Remedies that help: for all pods before some, cheap before expensive."""
    left_out: tuple[str, ...] = ()
    """Changes that could not be tried, as text."""

    @property
    def is_complete(self) -> bool:
        """Whether everything has been tried."""
        return self.tried >= self.to_try


_MIB = 1 << 20
_GIB_IN_MIB = 1 << 10


def whole_nano(resource: str, nano: int, *, is_up: bool) -> int:
    """Return an amount rounded to what people write: millicores, mebibytes, pieces."""
    unit = NANO_PER_MILLI if resource == CPU else NANO * _MIB if is_in_bytes(resource) else NANO
    return (-(-nano // unit) if is_up else nano // unit) * unit


def quantity_text(resource: str, nano: int) -> str:
    """Return a rounded amount as a quantity: ``238914Mi``, ``1500m``, ``2``."""
    if resource == CPU:
        millis = nano // NANO_PER_MILLI
        return f"{millis}m" if millis % 1000 else str(millis // 1000)
    return f"{nano // (NANO * _MIB)}Mi" if is_in_bytes(resource) else str(nano // NANO)


def amount_words(resource: str, nano: int) -> str:
    """Return a rounded amount for people: ``238,914Mi (233Gi)``, ``1500m``, ``12``."""
    if not is_in_bytes(resource):
        return amount_text(resource, nano)
    mib = nano // (NANO * _MIB)
    whole = f" ({mib // _GIB_IN_MIB:,}Gi)" if mib >= 10 * _GIB_IN_MIB else ""
    return f"{mebibytes_text(nano // NANO)}{whole}"


class AttemptStep(NamedTuple):
    """A change of one size."""

    words: str
    """The change, as text that holds for all pods."""
    edits: tuple[AnyEdit, ...]


class Attempt(msgspec.Struct, frozen=True):
    """A change in one size, or in several sizes, where a larger size never places fewer pods."""

    kind: RemedyKind
    subject: str
    """The object it changes: ``NodePool general``, ``the pods``, ``Karpenter's settings``."""
    steps: tuple[AttemptStep, ...]
    """The gentlest first."""
    guess: int | None = None
    """Position of the step that is likely the gentlest that helps."""


class UnplacedPods(NamedTuple):
    """Unschedulable pods, and why."""

    base: WhatIfBase
    pods: tuple[Pod, ...]
    """Pods that no rule tells apart."""
    explanation: PodExplanation | None
    """Explanation of the first pod; None if Karpenter skips it."""

    @property
    def prepared(self) -> Prepared:
        """The cluster, made ready for runs."""
        return self.base.prepared

    @property
    def siblings(self) -> tuple[Pod, ...]:
        """The pods and all other pending pods of the same template, which changes for all of them."""
        uids = {pod.uid for pod in self.pods}
        template = self.first.template
        others = (pod for pod in self.prepared.pending if pod.template is template and pod.uid not in uids)
        return (*self.pods, *others)

    @property
    def first(self) -> Pod:
        """The first of the pods."""
        return self.pods[0]


def set_field(pods: Iterable[Pod], path: tuple[str | int, ...], value: str | None) -> tuple[AnyEdit, ...]:
    """Return an edit of one field for each pod; None takes the field away."""
    return tuple(SetField(ref_of(pod), path, value) for pod in pods)


def ref_of(pod: Pod) -> ObjectRef:
    """Return a reference to a pod."""
    return ObjectRef("Pod", pod.name, pod.namespace)


def once(kind: RemedyKind, subject: str, words: str, edits: Iterable[AnyEdit]) -> Attempt:
    """Return a change of a single size."""
    return Attempt(kind, subject, (AttemptStep(words, tuple(edits)),))


def attempt(
    base: WhatIfBase,
    edits: tuple[AnyEdit, ...],
    pods: Iterable[Pod],
    failing: Container[str],
    reporter: Reporter = silent,
) -> Gain | None:
    """Return the effect of edits on pods; None if none becomes schedulable or an edit is impossible.

    Args:
        failing: ``namespace/name`` of every unschedulable pod without the edits.
    """
    solution = solved(base, edits, reporter)
    settings = settings_of(base.prices)
    return None if solution is None else gain_of(solution, {pod.uid for pod in pods}, failing, settings)


def solved(base: WhatIfBase, edits: tuple[AnyEdit, ...], reporter: Reporter = silent) -> Solution | None:
    """Return a run of the engine on the edited cluster; None if an edit is impossible."""
    try:
        edited = apply(base, edits)
    except EditError:
        return None
    return solve(edited.prepared, reporter=reporter)


def gain_of(
    solution: Solution, uids: set[str], failing: Container[str], settings: PriceSettings = LIST_PRICES
) -> Gain | None:
    """Return the effect of a run on pods; None if there is none."""
    nodes = [(filled.state.name, sum(pod.uid in uids for pod in filled.pods)) for filled in solution.nodes]
    nodes = [node for node in nodes if node[1]]
    claims = [claim for claim in solution.claims if any(pod.uid in uids for pod in claim.pods)]
    placed = sum(count for _, count in nodes) + sum(pod.uid in uids for claim in claims for pod in claim.pods)
    if not placed:
        return None
    prices = [settings.paid(claim.cheapest_price_per_hour) for claim in claims]
    known_prices = [price for price in prices if price is not None]
    types = ClaimTypes()
    cheapest = [option.name for claim in claims if (option := types.first(claim)) is not None]
    is_mixed = len({types.number(claim) for claim in claims}) > 1
    return Gain(
        placed=placed,
        asked=len(uids),
        nodes=tuple(name for name, _ in nodes),
        nodepools=tuple(dict.fromkeys(claim.nodepool_name for claim in claims)),
        new_nodes=len(claims),
        instance_type=cheapest[0] if cheapest else "",
        other_types=max(claims[0].type_mask.bit_count() - 1, 0) if claims else 0,
        mixed_types=tuple(dict.fromkeys(cheapest)) if is_mixed else (),
        price_per_hour=sum(known_prices) if known_prices and len(known_prices) == len(prices) else None,
        displaced=tuple(sorted(key for key in solution.errors if key not in failing)),
    )
