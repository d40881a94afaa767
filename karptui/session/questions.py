"""What screens ask beside the rows of lists, and what they get: values, as everything that crosses the border.

A question says by its type what answers it: `Border.ask` takes an ``…Wanted`` and gives its ``…Found``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeDetail
    from karptui.kube.live_usage import LiveUsage
    from karptui.pending.groups import PendingGroup
    from karptui.session.blockers import BlockerEntry
    from karptui.session.nodes import NodeEntry
    from karptui.session.packing import Bin
    from karptui.session.pending_report import PodDetail, PodSurroundings
    from karptui.session.pods import PodEntry
    from karptui.session.types import PoolEntry, TypeEntry, TypeFit
    from karptui.whatif.edits import ObjectRef
    from karptui.whatif.opening import Opening
    from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, BlockerRemedyKind
    from karptui.whatif.remedies.blockers.trial import Trial

FoundT = TypeVar("FoundT", bound=msgspec.Struct)


class Question(msgspec.Struct, Generic[FoundT], frozen=True, kw_only=True):
    """Something that a session is asked."""


# Objects


class DescriptionFound(msgspec.Struct, frozen=True, kw_only=True):
    """An object as a page of text."""

    text: str


class DescriptionWanted(Question[DescriptionFound], frozen=True, kw_only=True):
    """An object as a page of text."""

    kind: str
    """As the API writes it."""
    key: str
    """``namespace/name``, or the name alone."""
    now_ns: int
    """The present instant: nanoseconds since the epoch."""


class PackingFound(msgspec.Struct, frozen=True, kw_only=True):
    """How pods fill nodes."""

    bins: tuple[Bin, ...]


class PackingWanted(Question[PackingFound], frozen=True, kw_only=True):
    """How pods fill nodes: a bin for each, with its pods as blocks."""


class NamesFound(msgspec.Struct, frozen=True, kw_only=True):
    """Objects by their names."""

    refs: tuple[ObjectRef, ...]


class NamesWanted(Question[NamesFound], frozen=True, kw_only=True):
    """The objects of some kinds, kind by kind; of pods those without a node, then one of each workload."""

    kinds: tuple[str, ...]


# What a what-if begins with


class OpeningFound(msgspec.Struct, frozen=True, kw_only=True):
    """What a what-if begins with."""

    opening: Opening


class OpeningWanted(Question[OpeningFound], frozen=True, kw_only=True):
    """A what-if of some objects."""

    objects: tuple[tuple[str, str], ...]
    """Kind and key of each, at least one."""


class ProportionFound(msgspec.Struct, frozen=True, kw_only=True):
    """How NodePools share out the pods that each of them could take."""

    is_known: bool = False
    """Whether it is worked out which pods those are."""
    pods: int = 0
    """How many could go to every one of them."""
    first: str = ""
    """Shares to begin with."""
    hint: str = ""
    """What can be asked, and for which pods."""
    opening: Opening | None = None
    """What keeps the shares that were asked; None without any."""
    problem: str = ""
    """What is wrong with them, in a sentence."""


class ProportionWanted(Question[ProportionFound], frozen=True, kw_only=True):
    """How NodePools share out the pods that each of them could take."""

    pools: tuple[str, ...]
    shares: str | None = None
    """Shares as they were typed; None to ask what they could be."""


# What can be done about blockers


class RemediesFound(msgspec.Struct, frozen=True, kw_only=True):
    """What can be done about blockers."""

    members: tuple[BlockerEntry, ...] = ()
    """The blockers as they are; those that are gone are left out."""
    remedies: tuple[BlockerRemedy, ...] = ()


class RemediesWanted(Question[RemediesFound], frozen=True, kw_only=True):
    """What can be done about blockers."""

    members: tuple[str, ...]
    """The keys of their rows."""
    now_ns: int
    """The present instant: nanoseconds since the epoch."""
    makes_edits: bool = True
    """Whether they are to lead into a what-if."""


class TrialsFound(msgspec.Struct, frozen=True, kw_only=True):
    """What each remedy comes to."""

    kinds: tuple[BlockerRemedyKind, ...] = ()
    """Which remedies were tried."""
    trials: tuple[Trial, ...] = ()
    """One for each of them."""
    best: BlockerRemedyKind | None = None
    """None where there are none."""


class TrialsWanted(Question[TrialsFound], frozen=True, kw_only=True):
    """What each remedy of blockers comes to; takes a while."""

    members: tuple[str, ...]
    """The keys of their rows."""
    now_ns: int
    """The present instant: nanoseconds since the epoch."""


# One node, one pod that waits


class NodeFound(msgspec.Struct, frozen=True, kw_only=True):
    """One node at length."""

    entry: NodeEntry | None = None
    """None where it is not there (any more)."""
    pods: tuple[PodEntry, ...] = ()
    detail: NodeDetail | None = None
    """None until it is worked out."""
    usage: LiveUsage
    """Who tells what it really uses, without what nodes and pods use."""


class NodeWanted(Question[NodeFound], frozen=True, kw_only=True):
    """One node at length."""

    key: str
    """Of its row."""
    name: str = ""
    """Under which its pods are found once it is gone."""


class PodWaitFound(msgspec.Struct, frozen=True, kw_only=True):
    """Why a pod waits."""

    is_there: bool
    node_name: str = ""
    """The node that it has found, empty while it waits."""
    group: PendingGroup | None = None
    """The pods that wait with it; None while that is not worked out, and once it has a node."""
    detail: PodDetail | None = None
    """None until it is worked out."""
    around: PodSurroundings
    may_list_events: bool
    """Whether events may be listed: silence else means nothing."""


class PodWaitWanted(Question[PodWaitFound], frozen=True, kw_only=True):
    """Why a pod waits."""

    key: str
    """``namespace/name``."""


class ReasonsFound(msgspec.Struct, frozen=True, kw_only=True):
    """Why pods wait, in a few words."""

    by_group: Mapping[str, str]
    """By the key of their group."""


class ReasonsWanted(Question[ReasonsFound], frozen=True, kw_only=True):
    """Why pods wait, in a few words."""


class LastHourFound(msgspec.Struct, frozen=True, kw_only=True):
    """How many NodeClaims there were."""

    alive: tuple[int | None, ...] = ()
    """Every five minutes; None from before anything is known, empty where nothing is."""


class LastHourWanted(Question[LastHourFound], frozen=True, kw_only=True):
    """How many NodeClaims there were over the last hour."""

    now_ns: int
    """The present instant: nanoseconds since the epoch."""


# Instance types


class LedgerFound(msgspec.Struct, frozen=True, kw_only=True):
    """One type of a NodePool at length."""

    pool: PoolEntry | None = None
    """None where it is not there (any more)."""
    entry: TypeEntry | None = None
    """None where the NodePool has no such type."""
    fit: TypeFit | None = None
    """How a pending pod fits it; None where none may go to the NodePool."""
    family: tuple[str, ...] = ()
    """The types of its family, from the least memory on."""


class LedgerWanted(Question[LedgerFound], frozen=True, kw_only=True):
    """One type of a NodePool at length."""

    pool: str
    instance_type: str
    pods: frozenset[str] = frozenset()
    """Keys of pending pods one of which is held against it; the one that asks most where none of them stands there."""


class TypeSourcesFound(msgspec.Struct, frozen=True, kw_only=True):
    """Where instance types, settings and prices come from."""

    text: str
    overhead: str
    """Who has said VM_MEMORY_OVERHEAD_PERCENT."""
    notes: tuple[str, ...] = ()
    """What is assumed about NodeClasses."""


class TypeSourcesWanted(Question[TypeSourcesFound], frozen=True, kw_only=True):
    """Where instance types, settings and prices come from."""

    pool: str = ""
    """NodePool whose types are meant; empty to leave out where those come from."""
