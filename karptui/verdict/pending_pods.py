"""Pending pods, each handed to the first cause that explains it: no pod is counted for two findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from karptui.kube.group import group_by
from karptui.kube.objects import Event
from karptui.pending.causes import Cause
from karptui.pending.groups import folded_name
from karptui.verdict.case import PendingLine
from karptui.verdict.finding import ClusterFinding, Explained, FindingCode, FindingSeverity, Manner


class PendingPods:
    """Groups of pending pods without a cause yet."""

    def __init__(self, groups: Iterable[PendingLine]) -> None:
        self._groups = list(groups)

    def take(self, is_explained: Callable[[PendingLine], bool]) -> Explained:
        """Remove the groups that a cause explains, and return them; groups that are held otherwise stay."""
        taken, left = list[PendingLine](), list[PendingLine]()
        for group in self._groups:
            (taken if not group.is_held and is_explained(group) else left).append(group)
        self._groups = left
        return Explained(
            tuple(key for group in taken for key in group.pods),
            tuple(_names(taken)),
            min((group.since_ns for group in taken if group.since_ns), default=None),
            tuple(group.name for group in taken if group.zones and not group.storage_classes),
            tuple(sorted(frozenset().union(*(group.zones for group in taken if not group.storage_classes)))),
            tuple(group.nodes for group in taken),
            tuple(sorted({group.rule for group in taken if group.rule})),
            sum({group.owner: group.preempted for group in taken}.values()),
            tuple(sorted(set.intersection(*(set(group.spread_keys) for group in taken)))) if taken else (),
        )

    def left(self) -> Sequence[PendingLine]:
        """Return the groups that are left."""
        return self._groups


def _names(groups: Iterable[PendingLine]) -> Iterator[str]:
    """Yield one name for the pods of each workload."""
    by_owner: dict[str, list[PendingLine]] = {}
    for group in groups:
        if group.name:
            by_owner.setdefault(group.owner or group.name, []).append(group)
    counts = {owner: sum(len(group.pods) for group in lines) for owner, lines in by_owner.items()}
    for owner, lines in sorted(by_owner.items(), key=lambda entry: -counts[entry[0]]):
        if len(lines) == 1:
            yield lines[0].name
        else:
            yield from folded_names({owner: [key for group in lines for key in group.pods]})


def folded_names(pods: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield one name for the pods (``namespace/name``) of each owner (``Kind/namespace/name``)."""
    for owner, keys in pods.items():
        parts = [key.partition("/") for key in keys]
        yield folded_name(parts[0][0], [name for _, _, name in parts], owner.rpartition("/")[2])


def expected_on(names: frozenset[str]) -> Callable[[PendingLine], bool]:
    """Return whether a group is expected on one of these nodes or NodeClaims, as a function."""
    return lambda group: not names.isdisjoint(group.nodes)


def of_pools(group: PendingLine, pools: frozenset[str]) -> bool:
    """Return whether NodePools that launch nothing are all that a group could go to."""
    if group.cause == Cause.NO_POOL:
        return not group.suited_pools or not pools.isdisjoint(group.suited_pools)
    return bool(group.pools) and group.cause in (Cause.CLAIM, Cause.UNPLACED) and pools.issuperset(group.pools)


def pending_findings(groups: Sequence[PendingLine]) -> Iterator[ClusterFinding]:
    """Yield the groups that no other cause explains, those that wait for the same together."""
    stuck = [group for group in groups if group.is_stuck]
    full = group_by((group for group in stuck if group.full_pool), lambda group: group.full_pool)
    others = (group for group in stuck if not group.full_pool)
    for alike in group_by(others, _reason).values():
        first = min(alike, key=lambda group: group.since_ns)
        pods = [key for group in alike for key in group.pods]
        classes = first.storage_classes if first.zones else ()
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.PENDING,
            since_ns=min((group.since_ns for group in alike if group.since_ns), default=None),
            objects=tuple(f"Pod/{key}" for key in pods),
            names=(*_names(alike), *classes) if first.name else folded_by_namespace(pods),
            pods=len(pods),
            zones=tuple(sorted(first.zones)),
            pending=Explained(preempted=sum({group.owner: group.preempted for group in alike}.values())),
            reasons=first.autoscaled or first.defaulted,
            manner=Manner.DEFAULTED if first.defaulted and not first.autoscaled else Manner.PLAIN,
            detail=first.group,
            words=first.refusal if not first.group else "",
            screen="pending",
        )
    for pool, waiting in full.items():
        pods = [key for group in waiting for key in group.pods]
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.RESERVATIONS_FULL,
            since_ns=min((group.since_ns for group in waiting if group.since_ns), default=None),
            objects=(f"NodePool/{pool}", *(f"Pod/{key}" for key in pods)),
            names=(pool,),
            pods=len(pods),
            screen="pending",
        )


def _reason(group: PendingLine) -> tuple[object, ...]:
    """Return what groups that wait for the same have in common."""
    told = group.autoscaled, group.defaulted, group.refusal
    return (group.shared_reason, *told) if group.shared_reason else (group.group, group.name)


def folded_by_namespace(keys: Iterable[str]) -> tuple[str, ...]:
    """Return one name for the pods (``namespace/name``) of each namespace, if their owners are not known."""
    pods: dict[str, list[str]] = {}
    for key in keys:
        pods.setdefault(f"{key.partition('/')[0]}/", []).append(key)
    return tuple(folded_names(pods))


def pods_of(events: Iterable[Event]) -> tuple[str, ...]:
    """Return the pods (``namespace/name``) that events are about, each once."""
    return tuple(dict.fromkeys(map(key_of, events)))


def key_of(event: Event) -> str:
    """Return ``namespace/name`` of the object that an event is about."""
    return f"{event.involved_namespace}/{event.involved_name}"


def object_of(event: Event) -> str:
    """Return ``Kind/namespace/name`` of the object that an event is about."""
    return f"{event.involved_kind}/{key_of(event)}"
