"""Remedies for blockers and their effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

import msgspec

from karptui.disruption.analysis import NodeFindings
from karptui.disruption.codes import Blocker
from karptui.disruption.outlook import Outcome
from karptui.karpenter.nodeclaim import NodeClaim, claim_key
from karptui.karpenter.nodepool import NodePool
from karptui.kube.group import group_by
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.kube.workload import PodDisruptionBudget
from karptui.whatif.edits import AnyEdit, ObjectRef
from karptui.whatif.scenario import Replay


class BlockerRemedyKind(StrEnum):
    """What sort of remedy it is."""

    OWN_POOL = "own pool for these pods"
    CORDON = "cordon"
    DURATION = "do-not-disrupt with an end"
    GRACE = "terminationGracePeriod"
    SPREAD = "spread"
    PRIORITY = "lower priority"
    REMOVE_ANNOTATION = "remove the annotation"
    REMOVE_NODE_ANNOTATION = "remove the node's annotation"
    ALLOW_EVICTION = "maxUnavailable: 1"
    MORE_REPLICAS = "one more replica"
    ONE_PDB = "one PodDisruptionBudget per pod"
    WIDER_BUDGET = "a wider disruption budget"
    NODE_LIMIT = "room for a replacement"


class Effect(msgspec.Struct, frozen=True, gc=False):
    """The effect of a remedy on its nodes, according to simulated removals."""

    deleted: int = 0
    replaced: int = 0
    kept: int = 0
    """Nodes that stay all the same: something else holds them, or their pods have no cheaper place."""
    unknown: int = 0
    """Nodes that are not simulated yet, or whose outcome is unknown."""
    untried: int = 0
    """Nodes for which these blockers were never removed together; a what-if shows the result."""
    saves_per_hour: float = 0.0
    """Dollars per hour by the NodePools' prices, for the nodes that go."""
    unpriced: int = 0
    """Freed nodes whose savings are unknown and left out."""
    is_at_once: bool = True
    """Whether nodes are removed right after the change; otherwise once the protected pods have ended."""
    within_seconds: int = 0
    """Where the wait has an end that is known: in how many seconds the last protection is over."""

    @property
    def goes(self) -> int:
        """Nodes that go."""
        return self.deleted + self.replaced


class BlockerRemedy(msgspec.Struct, frozen=True):
    """One thing that can be done."""

    kind: BlockerRemedyKind
    sentence: str
    """The effect and its limits."""
    edits: tuple[AnyEdit, ...] = ()
    """The change as edits; empty if an object it needs is unknown."""
    effect: Effect | None = None
    """None if it has no effect on existing nodes."""
    replay: Replay = Replay.NEXT
    """What shows the difference best."""
    value: str = ""
    """The value to set, computed for this cluster: ``8h``."""
    before: tuple[str, ...] = ()
    """Values that the patch expects before it replaces them."""
    unready_newest: int = 0
    """Newest nodes of its NodePools that are not ready: those that it lets Karpenter launch may not be either."""
    has_jobs: bool = True
    """Whether any of the protected pods ends automatically."""
    preempts: bool = False
    """Whether kube-scheduler is what acts on it: a what-if cannot show it, and trying it asks who would preempt."""

    @property
    def title(self) -> str:
        """A short title with the value."""
        match self.kind:
            case BlockerRemedyKind.DURATION:
                return f'do-not-disrupt: "{self.value}"'
            case BlockerRemedyKind.GRACE:
                return f"terminationGracePeriod: {self.value}"
            case BlockerRemedyKind.PRIORITY:
                return f"priority: {self.value} (preemption)"
            case _:
                return str(self.kind)


class ChangedObjects(msgspec.Struct, frozen=True, eq=False):
    """The objects of a cluster that remedies change."""

    pods: Mapping[str, Pod]
    """By ``namespace/name``."""
    nodepools: Mapping[str, NodePool]
    pdbs: Mapping[str, PodDisruptionBudget]
    """By ``namespace/name``."""
    workloads: frozenset[str] = frozenset()
    """``Kind/namespace/name`` of the workloads that are known."""
    nodes: Collection[Node] = ()
    nodeclaims: Collection[NodeClaim] = ()

    def pods_of(self, blockers: Iterable[Blocker]) -> list[Pod]:
        """Return the pods of blockers, without those that are gone."""
        return [self.pods[blocker.object_key] for blocker in blockers if blocker.object_key in self.pods]


def ref_of(owner: str) -> ObjectRef:
    """Return a reference from ``Kind/namespace/name``."""
    kind, namespace, name = owner.split("/", 2)
    return ObjectRef(kind, name, namespace)


def effect_of(lifted: Iterable[Blocker], findings: Mapping[str, NodeFindings], *, is_at_once: bool = True) -> Effect:
    """Return the effect of lifting blockers on their nodes.

    Args:
        is_at_once: Whether the blockers are lifted right after the change.
    """
    by_claim = group_by(lifted, lambda blocker: blocker.claim_name)
    outcomes = [_outcome(findings.get(claim_key(name)), blockers) for name, blockers in by_claim.items()]
    counts = Counter(outcome for outcome, _ in outcomes)
    return Effect(
        deleted=counts[Outcome.DELETE],
        replaced=counts[Outcome.REPLACE],
        kept=counts[Outcome.NO],
        unknown=counts[Outcome.UNKNOWN],
        untried=counts[None],
        saves_per_hour=sum(saved or 0.0 for _, saved in outcomes),
        unpriced=sum(saved is None for _, saved in outcomes),
        is_at_once=is_at_once,
    )


def _outcome(findings: NodeFindings | None, lifted: list[Blocker]) -> tuple[Outcome | None, float | None]:
    """Return the outcome of one node and its savings per hour; None if it was never simulated.

    The savings are None if the node is removed and they are unknown.
    """
    outlook = findings.outlook if findings is not None else None
    if findings is None or outlook is None:
        return Outcome.UNKNOWN, 0.0
    if outlook.lifted.outcome is Outcome.NO:
        # A node that stays without all of its blockers stays without some.
        return Outcome.NO, 0.0
    outcome = _without(findings, {id(blocker) for blocker in lifted})
    if outcome not in (Outcome.DELETE, Outcome.REPLACE):
        return outcome, 0.0
    # A node being deleted is already saved; no command is needed for it.
    if any(blocker.blocks_drain for blocker in findings.blockers):
        return outcome, findings.price_per_hour
    is_known = findings.price_per_hour is not None and outlook.lifted.is_saving_known and not outlook.lifted.is_open
    return outcome, outlook.lifted.savings_per_hour if is_known else None


def _without(findings: NodeFindings, lifted: set[int]) -> Outcome | None:
    outlook, blockers = findings.outlook, findings.blockers
    assert outlook is not None
    if all(id(blocker) in lifted for blocker in blockers):
        return outlook.lifted.outcome
    codes = {blocker.code for blocker in blockers if id(blocker) in lifted}
    if len(codes) == 1 and all((id(blocker) in lifted) == (blocker.code in codes) for blocker in blockers):
        return outlook.without_code[codes.pop()]
    places = [index for index, blocker in enumerate(blockers) if id(blocker) in lifted]
    first = blockers[places[0]] if places else None
    same = [index for index, blocker in enumerate(blockers) if first is not None and first.is_one_with(blocker)]
    return outlook.without[places[0]] if places and places == same else None
