"""What screens ask of studies, and what they get: what follows from replays and plays, worked out one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from karptui.session.questions import Question

if TYPE_CHECKING:
    from karptui.plan.drill import Drill
    from karptui.plan.headroom import Headroom
    from karptui.plan.policies import Comparison
    from karptui.plan.rehearsal import Rehearsal
    from karptui.plan.sheet import PlanSheet
    from karptui.plan.unreached import Unreached
    from karptui.solve.answer import Solved
    from karptui.whatif.edits import AnyEdit
    from karptui.whatif.scenario import Scenario


class StudyProgressFound(msgspec.Struct, frozen=True, kw_only=True):
    """How far the newest study has come."""

    done: int = 0
    total: int = 0
    """Steps of it; 0 while none is at work."""


class StudyProgressWanted(Question[StudyProgressFound], frozen=True, kw_only=True):
    """How far the study that was asked last has come."""

    gives_up: bool = False
    """Whether nobody waits for it any more."""


class DrillsFound(msgspec.Struct, frozen=True, kw_only=True):
    """What comes of losses; nothing where somebody gave up on it."""

    found: tuple[Drill, ...] = ()
    problem: str = ""
    """Why there is no answer, in a sentence."""


class DrillsWanted(Question[DrillsFound], frozen=True, kw_only=True):
    """What is left when any zone, capacity type or NodePool goes away at once; takes a while."""

    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class SolvedFound(msgspec.Struct, frozen=True, kw_only=True):
    """The change that reaches a goal; nothing where somebody gave up on it."""

    found: Solved | None = None
    problem: str = ""
    """Why there is no answer, in a sentence."""


class SolveWanted(Question[SolvedFound], frozen=True, kw_only=True):
    """The change that reaches a goal; takes a while."""

    goal: str
    """Of `karptui.solve.catalogue.GOALS`."""
    given: tuple[tuple[str, str], ...] = ()
    """Its parameters by name."""
    on_top_of: Scenario | None = None
    """Edits that are made before."""
    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class HeadroomsFound(msgspec.Struct, frozen=True, kw_only=True):
    """How many more of some pods fit; nothing where somebody gave up on it."""

    found: tuple[Headroom, ...] = ()
    problem: str = ""
    """Why there is no answer, in a sentence."""


class HeadroomsWanted(Question[HeadroomsFound], frozen=True, kw_only=True):
    """How many more of a pod fit, of the pods of every workload, or of those on a NodePool; takes a while."""

    kind: str = ""
    """As the API writes it; empty for every workload."""
    key: str = ""
    """``namespace/name``; the name of a NodePool."""
    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class PoliciesFound(msgspec.Struct, frozen=True, kw_only=True):
    """Policies of consolidation beside each other; nothing where somebody gave up on it."""

    found: Comparison | None = None
    problem: str = ""
    """Why there is no answer, in a sentence."""


class PoliciesWanted(Question[PoliciesFound], frozen=True, kw_only=True):
    """What policies of consolidation save, and how many pods they evict for it; takes a while."""

    pools: tuple[str, ...] = ()
    """NodePools that are edited; all that are not static where there are none."""
    afters: tuple[str, ...] = ()
    """What is tried of consolidateAfter; a few values and those in use where there is nothing."""
    horizon_ns: int
    """How far each is played."""
    seeds: int = 1
    """How many seeds each is played with."""
    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class UnreachedFound(msgspec.Struct, frozen=True, kw_only=True):
    """How far a pass of consolidation comes; nothing where somebody gave up on it."""

    found: Unreached | None = None


class UnreachedWanted(Question[UnreachedFound], frozen=True, kw_only=True):
    """Which nodes consolidation never looks at, as its time is over before their turn; takes a while."""

    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class RehearsalsFound(msgspec.Struct, frozen=True, kw_only=True):
    """What comes of moving node groups to Karpenter; nothing where somebody gave up on it."""

    found: tuple[Rehearsal, ...] = ()
    problem: str = ""
    """Why there is no answer, in a sentence."""


class RehearsalsWanted(Question[RehearsalsFound], frozen=True, kw_only=True):
    """What comes of moving each node group to Karpenter, and all of them; takes a while."""

    manifests: tuple[AnyEdit, ...] = ()
    """What is applied before: NodePools and DaemonSets as they would be."""
    at_once: int = 1
    """How many nodes are drained at a time."""
    horizon_ns: int
    """How far a drain is played that does not come to its end."""
    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class PlanFound(msgspec.Struct, frozen=True, kw_only=True):
    """What making a scenario so would do; nothing where somebody gave up on it."""

    found: PlanSheet | None = None
    problem: str = ""
    """Why there is no answer, in a sentence."""


class PlanWanted(Question[PlanFound], frozen=True, kw_only=True):
    """What making a scenario so would do: risks, rollout and its order, the text for a pull request; takes a while."""

    scenario: Scenario
    horizon_ns: int
    """How far the rollout is played."""
    now_ns: int
    """The present instant: nanoseconds since the epoch."""
