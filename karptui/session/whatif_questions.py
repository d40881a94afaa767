"""What screens ask of clusters as they would be, and what they get: what-ifs and plays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import msgspec

from karptui.session.questions import Question

if TYPE_CHECKING:
    from karptui.forward.result import Played
    from karptui.karpenter.settings import Settings
    from karptui.session.packing import PackedNode
    from karptui.whatif.run import Answer
    from karptui.whatif.scenario import Replay, Scenario
    from karptui.whatif.schema.offers import KnownValues
    from karptui.whatif.sweep import Sweep, SweepPoint


# What-ifs


class ReplayWanted(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that is to be replayed, in the place of the one before."""

    scenario: Scenario
    now_ns: int
    """The present instant: nanoseconds since the epoch."""
    is_typing: bool = False
    """Whether somebody types: then the cluster may stay as it was for longer."""
    is_first: bool = False
    """Whether nothing counts that was asked before."""


class ReplayStateWanted(msgspec.Struct, frozen=True, kw_only=True):
    """How far the last scenario has come."""

    now_ns: int
    """The present instant: nanoseconds since the epoch."""
    is_typing: bool = False
    """Whether somebody types."""


class ReplayState(msgspec.Struct, frozen=True, kw_only=True):
    """How far the last scenario has come."""

    number: int = 0
    """Of the last question, 0 before there is one; of later ones it is higher."""
    is_busy: bool = False
    """Whether it has no answer yet."""
    done: int = 0
    total: int = 0
    is_outdated: bool = False
    """Whether the cluster has changed since."""
    moves: bool = False
    """Whether another question would be answered on a newer cluster."""
    is_due: bool = False
    """Whether it was asked so long ago that a change of the cluster is to be followed."""


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a scenario; sent when it is known, and again with what takes longer."""

    number: int
    """Of the question."""
    answer: Answer


class Replays(Protocol):
    """What-ifs that are replayed beside the screen."""

    def replay(self, wanted: ReplayWanted) -> ReplayState:
        """Have a scenario replayed, in the place of whatever was asked before."""
        ...

    def state(self, wanted: ReplayStateWanted) -> ReplayState:
        """Return how far the last question has come, and whether it is to be asked again."""
        ...

    def subscribe(self, listener: Callable[[Replayed], None], /) -> None:
        """Pass every answer to a listener as soon as it is known, in whatever thread."""
        ...


class ControllerFound(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of Karpenter itself."""

    settings: Settings
    version: str
    """Such as ``1.14.1``; empty where it is not known."""
    title: str
    """What runs it, such as ``Deployment kube-system/karpenter``; empty where that is not known."""


class ControllerWanted(Question[ControllerFound], frozen=True, kw_only=True):
    """What is known of Karpenter itself."""


class KnownValuesFound(msgspec.Struct, frozen=True, kw_only=True):
    """Names and values of the cluster that are offered while typing."""

    generation: int
    """Of the cluster that has them."""
    values: KnownValues


class KnownValuesWanted(Question[KnownValuesFound], frozen=True, kw_only=True):
    """Names and values of the cluster that are offered while typing; takes a while."""


class ComparedFound(msgspec.Struct, frozen=True, kw_only=True):
    """What comes of one of several scenarios."""

    answer: Answer


class ComparedWanted(Question[ComparedFound], frozen=True, kw_only=True):
    """One of several scenarios, on the cluster as it is; takes a while."""

    scenario: Scenario
    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class PackedFound(msgspec.Struct, frozen=True, kw_only=True):
    """How pods fill nodes as it is and as a scenario makes it."""

    nodes: tuple[PackedNode, ...] = ()
    left_out: int = 0
    """Nodes of the edited side without a picture: on their way out, or nobody knows yet what they have."""
    waiting_before: int = 0
    """Pods without a place."""
    waiting_after: int = 0
    problem: str = ""
    """Why there is no answer, in a sentence."""


class PackedWanted(Question[PackedFound], frozen=True, kw_only=True):
    """How pods fill nodes as it is and as a scenario makes it; takes a while."""

    scenario: Scenario
    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class SelfCheckFound(msgspec.Struct, frozen=True, kw_only=True):
    """How well the model does."""

    text: str


class SelfCheckWanted(Question[SelfCheckFound], frozen=True, kw_only=True):
    """How many of the NodeClaims created lately the model makes too; takes a while."""

    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class SweepBegun(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep that is at work."""

    number: int


class SweepWanted(Question[SweepBegun], frozen=True, kw_only=True):
    """One parameter over several values; takes a while to begin."""

    sweep: Sweep
    replay: Replay
    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class PointFound(msgspec.Struct, frozen=True, kw_only=True):
    """The next point of a sweep, in whatever order they come."""

    position: int = 0
    """Of its value."""
    point: SweepPoint | None = None
    """None where there are no more."""


class PointWanted(Question[PointFound], frozen=True, kw_only=True):
    """The next point of a sweep; takes until it is there."""

    number: int


class SweepEnded(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep that nobody waits for any more."""


class SweepUnwanted(Question[SweepEnded], frozen=True, kw_only=True):
    """A sweep that nobody waits for any more."""

    number: int


# What becomes of a cluster


class PlayFound(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster played forward."""

    name: str
    """Of the scenario; empty for the cluster as it is."""
    played: Played | None = None
    number: int = 0
    """Under which the session can show the cluster at any moment of it; 0 where it cannot."""
    problem: str = ""
    """Why it cannot be played, in a sentence."""


class PlaysFound(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster as it is and as scenarios make it, played forward; none of them where somebody gave up on it."""

    plays: tuple[PlayFound, ...] = ()


class PlaysWanted(Question[PlaysFound], frozen=True, kw_only=True):
    """What becomes of the cluster as it is, and beside it as scenarios make it; takes a while."""

    scenarios: tuple[Scenario, ...] = ()
    horizon_ns: int
    """How far, in nanoseconds."""
    seeds: int = 1
    """How many seeds each is played with, for what chance changes."""
    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class PlayProgressFound(msgspec.Struct, frozen=True, kw_only=True):
    """How far a play has come."""

    name: str = ""
    """The scenario that is played."""
    seconds: int = 0
    """Of the horizon."""
    total: int = 0
    """All of them; 0 while nothing is played."""


class PlayProgressWanted(Question[PlayProgressFound], frozen=True, kw_only=True):
    """How far the play that was asked last has come."""

    gives_up: bool = False
    """Whether nobody waits for it any more."""
