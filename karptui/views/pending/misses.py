"""Why one NodePool does not take a pod, in a few words and with the numbers that decide."""

from __future__ import annotations

from karptui.karpenter.requirements import KeyConflict, UndefinedKey
from karptui.kube import resources
from karptui.kube.resources import CPU, MEMORY, PODS
from karptui.kube.units import count_text, lacking_text
from karptui.provisioning import Gate, PoolExplanation
from karptui.provisioning.explain import NearestMiss, Shortfall
from karptui.provisioning.rejection import (
    LimitReached,
    NotReservable,
    RequirementsUnmet,
    TaintsNotTolerated,
    TopologyUnmet,
    TypesExhausted,
    VolumeUnreachable,
)
from karptui.views.sanitize import clean


def miss_text(pool: PoolExplanation) -> str:
    """Return why a NodePool does not take a pod, empty where it would."""
    if pool.takes_no_part:
        return clean(pool.takes_no_part)
    rejection = pool.rejection
    match rejection:
        case None:
            return ""
        case LimitReached():
            return "at its limit of nodes" if rejection.is_node_count else "its limits leave no type small enough"
        case TaintsNotTolerated():
            return f"taint {clean(', '.join(map(str, rejection.taints)))} not tolerated"
        case VolumeUnreachable():
            return "volume: " + clean("; ".join(_label_text(reason) for reason in rejection.reasons))
        case RequirementsUnmet():
            return clean("; ".join(_label_text(reason) for reason in rejection.reasons))
        case TopologyUnmet():
            return f"{clean(rejection.kind)} over {clean(rejection.key)} leaves no domain"
        case TypesExhausted():
            return _types_text(pool, rejection)
        case NotReservable():
            return "waits for reserved capacity that others of this run hold"
        case _:
            return clean(str(rejection))


def _label_text(reason: UndefinedKey | KeyConflict) -> str:
    if isinstance(reason, UndefinedKey):
        hint = f" (is {reason.hint} meant?)" if reason.hint else ""
        return f"its nodes have no label {reason.key}{hint}"
    asked, had = str(reason.incoming), str(reason.existing)
    return f"asks for {asked}, the pool has {had.removeprefix(f'{reason.key} ')}"


def _types_text(pool: PoolExplanation, rejection: TypesExhausted) -> str:
    if rejection.unmet_min_values:
        return "minValues: " + ", ".join(f"only {count} of {clean(key)}" for key, count in rejection.unmet_min_values)
    if pool.nearest is not None and pool.nearest.shortfalls:
        return nearest_text(pool.nearest) + _cut_text(pool)
    if rejection.clashing_ports and not rejection.considered:
        return "DaemonSets take its host ports"
    if not rejection.with_labels:
        costly = pool.label_costs[0] if pool.label_costs else None
        if costly is not None and not costly.meeting:
            return f"no type has {clean(costly.requirement)}"
        return "no type has all the labels"
    if not rejection.with_labels_and_offering:
        return "no type with the labels has an offering to be had"
    return clean(rejection.reason)


def _cut_text(pool: PoolExplanation) -> str:
    """Return how many types the limits leave where they rule some out: larger ones may be among those."""
    left = {found.after: found.count for found in pool.types_left}
    usable, within = left.get("on offer", 0), left.get("limits", 0)
    return f"; its limits leave {count_text(within)} of {count_text(usable)} types" if within < usable else ""


def nearest_text(nearest: NearestMiss) -> str:
    """Return what the nearest type is short of: ``memory short by 6,846Mi on r5a.8xlarge``."""
    return f"{', '.join(map(_short_text, nearest.shortfalls))} on {clean(nearest.instance_type)}"


def _short_text(one: Shortfall) -> str:
    name, need, room = clean(one.resource), one.need.nano, one.room.nano
    if name == PODS:
        return f"{name} {lacking_text(name, room)} of {lacking_text(name, need)}"
    amount = lacking_text(name, need - room)
    return f"{name} short by {amount}{' cores' if name == CPU and not amount.endswith('m') else ''}"


def carried_text(pool: PoolExplanation) -> str:
    """Return what DaemonSets put on a new node, where the gate was reached: ``490m 938Mi``; empty for nothing."""
    rejection = pool.rejection
    if not isinstance(rejection, TypesExhausted):
        return ""
    loads = [one for one in rejection.overheads if one]
    if not loads:
        return ""
    most = resources.maximum(loads)
    parts = [lacking_text(name, resources.nano(most, name)) for name in (CPU, MEMORY) if resources.nano(most, name)]
    return " ".join(parts)


def gate_word(gate: Gate) -> str:
    """Return a gate in a word for counts of nodes."""
    words = {
        Gate.TAINTS: "taint",
        Gate.REQUIREMENTS: "label",
        Gate.VOLUMES: "volume",
        Gate.PORTS: "host port",
        Gate.TOPOLOGY: "topology",
        Gate.NODEPOOLS: "taken away",
    }
    return words.get(gate, str(gate))
