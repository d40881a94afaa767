"""The one way screens ask a session: methods that take values and return values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from karptui.session.answers import AnswerT, StudyAnswer

if TYPE_CHECKING:
    from pathlib import Path

    from karptui.actions.action import Action, Document
    from karptui.forward.result import Moment, Played
    from karptui.kube.timestamps import PastTime
    from karptui.session.answers import (
        ControllerInfo,
        Forecast,
        NodeReport,
        Overview,
        PendingPod,
        PlanText,
        Progress,
        Proportion,
        RemedyList,
        RemedyTrials,
        ReplayState,
        RowQuery,
        RowSet,
        TypeReport,
        TypeSources,
    )
    from karptui.session.costs import ClusterTotals
    from karptui.session.facts import Around
    from karptui.session.history_report import HistoryReport
    from karptui.session.packing import Bin, Packed
    from karptui.studies.actions import Expected
    from karptui.studies.rightsize import RightSize
    from karptui.verdict.finding import ClusterFinding
    from karptui.whatif.edits import ObjectRef
    from karptui.whatif.run import Answer
    from karptui.whatif.scenario import Opening, Replay, Scenario
    from karptui.whatif.schema.offers import KnownValues
    from karptui.whatif.sweep import Sweep, SweepResult


class Session(Protocol):
    """Questions about the shown cluster; ``now_ns`` is the present, in nanoseconds since the epoch.

    Slow methods are marked, and belong in a thread.
    """

    @property
    def whatif(self) -> WhatIfs:
        """Scenarios on the current cluster."""

    @property
    def forecasts(self) -> Forecasts:
        """Simulations of the cluster over time."""

    @property
    def studies(self) -> Studies:
        """Questions that need many replays or forecasts."""

    def overview(self) -> Overview:
        """Return the state of the whole cluster; the same object for the same generation."""

    def verdict(self, now_ns: int) -> tuple[ClusterFinding, ...]:
        """Return the causes that endanger or block the cluster, worst first; nothing before nodes are analysed."""

    # Rows of lists

    def rows(self, query: RowQuery) -> RowSet:
        """Filter and sort a list; takes a while for a long one."""

    def totals(self, number: int, keys: frozenset[str] | None = None) -> ClusterTotals:
        """Return the sums of the nodes of some rows; of all rows if ``keys`` is None."""

    def around(self, name: str, of: str, now_ns: int) -> Around | None:
        """Return the facts around the rows of a list; None if unknown.

        Args:
            of: Owner of the rows, for lists that exist per owner.
        """

    # Single objects; kinds as the API writes them, keys are ``namespace/name`` or the name alone

    def has_object(self, kind: str, key: str) -> bool:
        """Return whether an object exists."""

    def node_key(self, kind: str, key: str) -> str:
        """Return the row key of the node that an object is or runs on; empty if there is none."""

    def describe(self, kind: str, key: str, now_ns: int) -> str:
        """Return an object as a page of text."""

    def explain_removed(self, history: Path, name: str, now_ns: int) -> str:
        """Return the record of a node's removal, from a history; empty if that has no such removal.

        Raises:
            HistoryError: if the history cannot be read.
        """

    def history_report(self, history: Path, since: PastTime, until_ns: int | None) -> HistoryReport:
        """Return a time of a history, by default up to its end, at the prices of the shown cluster; takes a while.

        Raises:
            HistoryError: if nothing of it is recorded, or the history cannot be read.
        """

    def names(self, *kinds: str) -> tuple[ObjectRef, ...]:
        """Return the objects of some kinds; of pods the pending ones, then one of each workload."""

    def node(self, key: str, name: str = "") -> NodeReport:
        """Return one node by its row key; pods by its name once it is gone."""

    def pending_pod(self, key: str) -> PendingPod:
        """Return the reason of a pending pod."""

    def pending_reasons(self) -> Mapping[str, str]:
        """Return short reasons of pending pods, by the key of their group."""

    def last_hour(self, now_ns: int) -> tuple[int | None, ...]:
        """Return the number of NodeClaims every five minutes of the last hour; None if unknown."""

    def packing(self) -> tuple[Bin, ...]:
        """Return a bin for each node, with its pods as blocks."""

    # Blockers

    def remedies(self, members: Sequence[str], now_ns: int, *, makes_edits: bool = True) -> RemedyList:
        """Return the remedies for blockers."""

    def try_remedies(self, members: Sequence[str], now_ns: int) -> RemedyTrials:
        """Return the simulated removals of each remedy of some blockers; takes a while."""

    def forecast_remedies(self, members: Sequence[str], tried: RemedyTrials, now_ns: int) -> RemedyTrials | None:
        """Return these outcomes with forecasts; None if they are not of the current remedies, or a newer call came."""

    # Instance types

    def instance_type(self, pool: str, name: str, pods: frozenset[str] = frozenset()) -> TypeReport:
        """Return one type of a NodePool at length.

        Args:
            pods: Keys of pending pods, one of which is compared with the type; by default the largest.
        """

    def type_sources(self, pool: str = "") -> TypeSources:
        """Return the sources of instance types, settings and prices; of a NodePool's if it is given."""

    # The start of a what-if

    def opening(self, objects: Sequence[tuple[str, str]]) -> Opening:
        """Return the start of a what-if of some objects (kind and key), at least one."""

    def proportion(self, pools: Sequence[str], shares: str | None = None) -> Proportion:
        """Return the overlap of NodePools, and the what-if for the given shares."""

    def controller(self) -> ControllerInfo:
        """Return facts about Karpenter itself."""

    def known_values(self) -> KnownValues:
        """Return names and values that are offered while typing; takes a while."""


class WhatIfs(Protocol):
    """Scenarios on the current cluster."""

    def replay(
        self, scenario: Scenario, now_ns: int, *, is_typing: bool = False, is_first: bool = False
    ) -> ReplayState:
        """Start replaying a scenario instead of the one before.

        Args:
            is_first: Whether earlier questions no longer count.
        """

    def state(self, now_ns: int, *, is_typing: bool = False) -> ReplayState:
        """Return the progress of the last question, and whether to ask it again."""

    def subscribe(self, listener: Callable[[int, Answer], None], /) -> None:
        """Pass the number of each question and its answer to a listener, in any thread.

        A question is answered again when what takes longer is known too.
        """

    def compare(self, scenario: Scenario, now_ns: int) -> Answer:
        """Replay one of several scenarios; takes a while."""

    def packed(self, scenario: Scenario, now_ns: int) -> Packed:
        """Return the packing of nodes, now and with a scenario; slow."""

    def self_check(self, now_ns: int) -> str:
        """Return as text how many recently created NodeClaims the model reproduces; slow."""


class Forecasts(Protocol):
    """Simulations of the cluster over time, one at a time."""

    def play(self, scenarios: Sequence[Scenario], horizon_ns: int, seeds: int, now_ns: int) -> tuple[Forecast, ...]:
        """Simulate the current cluster, and each scenario; nothing if cancelled. Slow."""

    def plan(self, scenario: Scenario, now: Played, edited: Played) -> PlanText | None:
        """Return risks, rollout and text of a scenario; None if cancelled. Slow."""

    def progress(self) -> Progress:
        """Return the progress of the running forecast."""

    def cancel(self) -> None:
        """Cancel the running forecast."""


class Studies(Protocol):
    """Questions about the whole cluster, one at a time; each takes a while."""

    def answer(self, work: Callable[..., AnswerT], now_ns: int) -> StudyAnswer[AnswerT]:
        """Return the answer of a function of `karptui.studies` or `karptui.solve`.

        Args:
            work: Takes the cluster and ``reporter``; its other arguments are bound.
        """

    def sweep(self, sweep: Sweep, replay: Replay, now_ns: int) -> StudyAnswer[SweepResult]:
        """Return the replay of each value of a parameter.

        Args:
            replay: Replay mode; pending pods become all pods if none is pending.
        """

    def rightsize(self, history: Path | None, horizon_ns: int, now_ns: int) -> StudyAnswer[RightSize]:
        """Return the outcome of recommended requests: of the VPAs, else by the usage in a history."""

    def expected(
        self, actions: Sequence[tuple[Action, Document | None]], horizon_ns: int, now_ns: int
    ) -> StudyAnswer[Expected]:
        """Return the consequences of actions, each with its object after the server's dry run."""

    def moment(self, now_ns: int) -> StudyAnswer[Moment]:
        """Return the nodes, cost and pending pods of the cluster as forecasts count them."""

    def progress(self) -> Progress:
        """Return the progress of the running study."""

    def cancel(self) -> None:
        """Cancel the running study."""
