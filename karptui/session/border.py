"""What crosses between a session and the screens: values, never a live object, a lock or a callback into an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

from karptui.session.costs import ClusterTotals
from karptui.sources.base import SourceStatus

if TYPE_CHECKING:
    from karptui.session.facts import Around, Fact
    from karptui.session.questions import FoundT, Question
    from karptui.verdict.finding import ClusterFinding


class PlayMoment(msgspec.Struct, frozen=True, kw_only=True):
    """An instant of a play, and those that one may go on to."""

    play: int
    """Number of the play."""
    at_ns: int
    """Nanoseconds since the epoch."""
    instants: tuple[int, ...] = ()
    """When anything happens, the first first."""

    def stepped(self, by: int) -> PlayMoment | None:
        """Return the moment so many steps on, or back; None where there is none."""
        place = self.instants.index(self.at_ns) + by if self.at_ns in self.instants else -1
        if not 0 <= place < len(self.instants):
            return None
        return msgspec.structs.replace(self, at_ns=self.instants[place])


class Focus(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody looks at, to be worked out first."""

    keys: tuple[str, ...] = ()
    """Nodes on the screen."""
    detail: str = ""
    """The node of which every gate and every landing place is asked for."""
    asks_next: bool = False
    """Whether the next command is asked for."""
    asks_overlap: bool = False
    """Whether it is asked which NodePools could take which pods."""
    asks_pending: bool = False
    """Whether it is asked why pods wait."""
    pod: str = ""
    """``namespace/name`` of the pending pod that is asked about at length."""
    asks_advice: bool = False
    """Whether somebody looks at what the rules find; they are asked anyhow, only less often."""


# How the cluster is known


class Analysed(msgspec.Struct, frozen=True, kw_only=True):
    """How far it is worked out why nodes are still here."""

    generation: int
    """Of the cluster that it holds for."""
    now_ns: int
    """The instant that it holds for: nanoseconds since the epoch."""
    nodes: int
    """Of which anything is known."""
    simulated: int
    """Whose removal was simulated on that very generation."""
    managed: int
    """That Karpenter manages."""
    notes: tuple[str, ...] = ()
    """What was assumed about instance types, in sentences."""
    problem: str = ""
    """Why a newer generation could not be analysed, empty where it could."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to simulate."""
        return self.simulated >= self.managed


class PendingStudied(msgspec.Struct, frozen=True, kw_only=True):
    """How far it is worked out why pods wait."""

    generation: int
    """Of the cluster that it holds for."""
    now_ns: int
    """The instant that it holds for: nanoseconds since the epoch."""
    groups: int
    explained: int
    """Groups of which everything is known."""
    notes: tuple[str, ...] = ()
    """What was assumed, in sentences."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """How much is known of the cluster, and what all of it comes to."""

    generation: int
    """Counts up with every change of the cluster."""
    statuses: Mapping[str, SourceStatus]
    """How the source stands, by kind."""
    totals: ClusterTotals
    hidden: frozenset[str] = frozenset()
    """Kinds that may not be listed."""
    sizes: Mapping[str, int]
    """About how many items each list has, by its name."""
    counts: Mapping[str, int]
    """What wants attention, by the name of a screen."""
    unready_because: str
    """Why nothing can be said of what keeps nodes yet, or at all; empty where enough is known."""
    is_out_of_reach: bool
    """Whether nothing can be said of it as long as a permission or Karpenter is missing."""
    analysed: Analysed | None = None
    """None until the first analysis."""
    pending: PendingStudied | None = None
    """None until somebody has asked."""
    karpenter_version: str = ""
    """Karpenter's version as it was found, empty where nobody tells it."""
    has_prices: bool = True
    """Whether prices are shown at all."""


# Rows of a list, asked for by window


class RowsWanted(msgspec.Struct, frozen=True, kw_only=True):
    """A list with a filter, in an order."""

    list: str
    of: str = ""
    """Whose rows, in a list that has them of several."""
    filter_text: str = ""
    sort: str
    """Id of the column rows are ordered by."""
    is_descending: bool = False
    is_notable_only: bool = False
    """Whether rows that are neither blocked nor faulty are left out."""
    group_by: str = ""
    """What groups have in common; empty in a list without."""
    is_folded: bool | None = None
    """Whether groups show their headings only; None while nobody has said."""
    other_way: frozenset[str] = frozenset()
    """Names of the groups that are the other way."""
    opens_all: bool = False
    """Whether groups that are folded among open ones are open too."""
    now_ns: int
    """The present instant, for filters on ages: nanoseconds since the epoch."""


class RowsFound(msgspec.Struct, frozen=True, kw_only=True):
    """Rows in an order that stays as it is; they are fetched by window."""

    list: str
    number: int
    """Of these rows; the same as long as nothing has changed."""
    shown: int
    """Rows that the filter leaves."""
    lines: int
    """The same with the headings of groups, and without what they hide."""
    total: int
    """Items without the filter."""


class WindowWanted(msgspec.Struct, frozen=True, kw_only=True):
    """Some rows one after the other."""

    number: int
    offset: int
    count: int


class RowWindow(msgspec.Struct, frozen=True, kw_only=True):
    """Rows one after the other, or single ones, as facts."""

    keys: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()


class KeysWanted(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of all rows, in order."""

    number: int


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of all rows, in order."""

    keys: tuple[str, ...]


class PositionWanted(msgspec.Struct, frozen=True, kw_only=True):
    """Where a row stands."""

    number: int
    key: str


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Where a row stands."""

    index: int | None
    """None where there is no such row."""


class PickWanted(msgspec.Struct, frozen=True, kw_only=True):
    """Single rows, by their keys; those that are not there are left out."""

    number: int
    keys: frozenset[str]


class TotalsWanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the nodes of some rows hold and cost together."""

    number: int
    keys: frozenset[str] | None = None
    """All rows when None."""


class ObjectWanted(msgspec.Struct, frozen=True, kw_only=True):
    """An object by its name."""

    kind: str
    """As the API writes it."""
    key: str
    """``namespace/name``, or the name alone."""


class ObjectFound(msgspec.Struct, frozen=True, kw_only=True):
    """An object by its name."""

    is_there: bool = False
    node_key: str = ""
    """Of the row of the node that it is, became or runs on; empty where there is none."""


class AroundWanted(msgspec.Struct, frozen=True, kw_only=True):
    """What stands around the rows of a list: what holds for all of them, or for whose rows they are."""

    list: str
    of: str = ""
    """Whose rows, in a list that has them of several."""
    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class AroundFound(msgspec.Struct, frozen=True, kw_only=True):
    """What stands around the rows of a list."""

    fact: Around | None = None
    """None where nothing is known, or whose rows were meant is not there."""


class VerdictWanted(msgspec.Struct, frozen=True, kw_only=True):
    """What holds or endangers the cluster."""

    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class VerdictFound(msgspec.Struct, frozen=True, kw_only=True):
    """What holds or endangers the cluster."""

    findings: tuple[ClusterFinding, ...] = ()
    """Worst first; nothing before nodes have been looked into."""


class Border(Protocol):
    """What a screen may ask a session, and what it answers."""

    def overview(self) -> Overview:
        """Return how much is known of the cluster."""
        ...

    def rows(self, wanted: RowsWanted) -> RowsFound:
        """Filter and sort a list; takes a while for a long one, so it belongs in a thread."""
        ...

    def window(self, wanted: WindowWanted) -> RowWindow:
        """Return some rows one after the other; fewer where they end."""
        ...

    def keys(self, wanted: KeysWanted) -> Keys:
        """Return the keys of all rows."""
        ...

    def position(self, wanted: PositionWanted) -> Position:
        """Return where a row stands."""
        ...

    def pick(self, wanted: PickWanted) -> RowWindow:
        """Return single rows in their order."""
        ...

    def verdict(self, wanted: VerdictWanted) -> VerdictFound:
        """Return what holds or endangers the cluster."""
        ...

    def totals(self, wanted: TotalsWanted) -> ClusterTotals:
        """Return what the nodes of some rows hold and cost together."""
        ...

    def object(self, wanted: ObjectWanted) -> ObjectFound:
        """Return whether an object is there, and where its node is found."""
        ...

    def around(self, wanted: AroundWanted) -> AroundFound:
        """Return what stands around the rows of a list."""
        ...

    def ask(self, wanted: Question[FoundT]) -> FoundT:
        """Answer a question; one that takes a while says so, and belongs in a thread."""
        ...
