"""Change to what a new node has for pods: memory overhead, pod slots, DaemonSets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.ledger import PERCENT_DIGITS, build_ledger, fitting_overhead_percent, rounded_down
from karptui.aws.nodeclass import NodeClassError, parse_nodeclass
from karptui.karpenter.nodeclass import EC2_KIND, NodeClass, is_ec2
from karptui.karpenter.nodepool import NodePool
from karptui.kube.quantity import NANO
from karptui.kube.resources import MEMORY, PODS, Shortage
from karptui.kube.workload import DaemonSet
from karptui.provisioning import PoolExplanation
from karptui.whatif.edits import DeleteObject, ObjectRef, SetField, SetSetting
from karptui.whatif.remedies.pending.remedy import RemedyKind, Trial, TrialStep, UnplacedPods, once

SETTING: Final = "VM_MEMORY_OVERHEAD_PERCENT"
SETTINGS: Final = "Karpenter's settings"


def node_trials(question: UnplacedPods) -> Iterator[Trial]:
    """Yield the changes that the nearest misses suggest, each once."""
    if question.explanation is None:
        return
    pools = {pool.name: pool for pool in question.base.inventory.nodepools}
    misses = [one for one in question.explanation.pools if one.nearest is not None and one.nearest.shortages]
    if not question.base.types.is_fixed:
        if any(one.resource == MEMORY for miss in misses if miss.nearest for one in miss.nearest.shortages):
            yield from _overhead(question, [pools[miss.nodepool] for miss in misses], misses)
        for miss in misses:
            yield from _max_pods(question, pools[miss.nodepool], miss)
    seen: set[str] = set()
    for miss in misses:
        assert miss.nearest is not None
        for daemonset in question.base.inventory.daemonsets:
            if daemonset.key not in seen and _covers(daemonset, miss.nearest.shortages):
                seen.add(daemonset.key)
                edit = DeleteObject(ObjectRef("DaemonSet", daemonset.name, daemonset.namespace))
                words = "take it away, or keep it off these nodes"
                yield once(RemedyKind.DAEMONSET, f"DaemonSet {daemonset.key}", words, (edit,))


def _covers(daemonset: DaemonSet, short: tuple[Shortage, ...]) -> bool:
    """Return whether what a DaemonSet asks is as much as what is missing."""
    requests = daemonset.template.requests
    return all(
        (NANO if one.resource == PODS else requests[one.resource].nano if one.resource in requests else 0)
        >= one.need.nano - one.room.nano
        for one in short
    )


def _overhead(question: UnplacedPods, pools: list[NodePool], misses: list[PoolExplanation]) -> Iterator[Trial]:
    """Yield lower overhead percents, with the one that the nearest miss needs as a guess."""
    scale = 10**PERCENT_DIGITS
    now = question.base.settings.vm_memory_overhead_percent
    highest = int(round(now * scale, 6)) - 1
    if highest < 0:
        return
    steps = tuple(_percent_step(number / scale) for number in range(highest, -1, -1))
    percents = [
        percent
        for pool, miss in zip(pools, misses, strict=True)
        if (percent := _guess(question, pool, miss)) is not None
    ]
    guess = max(percents, default=None)
    position = None if guess is None else highest - round(guess * scale)
    yield Trial(RemedyKind.OVERHEAD, SETTINGS, steps, position if position is not None and position >= 0 else None)


def _percent_step(percent: float) -> TrialStep:
    text = f"{percent:.{PERCENT_DIGITS}f}"
    return TrialStep(f"{SETTING} ≤ {text}", (SetSetting(SETTING, text.rstrip("0").rstrip(".") or "0"),))


def _guess(question: UnplacedPods, pool: NodePool, miss: PoolExplanation) -> float | None:
    """Return the percent by which the memory of the nearest type fits, None where it cannot be told."""
    nearest = miss.nearest
    nodeclass = _nodeclass(question, pool)
    if nearest is None or nodeclass is None:
        return None
    short = next((one for one in nearest.shortages if one.resource == MEMORY), None)
    facts = instance_type_facts().get(nearest.instance_type)
    types = question.prepared.catalogues[pool.name].types
    instance_type = next((one for one in types if one.name == nearest.instance_type), None)
    if short is None or facts is None or instance_type is None:
        return None
    try:
        parsed = parse_nodeclass(nodeclass)
    except NodeClassError:
        return None
    ledger = build_ledger(facts, instance_type, question.base.settings)
    percent = fitting_overhead_percent(facts, parsed, ledger, short.need)
    return None if percent is None else rounded_down(percent)


def _nodeclass(question: UnplacedPods, pool: NodePool) -> NodeClass | None:
    ref = pool.node_class_ref
    nodeclasses = question.base.inventory.nodeclasses if is_ec2(ref) else ()
    return next((one for one in nodeclasses if is_ec2(one) and one.name == ref.name), None)


def _max_pods(question: UnplacedPods, pool: NodePool, miss: PoolExplanation) -> Iterator[Trial]:
    assert miss.nearest is not None
    short = next((one for one in miss.nearest.shortages if one.resource == PODS), None)
    nodeclass = _nodeclass(question, pool)
    if short is None or nodeclass is None:
        return
    count = short.need.nano // NANO
    words = f"set kubelet.maxPods to {count}; the nodes' network must have that many addresses"
    edit = SetField(ObjectRef(EC2_KIND, nodeclass.name), ("spec", "kubelet", "maxPods"), count)
    yield once(RemedyKind.MAX_PODS, f"{EC2_KIND} {nodeclass.name}", words, (edit,))
