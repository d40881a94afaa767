"""Where a screen may lead, as values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

    from karptui.disruption.pauses import PauseRequest
    from karptui.session.answers import Forecast, PlanText, PlayMoment
    from karptui.whatif.edits import AnyEdit
    from karptui.whatif.scenario import Replay, Scenario
    from karptui.whatif.sweep import Sweep


class ToText(msgspec.Struct, frozen=True):
    """A text that may take a moment to come."""

    title: str
    fetch: Callable[[], Awaitable[str]]
    language: str | None = None


class ToNode(msgspec.Struct, frozen=True):
    """A node at length."""

    key: str


class ToPool(msgspec.Struct, frozen=True):
    """A NodePool at length."""

    name: str


class ToPending(msgspec.Struct, frozen=True):
    """Why a pod waits."""

    pod_key: str


class ToTypes(msgspec.Struct, frozen=True):
    """The instance types of a NodePool."""

    pool: str


class ToLedger(msgspec.Struct, frozen=True):
    """Where the memory of an instance type goes."""

    pool: str
    instance_type: str
    pods: Collection[str] = ()
    """Keys of pending pods, one of which is compared first."""


class ToExplanation(msgspec.Struct, frozen=True):
    """The explanation of an object."""

    kind: str
    key: str
    """``namespace/name``, or the name alone."""


class ToForward(msgspec.Struct, frozen=True):
    """A forecast of the cluster."""

    scenarios: tuple[Scenario, ...] = ()
    played: PlayedBefore | None = None
    """An earlier forecast to show again; None to simulate now."""


class PlayedBefore(msgspec.Struct, frozen=True):
    """Plays as a screen showed them."""

    plays: tuple[Forecast, ...]
    since_ns: int
    horizon_ns: int
    row: str
    """Key of the row under the cursor."""
    plan: PlanText | None = None
    """Risks of the first scenario, if computed."""


class ToMoment(msgspec.Struct, frozen=True):
    """The cluster at a moment of a forecast, on every screen."""

    moment: PlayMoment
    back: ToForward
    """Screen to return to."""


class ToHeadroom(msgspec.Struct, frozen=True):
    """How many more of a pod fit."""

    kind: str = ""
    """As the API writes it; empty for the pods of every workload."""
    key: str = ""
    """``namespace/name``; the name of a NodePool."""


class ToDrill(msgspec.Struct, frozen=True):
    """The outcome of losing a zone, a capacity type or a NodePool."""


class ToPolicies(msgspec.Struct, frozen=True):
    """Consolidation policies compared."""

    pool: str = ""
    """The edited NodePool; empty for all that are not static."""
    edits: tuple[AnyEdit, ...] = ()
    """Made before."""


class ToValues(msgspec.Struct, frozen=True):
    """Values of a parameter compared."""

    sweep: Sweep
    mode: Replay
    current: str = ""


class ToSolve(msgspec.Struct, frozen=True):
    """The change that reaches a goal."""

    goal: str
    given: tuple[tuple[str, str], ...] = ()
    on_top_of: Scenario | None = None
    """Edits that are made before."""


class ToPause(msgspec.Struct, frozen=True):
    """A pause of disruption, or its end."""

    request: PauseRequest


class ToRollout(msgspec.Struct, frozen=True):
    """How far NodePools and NodeClasses are rolled out."""

    pools: tuple[str, ...] = ()
    nodeclasses: tuple[str, ...] = ()


class ToRightSize(msgspec.Struct, frozen=True):
    """The outcome of recommended requests."""

    history: Path | None
    """The cluster's history, whose usage is taken if there are no VerticalPodAutoscalers."""


ToStudy: TypeAlias = ToHeadroom | ToDrill | ToPolicies | ToValues | ToSolve | ToPause | ToRollout | ToRightSize
"""Answers that take a while."""
ToScreen: TypeAlias = ToText | ToNode | ToPool | ToPending | ToTypes | ToLedger | ToExplanation | ToForward | ToStudy
