"""Why NodePools and nodes reject pending pods, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.overhead import MIB
from karptui.disruption.no_place import NO_ZONE, NO_ZONE_WORDS
from karptui.karpenter.labels import HOSTNAME
from karptui.karpenter.requirements import KeyConflict, Requirement, UndefinedKey, plain_bounds
from karptui.kube import resources
from karptui.kube.quantity import NANO
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from karptui.kube.units import amount_text, count_text, counted, first_of, lacking_text
from karptui.provisioning.explain import NearestMiss, PodExplanation, PoolExplanation
from karptui.provisioning.nearest import is_for_daemons
from karptui.provisioning.node_refusal import NodeRefusal
from karptui.provisioning.rejection import (
    LimitReached,
    NotReservable,
    PlacementGate,
    Rejection,
    RequirementsUnmet,
    ReservationsFull,
    TaintsNotTolerated,
    TopologyUnmet,
    TypesExhausted,
    VolumeUnreachable,
)
from karptui.provisioning.topology_spec import TopologyKind
from karptui.views.column import Field, FieldKind, Heading, text_column
from karptui.views.row import Tone
from karptui.views.sanitize import clean, short_name
from karptui.views.table import Sort, TableSpec
from karptui.views.usage import shortages_text

_WELL_KNOWN_DOMAINS: Final = frozenset(
    {"topology.kubernetes.io", "node.kubernetes.io", "karpenter.k8s.aws", "karpenter.sh"}
)
_DOMAINS_NAMED: Final = 4
_GIGABYTE_NANO: Final = 10**9 * NANO
_LARGE_PART: Final = 4
"""A reservation is named from this part of the capacity on: a quarter."""
_LARGE_SHARE: Final = 10
"""Memory that Karpenter deducts beforehand is named from this part on: a tenth."""


def miss_text(pool: PoolExplanation, *, is_short: bool = False, is_confirmed: bool = False) -> str:
    """Return the reason why a NodePool rejects a pod; empty if it accepts it.

    Args:
        is_short: Whether it must fit a narrow table.
        is_confirmed: Whether Karpenter, which knows all types, rejects the pod too.
    """
    text = _miss_text(pool, is_short=is_short)
    if pool.is_certain:
        return text
    if pool.unseen_labels and not text:
        return f"unknown: no node shows {clean(', '.join(pool.unseen_labels))}"
    seen = pool.types_seen or 0
    doubt = "" if is_confirmed else "unknown: "
    return f"{doubt}{text}; only {counted(seen, 'type')} seen" if seen else f"{doubt}none of its types was seen"


def _miss_text(pool: PoolExplanation, *, is_short: bool) -> str:
    if pool.takes_no_part:
        return clean(pool.takes_no_part)
    rejections = (pool.rejection,) if pool.besides_limits is None else (pool.besides_limits, pool.rejection)
    return "; ".join(_rejection_text(pool, rejection, is_short=is_short) for rejection in rejections)


def _rejection_text(pool: PoolExplanation, rejection: Rejection | None, *, is_short: bool) -> str:
    match rejection:
        case None:
            return ""
        case LimitReached():
            return "at its limit of nodes" if rejection.is_node_count else "no allowed type fits under its limits"
        case TaintsNotTolerated():
            return f"taint {clean(', '.join(map(str, rejection.taints)))} not tolerated"
        case VolumeUnreachable() if pool.contradiction is not None:
            first, other = pool.contradiction
            lead = f"requires {_label(str(first), is_short=is_short)}, but its volume"
            return clean(f"{lead} requires {str(other).removeprefix(f'{other.key} ')}")
        case VolumeUnreachable():
            return _labels_text(rejection.reasons, "its volume ", is_short=is_short)
        case RequirementsUnmet() if pool.contradiction is not None:
            first, other = pool.contradiction
            both = f"requires {_label(str(first), is_short=is_short)} and {str(other).removeprefix(f'{other.key} ')}"
            return clean(both if is_short else f"{both} at the same time")
        case RequirementsUnmet():
            return _labels_text(rejection.reasons, is_short=is_short)
        case TopologyUnmet():
            return _topology_text(pool, rejection, is_short=is_short)
        case TypesExhausted():
            return _types_text(pool, rejection, is_short=is_short)
        case NotReservable():
            return "waiting for reserved capacity that other new nodes hold"
        case ReservationsFull():
            return "its reservations are full, and it allows neither on-demand nor spot"
        case _:
            return clean(str(rejection))


def _topology_text(pool: PoolExplanation, rejection: TopologyUnmet, *, is_short: bool) -> str:
    kind = "default spread (SCHEDULER_CONFIG)" if pool.default_spread_key else rejection.kind
    label, counts = _label(rejection.key, is_short=is_short), rejection.counts
    if pool.keeping_away:
        others = "other pods" if is_short else clean(first_of(pool.keeping_away, 2))
        return f"no {label} satisfies the {kind} of {others}"
    text = f"no {label} satisfies its {clean(kind)}"
    if is_short:
        return text
    if rejection.kind == TopologyKind.AFFINITY and not any(counts.values()):
        where = f"namespace{'s' * (len(rejection.namespaces) > 1)} {first_of(sorted(rejection.namespaces), 2)}"
        return clean(f"{text}: no pod {rejection.selector} is on a node in {where}")
    if rejection.kind != TopologyKind.SPREAD and rejection.key != HOSTNAME and any(counts.values()):
        where = first_of(sorted(domain for domain, count in counts.items() if count), _DOMAINS_NAMED)
        only = "only " if rejection.kind == TopologyKind.AFFINITY else ""
        return clean(f"{text}: pods {rejection.selector} are {only}in {where}")
    if rejection.kind != TopologyKind.SPREAD or rejection.key == HOSTNAME:
        return text
    if not counts:
        return f"{text}: no node that it may use has this label"
    domains = first_of([f"{domain}={counts[domain]}" for domain in sorted(counts)], _DOMAINS_NAMED)
    has_few = rejection.min_domains is not None and len(counts) < rejection.min_domains
    few = f"minDomains {rejection.min_domains}, but {counted(len(counts), 'domain')}; " if has_few else ""
    next_, needed = rejection.next_domains, ""
    if next_ and not has_few and not any(rejection.node_domains.allows(each) for each in next_):
        needed = f"; the next pod must go to {first_of(next_, _DOMAINS_NAMED)}, where it launches no nodes"
        if pool.tainted_pool is not None:
            needed += "; only {} does, whose taint {} it does not tolerate".format(*pool.tainted_pool)
    return clean(f"{text} ({few}maxSkew {rejection.max_skew}; pods: {domains}){needed}")


def _labels_text(reasons: Sequence[UndefinedKey | KeyConflict], who: str = "", *, is_short: bool) -> str:
    parts = []
    for reason in reasons:
        if isinstance(reason, UndefinedKey):
            hint = f" (did you mean {reason.hint}?)" if reason.hint else ""
            label = f"label {_label(reason.key, is_short=is_short)}"
            nodes = f"no {label}" if is_short else f"its nodes have no {label}{clean(_values_text(reason.incoming))}"
            required = f"{who}requires the {label}, which its nodes do not have"
            parts.append(f"{required if who and not is_short else nodes}{clean(hint)}")
        else:
            had = str(reason.existing).removeprefix(f"{reason.key} ")
            parts.append(f"{who}requires {_label(str(reason.incoming), is_short=is_short)}, the pool has {clean(had)}")
    return "; ".join(parts)


def _values_text(requirement: Requirement) -> str:
    """Return the values that a requirement allows, to follow the label: ``=ml``."""
    if len(requirement.values) == 1:
        return f"={min(requirement.values)}"
    bounds = [] if requirement.gte is None else [f"above {requirement.gte - 1}"]
    bounds += [] if requirement.lte is None else [f"below {requirement.lte + 1}"]
    values = first_of(sorted(requirement.values), _DOMAINS_NAMED) or "any value"
    return f" {' and '.join(bounds)}" if bounds else f" ({values})"


def _label(text: str, *, is_short: bool) -> str:
    """Return a label or requirement, without a well-known domain if ``is_short``."""
    domain, slash, rest = plain_bounds(text).partition("/")
    return clean(rest if is_short and slash and domain in _WELL_KNOWN_DOMAINS else f"{domain}{slash}{rest}")


def _types_text(pool: PoolExplanation, rejection: TypesExhausted, *, is_short: bool) -> str:
    if rejection.unmet_min_values:
        return "minValues: " + ", ".join(f"only {count} of {clean(key)}" for key, count in rejection.unmet_min_values)
    if pool.refused:
        return clean(pool.refused)
    if pool.nearest is not None and pool.nearest.shortages:
        if is_short:
            return shortages_text(pool.nearest.shortages, is_short=True)
        carried = carried_text(pool, frozenset(shortage.resource for shortage in pool.nearest.shortages))
        daemons = f"; DaemonSets use {carried} there" if carried and is_for_daemons(pool) else ""
        return _nearest_text(pool.nearest) + daemons + _cut_text(pool)
    if rejection.clashing_ports and not rejection.considered:
        return "its host ports are used by DaemonSets"
    if not rejection.with_labels:
        costly = pool.label_costs[0] if pool.label_costs else None
        if costly is not None and costly.requirement == NO_ZONE:
            return "no zone fits all" if is_short else NO_ZONE_WORDS
        if costly is not None and not costly.meeting:
            return f"no type has {_label(costly.requirement, is_short=is_short)}"
        if pool.clash is not None:
            first, other = (_label(requirement, is_short=is_short) for requirement in pool.clash)
            return f"no type has both {first} and {other}"
        return "no type has all the labels"
    if not rejection.with_labels_and_offering:
        return "no type is available" if is_short else "no type with these labels is available"
    return clean(rejection.reason)


def _cut_text(pool: PoolExplanation) -> str:
    """Return the number of types within the limits, if limits exclude some: larger types may be excluded."""
    left = {types.after: types.count for types in pool.types_left}
    usable, within = left.get("on offer", 0), left.get("limits", 0)
    return f"; its limits leave {count_text(within)} of {count_text(usable)} types" if 0 < within < usable else ""


def _nearest_text(nearest: NearestMiss) -> str:
    """Return the shortage on the nearest type: ``memory short by 6,846Mi on r5a.8xlarge``.

    The disk, or a large part that is reserved, is added, as another instance type would not have more.
    """
    absent = [shortage for shortage in nearest.shortages if not resources.nano(nearest.capacity, shortage.resource)]
    short, name = [shortage for shortage in nearest.shortages if shortage not in absent], clean(nearest.instance_type)
    parts = [f"{shortages_text(short)} on {name}{_set_by_class(nearest)}"] if short else []
    if absent:
        who = "no allowed type" if all(s.resource in nearest.unoffered for s in absent) else name
        has = "has" if who != name else "has no"
        parts.append(f"{who} {has} {clean(', '.join(shortage.resource for shortage in absent))}")
    return "; ".join(parts)


def _set_by_class(nearest: NearestMiss) -> str:
    parts = []
    for shortage in nearest.shortages:
        name, lacking = shortage.resource, shortage.lacking_nano
        whole = resources.nano(nearest.capacity, name)
        reserved = whole - shortage.room.nano
        facts = instance_type_facts().get(nearest.instance_type)
        advertised = facts.memory_mib * MIB * NANO if facts is not None and name == MEMORY else 0
        if name == EPHEMERAL_STORAGE:
            local = (facts.store_gb or 0) * _GIGABYTE_NANO if facts is not None and facts.store_nvme else 0
            unused = "; its local disks count only with instanceStorePolicy RAID0" if local > whole else ""
            parts.append(f"its disk has {amount_text(name, whole)}{unused}")
        elif lacking <= advertised - whole and (advertised - whole) * _LARGE_SHARE >= advertised:
            amounts = f"{amount_text(name, whole)} of its {amount_text(name, advertised)}"
            parts.append(f"Karpenter counts on {amounts}: VM_MEMORY_OVERHEAD_PERCENT")
        elif lacking <= reserved and reserved * _LARGE_PART >= whole:
            amounts = f"{amount_text(name, reserved)} of {amount_text(name, whole)}"
            parts.append(f"the kubelet and the system reserve {amounts} of {name}")
    return f" ({'; '.join(parts)})" if parts else ""


def carried_text(pool: PoolExplanation, names: Collection[str] = (CPU, MEMORY)) -> str:
    """Return the DaemonSet requests of cpu and memory on a new node, if the gate was reached: ``490m 938Mi``."""
    rejection = pool.rejection
    if not isinstance(rejection, TypesExhausted):
        return ""
    loads = [overhead for overhead in rejection.overheads if overhead]
    if not loads:
        return ""
    most = resources.maximum(loads)
    amounts = ((name, resources.nano(most, name)) for name in (CPU, MEMORY) if name in names)
    return " ".join(lacking_text(name, nano) for name, nano in amounts if nano)


def _gate_word(gate: PlacementGate) -> str:
    words = {
        PlacementGate.TAINTS: "taint",
        PlacementGate.REQUIREMENTS: "label",
        PlacementGate.VOLUMES: "volume",
        PlacementGate.PORTS: "host port",
        PlacementGate.TOPOLOGY: "topology",
        PlacementGate.NODEPOOLS: "being removed",
    }
    return words.get(gate, str(gate))


def refusal_word(refusal: NodeRefusal) -> str:
    """Return the reason of one node in a word: ``memory``, ``taint``, ``label``."""
    if refusal.gate is not PlacementGate.ROOM:
        return _gate_word(refusal.gate)
    return clean(" and ".join(shortage.resource for shortage in refusal.shortages)) or "room"


def reason_text(refusal: NodeRefusal) -> str:
    """Return the reason of one node, amounts as Kubernetes writes them: ``memory 240Gi requested, 7374324Ki left``."""
    short = (f"{shortage.resource} {shortage.need} requested, {shortage.room} left" for shortage in refusal.shortages)
    return ", ".join(short) or refusal.reason


def shortage_text(refusal: NodeRefusal) -> str:
    """Return a node's shortages in few cells: ``cpu 28 > 3400m, memory 240Gi > 7,201Mi left``."""
    short = [f"{name} {need} > {room}" for name, need, room in _amounts(refusal)]
    return clean(f"{', '.join(short)} left" if short else refusal.reason)


def _room_text(refusal: NodeRefusal) -> str:
    """Return a node's shortages: ``cpu 28 requested, 3400m left; memory 240Gi requested, 7,201Mi left``."""
    short = [f"{name} {need} requested, {room} left" for name, need, room in _amounts(refusal)]
    return clean("; ".join(short) or refusal.reason)


def _amounts(refusal: NodeRefusal) -> Iterator[tuple[str, str, str]]:
    for shortage in refusal.shortages:
        yield (
            shortage.resource,
            amount_text(shortage.resource, shortage.need.nano),
            amount_text(shortage.resource, shortage.room.nano),
        )


def refusal_counts(explanation: PodExplanation) -> tuple[tuple[str, int], ...]:
    """Return the number of nodes per reason, most frequent first."""
    counts = Counter(map(refusal_word, explanation.nodes))
    return tuple(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def refusals_text(explanation: PodExplanation) -> str:
    """Return the nodes in a line: ``62 tried: 41 memory · 12 taint · 9 label``."""
    total = len(explanation.nodes)
    if not total:
        return "no other to try" if explanation.place and not explanation.is_new_claim else "none to try"
    parts = " · ".join(f"{count_text(count)} {word}" for word, count in refusal_counts(explanation))
    return f"{count_text(total)} tried: {parts}"


NODES_TABLE: Final[TableSpec[NodeRefusal]] = TableSpec(
    noun="nodes tried",
    columns=(
        text_column(
            Heading("name", "NODE", "The node.", 14, 52, is_name=True),
            lambda refusal: refusal.node,
            tone=lambda _: Tone.STRONG,
            short=lambda refusal: short_name(refusal.node),
        ),
        text_column(
            Heading("by", "BY", "Why it is excluded: the first of Karpenter's checks that fails.", 7, 24),
            refusal_word,
            tone=lambda _: Tone.FAULT,
            filters=Field(FieldKind.TEXT, lambda r, _: refusal_word(r), "memory, taint, label…"),
        ),
        text_column(
            Heading("reason", "REASON", "Computed verdict with amounts requested and left.", 24, 140, fill_width=140),
            _room_text,
            short=shortage_text,
            sort=reason_text,
            filters={},
        ),
    ),
    text=lambda refusal: f"{refusal.node} {refusal_word(refusal)} {_room_text(refusal)} {reason_text(refusal)}".lower(),
    key=lambda refusal: refusal.node,
    default_sort=Sort("by"),
)
"""The nodes tried."""
