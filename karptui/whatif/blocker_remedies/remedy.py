"""One thing that can be done about blockers, and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from karptui.karpenter.nodepool import NodePool
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod
from karptui.whatif.edits import AnyEdit, ObjectRef
from karptui.whatif.scenario import Replay


class RemedyKind(StrEnum):
    """What sort of remedy it is."""

    OWN_POOL = "own pool for these pods"
    CORDON = "cordon"
    DURATION = 'duration instead of "true"'
    GRACE = "shorter terminationGracePeriod"
    SPREAD = "spread"
    REMOVE_ANNOTATION = "take the annotation away"
    REMOVE_NODE_ANNOTATION = "take the node's annotation away"
    ALLOW_EVICTION = "a PodDisruptionBudget that allows one eviction"
    MORE_REPLICAS = "one replica more"
    ONE_PDB = "one PodDisruptionBudget a pod"
    WIDER_BUDGET = "a wider disruption budget"
    CONSOLIDATE_AFTER = "let consolidation begin"
    POLICY = "consolidate nodes that are not empty"
    NODE_LIMIT = "room for a replacement"


class Effect(msgspec.Struct, frozen=True, gc=False):
    """What becomes of the nodes that a remedy is about, as far as simulated removals tell."""

    deleted: int = 0
    replaced: int = 0
    kept: int = 0
    """Nodes that stay all the same: something else holds them, or their pods have no cheaper place."""
    unknown: int = 0
    """Nodes that have not been simulated yet, or of which it cannot be told."""
    untried: int = 0
    """Nodes of which just these blockers were never taken away together: a what-if tells."""
    saves_per_hour: float = 0.0
    """Dollars per hour by the NodePools' prices, for the nodes that go."""
    is_at_once: bool = True
    """Whether they go as soon as it is done; else once the protected pods have ended."""

    @property
    def goes(self) -> int:
        """Nodes that go."""
        return self.deleted + self.replaced


class BlockerRemedy(msgspec.Struct, frozen=True):
    """One thing that can be done."""

    kind: RemedyKind
    sentence: str
    """What it does, and what it does not."""
    edits: tuple[AnyEdit, ...] = ()
    """The change as a what-if takes it; empty where an object that it needs is not known."""
    effect: Effect | None = None
    """None where it changes nothing about the nodes that are there."""
    replay: Replay = Replay.NEXT
    """What shows the difference best."""

    @property
    def title(self) -> str:
        """A few words."""
        return str(self.kind)


class Objects(msgspec.Struct, frozen=True, eq=False):
    """The objects of a cluster that remedies change."""

    pods: Mapping[str, Pod]
    """By ``namespace/name``."""
    nodepools: Mapping[str, NodePool]
    pdbs: Mapping[str, PodDisruptionBudget]
    """By ``namespace/name``."""
    workloads: frozenset[str] = frozenset()
    """``Kind/namespace/name`` of the workloads that are known."""


def ref_of(owner: str) -> ObjectRef:
    """Return a reference from ``Kind/namespace/name``."""
    kind, namespace, name = owner.split("/", 2)
    return ObjectRef(kind, name, namespace)
