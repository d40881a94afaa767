"""Try changes one after the other, a run of the engine at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.ledger import PERCENT_DIGITS, build_ledger, fitting_overhead_percent, rounded_down
from karptui.aws.nodeclass import readable
from karptui.karpenter.nodeclaim import is_foreign
from karptui.karpenter.nodeclass import EC2_KIND, NodeClass, is_ec2
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO
from karptui.kube.resources import MEMORY, PODS, Shortage
from karptui.kube.taints import untolerated
from karptui.kube.units import first_of
from karptui.kube.workload import DaemonSet
from karptui.provisioning.explain import PodExplanation, PoolExplanation
from karptui.provisioning.reporter import Reporter, silent
from karptui.provisioning.solution import Solution, solve
from karptui.whatif.edits import AnyEdit, DeleteObject, ObjectRef, SetField, SetSetting
from karptui.whatif.edits.document import taint_document
from karptui.whatif.remedies.pending.pods import pod_trials
from karptui.whatif.remedies.pending.pools import pool_trials
from karptui.whatif.remedies.pending.remedy import (
    Attempt,
    AttemptStep,
    Gain,
    Remedy,
    RemedyKind,
    RemedyReport,
    UnplacedPods,
    attempt,
    once,
)
from karptui.whatif.situation import WhatIfBase

SETTING: Final = "VM_MEMORY_OVERHEAD_PERCENT"
SETTINGS: Final = "Karpenter's settings"


def node_trials(question: UnplacedPods) -> Iterator[Attempt]:
    """Yield the changes that the nearest misses suggest, each once."""
    if question.explanation is None:
        return
    pools = {pool.name: pool for pool in question.base.inventory.nodepools}
    misses = [pool for pool in question.explanation.pools if pool.nearest is not None and pool.nearest.shortages]
    if not question.base.types.is_fixed:
        if any(shortage.resource == MEMORY for miss in misses if miss.nearest for shortage in miss.nearest.shortages):
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
                words = "delete it, or exclude it from these nodes"
                yield once(RemedyKind.DAEMONSET, f"DaemonSet {daemonset.key}", words, (edit,))


def taint_trials(question: UnplacedPods) -> Iterator[Attempt]:
    """Yield the removal of each taint that nodes have neither from Karpenter nor from Kubernetes."""
    by_taint: dict[tuple[str, str], list[Node]] = {}
    for state in question.prepared.states:
        if state.node is None or state.is_marked_for_deletion:
            continue
        for taint in untolerated(state.node.taints, question.first.template.tolerations):
            if is_foreign(taint, state.claim):
                by_taint.setdefault((taint.key, taint.effect), []).append(state.node)
    for (key, effect), nodes in by_taint.items():
        edits: list[AnyEdit] = []
        for node in nodes:
            kept = [taint_document(taint) for taint in node.taints if (taint.key, taint.effect) != (key, effect)]
            edits.append(SetField(ObjectRef("Node", node.name), ("spec", "taints"), kept or None))
        subject = f"Node{'s' * (len(nodes) > 1)} {first_of([node.name for node in nodes], 2)}"
        yield once(RemedyKind.REMOVE_TAINT, subject, f"remove the taint {key}:{effect}, for all pods", edits)


def _covers(daemonset: DaemonSet, short: tuple[Shortage, ...]) -> bool:
    requests = daemonset.template.requests
    return all(
        (NANO if s.resource == PODS else requests[s.resource].nano if s.resource in requests else 0)
        >= s.need.nano - s.room.nano
        for s in short
    )


def _overhead(question: UnplacedPods, pools: list[NodePool], misses: list[PoolExplanation]) -> Iterator[Attempt]:
    """Yield lower overhead percentages, with the one that the closest miss needs as a guess."""
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
    yield Attempt(RemedyKind.OVERHEAD, SETTINGS, steps, position if position is not None and position >= 0 else None)


def _percent_step(percent: float) -> AttemptStep:
    text = f"{percent:.{PERCENT_DIGITS}f}"
    return AttemptStep(f"{SETTING} ≤ {text}", (SetSetting(SETTING, text.rstrip("0").rstrip(".") or "0"),))


def _guess(question: UnplacedPods, pool: NodePool, miss: PoolExplanation) -> float | None:
    """Return the percentage at which the memory of the closest type suffices; None if unknown."""
    nearest = miss.nearest
    nodeclass = _nodeclass(question, pool)
    parsed = readable(nodeclass) if nodeclass is not None else None
    if nearest is None or parsed is None:
        return None
    short = next((shortage for shortage in nearest.shortages if shortage.resource == MEMORY), None)
    facts = instance_type_facts().get(nearest.instance_type)
    types = question.prepared.catalogues[pool.name].types
    instance_type = next((type_ for type_ in types if type_.name == nearest.instance_type), None)
    if short is None or facts is None or instance_type is None:
        return None
    ledger = build_ledger(facts, instance_type, question.base.settings)
    percent = fitting_overhead_percent(facts, parsed, ledger, short.need)
    return None if percent is None else rounded_down(percent)


def _nodeclass(question: UnplacedPods, pool: NodePool) -> NodeClass | None:
    ref = pool.node_class_ref
    nodeclasses = question.base.inventory.nodeclasses if is_ec2(ref) else ()
    return next((nodeclass for nodeclass in nodeclasses if is_ec2(nodeclass) and nodeclass.name == ref.name), None)


def _max_pods(question: UnplacedPods, pool: NodePool, miss: PoolExplanation) -> Iterator[Attempt]:
    assert miss.nearest is not None
    short = next((shortage for shortage in miss.nearest.shortages if shortage.resource == PODS), None)
    nodeclass = _nodeclass(question, pool)
    if short is None or nodeclass is None:
        return
    count = short.need.nano // NANO
    words = f"set kubelet.maxPods to {count}; the nodes' network must have that many addresses"
    edit = SetField(ObjectRef(EC2_KIND, nodeclass.name), ("spec", "kubelet", "maxPods"), count)
    yield once(RemedyKind.MAX_PODS, f"{EC2_KIND} {nodeclass.name}", words, (edit,))


MOST_TRIALS: Final = 80
"""Changes that are tried for one pod."""
FIXED_TYPES: Final = (
    "instance types came with the snapshot: settings and EC2NodeClass fields that shape them cannot be tried"
)


class RemedySearch:
    """Finds the single changes that make pods schedulable.

    Args:
        solution: The run of the engine without edits; computed if None.
    """

    def __init__(
        self,
        base: WhatIfBase,
        pods: Sequence[Pod],
        explanation: PodExplanation | None,
        solution: Solution | None = None,
    ) -> None:
        self._question = UnplacedPods(base, tuple(pods), explanation)
        self._solution = solution
        self._trials: list[Attempt] = []
        self._tried = 0
        self._remedies: list[tuple[int, Remedy]] = []
        self._left_out: list[str] = [FIXED_TYPES] if base.types.is_fixed else []
        self._reporter: Reporter = silent
        self._work = self._steps()
        self._is_listed = False
        self.is_complete = False

    @property
    def report(self) -> RemedyReport:
        """The results up to now."""
        remedies = [remedy for _, remedy in sorted(self._remedies, key=_order)]
        return RemedyReport(
            tried=self._tried,
            to_try=len(self._trials) if self._is_listed else self._tried + 1,
            remedies=tuple(remedies),
            left_out=tuple(self._left_out),
        )

    def step(self, reporter: Reporter = silent) -> bool:
        """Run the engine once more and return whether there was anything left to do."""
        self._reporter = reporter
        if not self.is_complete and next(self._work, None) is None:
            self.is_complete = True
        return not self.is_complete

    def _steps(self) -> Iterator[bool]:
        if self._solution is None:
            self._solution = solve(self._question.prepared, reporter=self._reporter)
        yield True
        trials: list[Attempt] = []
        makers = (node_trials, taint_trials, pool_trials, pod_trials)
        for trial in chain.from_iterable(make(self._question) for make in makers):
            # Two rules may propose the same edit, such as a value that a label and the cheapest type both need.
            if all(trial.steps != earlier.steps for earlier in trials):
                trials.append(trial)
            yield True
        if len(trials) > MOST_TRIALS:
            self._left_out.append(f"{len(trials) - MOST_TRIALS} of {len(trials)} changes are left out")
        self._trials, self._is_listed = trials[:MOST_TRIALS], True
        for index, trial in enumerate(self._trials):
            remedy = yield from self._try(trial)
            self._tried += 1
            self._remedies += [(index, remedy)] if remedy is not None else []
            yield True

    def _try(self, trial: Attempt) -> Generator[bool, None, Remedy | None]:
        """Return the gentlest step that places as many pods as the strongest; None if the strongest places none."""
        assert self._solution is not None
        base, pods, failing = self._question.base, self._question.pods, self._solution.errors
        gains: dict[int, Gain | None] = {}

        def gain(position: int) -> Gain | None:
            if position not in gains:
                gains[position] = attempt(base, trial.steps[position].edits, pods, failing, self._reporter)
            return gains[position]

        def is_enough(position: int, most: int) -> bool:
            probed = gain(position)
            return probed is not None and probed.placed >= most

        last = len(trial.steps) - 1
        best = gain(last)
        yield True
        if best is None:
            return None
        low, high = 0, last
        for probe in _probes(trial, last):
            if low <= probe < high:
                low, high = (low, probe) if is_enough(probe, best.placed) else (probe + 1, high)
                yield True
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if is_enough(middle, best.placed) else (middle + 1, high)
            yield True
        chosen = gain(high)
        assert chosen is not None
        step = trial.steps[high]
        return Remedy(trial.kind, trial.subject, step.words, step.edits, chosen)


def _probes(trial: Attempt, last: int) -> Iterable[int]:
    """Return the positions around a guess: the guess, and the next smaller one, which should not suffice."""
    if trial.guess is None or trial.guess >= last:
        return ()
    return (trial.guess, trial.guess - 1)


def _order(indexed_remedy: tuple[int, Remedy]) -> tuple[object, ...]:
    index, remedy = indexed_remedy
    gain = remedy.gain
    return -gain.placed, bool(gain.displaced), gain.price_per_hour or 0.0, index
