"""Queries and answers of a session: values, never a live object, a lock or a callback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec

from karptui.decode.kinds import KindStatus
from karptui.session.costs import ClusterTotals

if TYPE_CHECKING:
    from karptui.disruption.analysis import Analysis, NodeDetail
    from karptui.forward.result import Played
    from karptui.karpenter.settings import Settings
    from karptui.kube.timestamps import PastTime
    from karptui.kube.usage import LiveUsage
    from karptui.pending.groups import PendingGroup, PendingReport
    from karptui.session.blockers import BlockerEntry
    from karptui.session.nodes import NodeEntry
    from karptui.session.pending_report import PodDetail, PodSurroundings
    from karptui.session.pods import PodEntry
    from karptui.session.types import PoolEntry, TypeEntry, TypeFit
    from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, BlockerRemedyKind
    from karptui.whatif.remedies.blockers.trial import Trial
    from karptui.whatif.scenario import Opening

AnswerT = TypeVar("AnswerT")


class PlayMoment(msgspec.Struct, frozen=True, kw_only=True):
    """An instant of a forecast, and the instants that the user can step to."""

    play: int
    at_ns: int
    instants: tuple[int, ...] = ()
    """When anything happens, the first first."""

    def stepped(self, by: int) -> PlayMoment | None:
        """Return the moment this many steps later or earlier; None if there is none."""
        place = self.instants.index(self.at_ns) + by if self.at_ns in self.instants else -1
        if not 0 <= place < len(self.instants):
            return None
        return msgspec.structs.replace(self, at_ns=self.instants[place])


class PastMoment(msgspec.Struct, frozen=True, kw_only=True):
    """An instant of the recorded history, with the mark there if the user went to one."""

    at_ns: int
    asked_ns: int = 0
    """The instant that the user named; nothing was recorded then if it differs. 0 for a recorded one."""
    cause: str = ""
    """Of the mark, as all that follows."""
    name: str = ""
    text: str = ""
    more: int = 0
    """Number of other marks at this instant."""


class PastStep(msgspec.Struct, frozen=True, kw_only=True):
    """The way to another moment of the history."""

    by: int = 0
    """Steps to later moments, or to earlier ones if negative."""
    to_mark: bool = False
    at: PastTime | None = None
    """The instant to go to, instead of a step."""


class SwitchResult(Enum):
    """What became of showing a moment."""

    SHOWN = "shown"
    NOT_KEPT = "not kept"
    """There is no such play any more, or no such moment of it."""
    OVERTAKEN = "overtaken"
    """Something else is shown by now."""
    BEGINNING = "beginning"
    """The history begins later."""
    NEWEST = "newest"
    """The history has nothing later."""
    NO_MARK = "no mark"
    """The history has no further mark in this direction."""
    NOT_RECORDED = "not recorded"
    """No history of this cluster is recorded."""
    NO_HISTORY = "no history"
    """The cluster is in a file that is no history."""


class Focus(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes and pods on the screen, which are analysed first."""

    keys: tuple[str, ...] = ()
    detail: str = ""
    """The node whose gates and landing places are shown."""
    asks_next: bool = False
    asks_overlap: bool = False
    """Whether the NodePools that share pods are shown."""
    asks_pending: bool = False
    pod: str = ""
    """``namespace/name`` of the pending pod that is shown at length."""
    asks_advice: bool = False
    """Whether the advice is on the screen; the rules run anyway, but less often."""


# The whole cluster


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the whole cluster, and its totals."""

    generation: int
    """Counts up with every change of the cluster."""
    statuses: Mapping[str, KindStatus]
    totals: ClusterTotals
    hidden: frozenset[str] = frozenset()
    """Kinds that may not be listed."""
    sizes: Mapping[str, int]
    """About how many items each list has, by its name."""
    counts: Mapping[str, int]
    """What wants attention, by the name of a screen."""
    unready_because: str
    """Why blockers cannot be shown, yet or at all; empty if they can."""
    is_out_of_reach: bool
    """Whether blockers cannot be shown until a permission is granted or Karpenter is installed."""
    analysed: Analysis | None = None
    """None until the first analysis."""
    pending: PendingReport | None = None
    """None until a screen has asked."""
    karpenter_version: str = ""
    """Karpenter's detected version; empty if unknown."""
    has_prices: bool = True


# Rows of a list


class RowQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A list with a filter, in an order."""

    list: str
    of: str = ""
    """Owner of the rows (a NodePool's name, say), for lists that exist per owner."""
    filter_text: str = ""
    sort: str
    is_descending: bool = False
    is_notable_only: bool = False
    """Whether rows that are neither blocked nor faulty are left out."""
    group_by: str = ""
    """The property that the rows of a group share; empty in a list without groups."""
    is_folded: bool | None = None
    """Whether groups show their headings only; None for the list's default."""
    other_way: frozenset[str] = frozenset()
    """Names of the groups that are folded or open contrary to ``is_folded``."""
    opens_all: bool = False
    """Whether groups that are folded by default are open too."""
    now_ns: int
    """The present instant, for filters on ages: nanoseconds since the epoch."""


class RowSet(NamedTuple):
    """Filtered and sorted rows, which do not change; the same object as long as nothing has changed."""

    number: int
    """Number of these rows, for their sums."""
    keys: Sequence[str]
    items: Sequence[Any]
    """Rows and group headings, without rows in folded groups."""
    shown: int
    """Rows that match the filter."""
    total: int
    """Items without the filter."""


# Single objects


class NodeReport(NamedTuple):
    """One node at length."""

    entry: NodeEntry | None
    """None if the node does not exist (any more)."""
    pods: tuple[PodEntry, ...]
    detail: NodeDetail | None
    """None until it is analysed."""
    usage: LiveUsage
    """Source and state of live usage, without the figures of nodes and pods."""


class PendingPod(NamedTuple):
    """Why a pod is pending."""

    exists: bool
    node_name: str
    """The pod's node; empty while it is pending."""
    group: PendingGroup | None
    """The pods that are pending for the same reason; None until that is analysed, and once the pod has a node."""
    detail: PodDetail | None
    """None until it is analysed."""
    around: PodSurroundings
    may_list_events: bool
    """Whether events may be listed: if not, missing events mean nothing."""


class RemedyList(NamedTuple):
    """Remedies for some blockers."""

    members: tuple[BlockerEntry, ...] = ()
    """The current blockers; deleted ones are left out."""
    remedies: tuple[BlockerRemedy, ...] = ()


class RemedyTrials(NamedTuple):
    """The outcome of each remedy."""

    kinds: tuple[BlockerRemedyKind, ...] = ()
    trials: tuple[Trial, ...] = ()
    """One for each of them."""
    best: BlockerRemedyKind | None = None
    """None if there are no remedies."""


class Proportion(NamedTuple):
    """How NodePools share the pods that each of them could take."""

    is_known: bool = False
    """Whether it is known which pods those are."""
    pods: int = 0
    """Pods that could go to every one of the NodePools."""
    first: str = ""
    """Shares to begin with."""
    hint: str = ""
    """The accepted input, and the pods that it applies to."""
    opening: Opening | None = None
    """The what-if that gives the requested shares; None without shares."""
    problem: str = ""
    """Error message for the requested shares."""


class TypeReport(NamedTuple):
    """One instance type of a NodePool at length."""

    pool: PoolEntry | None = None
    """None if there is no such NodePool (any more)."""
    entry: TypeEntry | None = None
    """None if the NodePool has no such type."""
    fit: TypeFit | None = None
    """How a pending pod fits the type; None if none may go to the NodePool."""
    family: tuple[str, ...] = ()
    """The types of its family, sorted by memory."""


class TypeSources(NamedTuple):
    """Where instance types, settings and prices come from."""

    text: str
    overhead: str
    """Source of VM_MEMORY_OVERHEAD_PERCENT."""
    notes: tuple[str, ...] = ()
    """Assumptions about NodeClasses."""


class ControllerInfo(NamedTuple):
    """Facts about Karpenter itself."""

    settings: Settings
    version: str
    """Such as ``1.14.1``; empty if unknown."""
    title: str
    """What runs it, such as ``Deployment kube-system/karpenter``; empty if unknown."""


# Questions that take a while


class ReplayState(NamedTuple):
    """Progress of the last scenario."""

    number: int = 0
    """Of the last question, 0 before there is one; later ones have higher numbers."""
    is_busy: bool = False
    """Whether it has no answer yet."""
    done: int = 0
    total: int = 0
    is_outdated: bool = False
    """Whether the cluster has changed since."""
    moves: bool = False
    """Whether another question would be answered on a newer cluster."""
    is_due: bool = False
    """Whether the answer is old enough to be computed again if the cluster has changed."""


class Forecast(NamedTuple):
    """A scenario simulated over time."""

    name: str
    """Of the scenario; empty for the current cluster."""
    played: Played | None = None
    number: int = 0
    """Under which the session can show the cluster at any moment of it; 0 if it cannot."""
    problem: str = ""
    """Error message if it cannot be simulated."""


class PlanText(NamedTuple):
    """A plan as text."""

    headline: str
    risks: tuple[str, ...]
    blockers: tuple[str, ...]
    """New ones of disruption, a line for each kind."""
    rollout: tuple[str, ...]
    """Duration of the rollout, where it stalls, and its extra nodes."""
    markdown: str
    """The text for a pull request."""


class Progress(NamedTuple):
    """Progress of a long question."""

    done: int = 0
    total: int = 0
    """Steps (of a forecast: seconds); 0 if none is running."""
    name: str = ""
    """The scenario that is being simulated."""


class StudyAnswer(NamedTuple, Generic[AnswerT]):
    """The answer to a study."""

    value: AnswerT | None = None
    """None if there is a problem, or if the study was cancelled."""
    problem: str = ""
    """Error message if there is no answer."""
