"""Values a cluster and its provider know, offered while typing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from karptui.aws.kubelet_rules import EVICTION_SIGNALS, RESERVED_RESOURCES
from karptui.karpenter.labels import ARCH, CAPACITY_TYPE, INSTANCE_TYPE, NODEPOOL, OS, REGION, WELL_KNOWN, ZONE
from karptui.whatif.field_path import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownValues:
    """Values to offer in addition to the schema; everything is optional."""

    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Requirement and selector keys with their values: instance families and types, zones, capacity types, arch, …"""
    node_pools: tuple[str, ...] = ()
    node_classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names by kind, e.g. ``EC2NodeClass``."""
    namespaces: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    """Names of possible ``scalableRef`` targets."""
    priority_classes: tuple[str, ...] = ()
    taints: tuple[str, ...] = ()
    """Taint keys of the pools and nodes."""
    types: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    """Labels of each instance type and its offerings, with all values; empty if no type is known."""


Taken = Mapping[Path, Mapping[str, str]]
"""Fields that the document has already, by the path of their mapping, with their values."""


class Offer(NamedTuple):
    """A value and why it is offered."""

    value: str
    detail: str = ""


_FIRST_KEYS: Final = (CAPACITY_TYPE, ARCH, OS, INSTANCE_TYPE, ZONE, REGION)
WELL_KNOWN_KEYS: Final = (*_FIRST_KEYS, *sorted(WELL_KNOWN - {NODEPOOL, *_FIRST_KEYS}))
"""Labels that Karpenter and its AWS provider put on every node (their well-known labels)."""
_WELL_KNOWN_VALUES: Mapping[str, tuple[str, ...]] = {
    CAPACITY_TYPE: ("on-demand", "reserved", "spot"),
    ARCH: ("amd64", "arm64"),
    OS: ("linux", "windows"),
}
_RESOURCES: Final = (
    "cpu",
    "memory",
    "ephemeral-storage",
    "pods",
    "nvidia.com/gpu",
    "amd.com/gpu",
    "vpc.amazonaws.com/efa",
)
_DURATIONS: Mapping[str, tuple[str, ...]] = {
    "consolidateAfter": ("0s", "30s", "1m", "5m", "15m", "1h", "Never"),
    "expireAfter": ("Never", "24h", "168h", "336h", "720h"),
    "terminationGracePeriod": ("30s", "5m", "30m", "1h", "24h", "48h"),
    "duration": ("10m", "1h", "8h", "12h", "24h"),
}
_COMMON: Mapping[str, tuple[str, ...]] = {
    "schedule": ("@hourly", "@daily", "@weekly", "0 9 * * mon-fri", "0 0 * * sat,sun"),
    "alias": ("al2023@latest", "bottlerocket@latest", "al2@latest", "windows2022@latest"),
    "karpenter.sh/do-not-disrupt": ("true", "1h", "24h"),
}
_ANNOTATIONS: Final = ("karpenter.sh/do-not-disrupt",)
_LABEL_MAPS: Final = frozenset({"labels", "nodeSelector", "matchLabels"})


def offered_names(path: Path, values: KnownValues, kind: str) -> Iterator[Offer]:
    """Offer names for a mapping without fixed names in the schema."""
    last = path[-1] if path else ""
    if last == "limits" and kind == "NodePool":
        yield from (Offer(name, "resource") for name in ("cpu", "memory", "nodes", *_RESOURCES[2:]))
    elif last in {"requests", "limits", "capacity", "resources"}:
        yield from (Offer(name, "resource") for name in _RESOURCES)
    elif last in {"kubeReserved", "systemReserved"}:
        yield from (Offer(name, "resource") for name in RESERVED_RESOURCES)
    elif last in {"evictionHard", "evictionSoft", "evictionSoftGracePeriod"}:
        yield from (Offer(name, "eviction signal") for name in EVICTION_SIGNALS)
    elif last == "annotations":
        yield from (Offer(name, "Karpenter") for name in _ANNOTATIONS)
    elif last in _LABEL_MAPS:
        yield from _label_keys(values)


def offered_values(path: Path, values: KnownValues, taken: Taken) -> Iterator[Offer]:
    """Offer values for a field or list item.

    Args:
        taken: The document's other fields.
    """
    names = [step for step in path if isinstance(step, str)]
    last = names[-1] if names else ""
    around = names[-2] if len(names) > 1 else ""
    siblings = taken.get(path[:-1], {})
    if last == "values":
        yield from _label_values(_requirement_key(path, taken), values)
    elif around in _LABEL_MAPS and isinstance(path[-1], str):
        yield from _label_values(last, values)
    elif last == "key":
        if around in _TAINT_LISTS:
            yield from (Offer(name, "taint") for name in values.taints)
        elif around in {"requirements", "matchExpressions", "preferences"}:
            yield from _label_keys(values)
    elif last == "value" and around in _TAINT_LISTS:
        yield from _label_values(siblings.get("key", ""), values)
    elif last == "nodes" and around == "budgets":
        yield from (Offer(value) for value in ("0", "1", "10%", "20%", "50%", "100%"))
    elif around == "nodeClassRef":
        yield from _node_class(last, siblings.get("kind", ""), values)
    elif last in _DURATIONS or last in _COMMON:
        yield from (Offer(value) for value in _DURATIONS.get(last) or _COMMON[last])
    else:
        yield from _NAMED.get((around, last), _NAMED.get(("", last), lambda _: ()))(values)


_TAINT_LISTS: Final = frozenset({"taints", "startupTaints", "tolerations"})


def _node_class(field: str, kind: str, values: KnownValues) -> Iterator[Offer]:
    if field == "kind":
        yield from (Offer(name, "node class") for name in values.node_classes or ("EC2NodeClass",))
    elif field == "group":
        yield from (Offer(name) for name in ("karpenter.k8s.aws", "karpenter.kwok.sh"))
    elif field == "name":
        for class_kind, names in values.node_classes.items():
            if not kind or kind == class_kind:
                yield from (Offer(name, class_kind) for name in names)


def _label_keys(values: KnownValues) -> Iterator[Offer]:
    for key in dict.fromkeys((*WELL_KNOWN_KEYS, *values.labels)):
        count = len(values.labels.get(key, ()))
        yield Offer(key, f"{count} value{'' if count == 1 else 's'} here" if count else "label")


_NAMED: Mapping[tuple[str, str], Callable[[KnownValues], Iterable[Offer]]] = {
    ("", "namespace"): lambda values: (Offer(name, "namespace") for name in values.namespaces),
    ("", "priorityClassName"): lambda values: (Offer(name, "PriorityClass") for name in values.priority_classes),
    ("", "topologyKey"): _label_keys,
    ("scalableRef", "name"): lambda values: (Offer(name, "workload") for name in values.workloads),
}


def _label_values(key: str, known_values: KnownValues) -> Iterator[Offer]:
    if key == "karpenter.sh/nodepool":
        yield from (Offer(name, "NodePool") for name in known_values.node_pools)
        return
    values = known_values.labels.get(key) or _WELL_KNOWN_VALUES.get(key, ())
    yield from (Offer(value) for value in sorted(values, key=_natural))


def _natural(text: str) -> tuple[tuple[int, int | str], ...]:
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", text))


def _requirement_key(path: Path, taken: Taken) -> str:
    length = len(path) - path[::-1].index("values") - 1
    return taken.get(path[:length], {}).get("key", "")
