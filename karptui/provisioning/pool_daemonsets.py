"""What each DaemonSet does to the instance types of a NodePool.

Rules: ``isDaemonPodCompatible`` and ``buildDaemonOverheadGroups`` in
``pkg/controllers/provisioning/scheduling/scheduler.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from karptui.karpenter.labels import WELL_KNOWN
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirements
from karptui.kube import resources
from karptui.provisioning.amounts import with_pod_slots
from karptui.provisioning.catalogue import allocatable_nano
from karptui.provisioning.daemonsets import DaemonGroup, DaemonPod
from karptui.provisioning.type_verdict import Filter, PoolDaemonSet, TypeVerdict, shortages


def pool_daemonsets(
    pool: NodePool,
    requirements: Requirements,
    daemons: Sequence[DaemonPod],
    groups: Mapping[int, DaemonGroup],
    verdicts: Sequence[TypeVerdict],
) -> tuple[PoolDaemonSet, ...]:
    """Return every DaemonSet with what it does to the types, in the order of their names.

    Args:
        pool: The NodePool.
        requirements: Of a new claim of it.
        daemons: One pod of each DaemonSet.
        groups: By index of the types that requirements and offerings leave, which daemons run on them.
        verdicts: On every type, by index.
    """
    types: Counter[str] = Counter()
    excluded: dict[str, list[str]] = {}
    too_many: dict[str, list[str]] = {}
    for index, group in groups.items():
        verdict = verdicts[index]
        types.update(daemon.daemonset_key for daemon in group.daemons)
        if verdict.removed_by is not Filter.DAEMONSETS:
            continue
        have = allocatable_nano(verdict.instance_type)
        too_many.setdefault(_one_too_many(verdict, group.daemons), []).append(verdict.instance_type.name)
        for daemon in group.daemons:
            others = resources.subtract(verdict.daemons, with_pod_slots(daemon.requests))
            if not shortages(verdict.instance_type, have, others):
                excluded.setdefault(daemon.daemonset_key, []).append(verdict.instance_type.name)
    return tuple(
        PoolDaemonSet(
            key=daemon.daemonset_key,
            requests=daemon.requests,
            types=types[daemon.daemonset_key],
            excluded=tuple(excluded.get(daemon.daemonset_key, ())),
            one_too_many=tuple(too_many.get(daemon.daemonset_key, ())),
            why_not="" if types[daemon.daemonset_key] else _why_not(pool, requirements, daemon, has_types=bool(groups)),
        )
        for daemon in daemons
    )


def _one_too_many(verdict: TypeVerdict, daemons: Sequence[DaemonPod]) -> str:
    """Return the DaemonSet from which on a type has no room, in the order of their names."""
    have = allocatable_nano(verdict.instance_type)
    for count in range(1, len(daemons)):
        need = with_pod_slots(resources.add(*(one.requests for one in daemons[:count])), count)
        if shortages(verdict.instance_type, have, need):
            return daemons[count - 1].daemonset_key
    return daemons[-1].daemonset_key


def _why_not(pool: NodePool, requirements: Requirements, daemon: DaemonPod, *, has_types: bool) -> str:
    taints = daemon.untolerated(pool.taints)
    if taints:
        return f"does not tolerate {', '.join(map(str, taints))}"
    if not requirements.compatible(daemon.strict, WELL_KNOWN):
        return "; ".join(map(str, requirements.incompatibilities(daemon.strict, WELL_KNOWN)))
    return "its node selector or affinity fits none of the types" if has_types else "no type is left to carry it"
