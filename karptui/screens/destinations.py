"""Where a screen may lead, as values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

if TYPE_CHECKING:
    from karptui.session.answers import Forecast, PlanText, PlayMoment
    from karptui.views.study import Study
    from karptui.whatif.scenario import Scenario


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


class ToStudy(msgspec.Struct, frozen=True):
    """An answer that takes a while."""

    study: Study[Any, Any]


ToScreen: TypeAlias = ToText | ToNode | ToPool | ToPending | ToTypes | ToLedger | ToExplanation | ToForward | ToStudy
