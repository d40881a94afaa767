"""Messages of the border as bytes, and bytes as messages; importing this module imports what every fact is made of."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from karptui.disruption.analysis import NodeDetail, NodeFindings
from karptui.forward.result import Played
from karptui.karpenter.requirements import Requirement, Requirements
from karptui.karpenter.settings import Settings
from karptui.kube.live_usage import LiveUsage
from karptui.pending.groups import PendingGroup
from karptui.plan.drill import Drill
from karptui.plan.headroom import Headroom
from karptui.plan.policies import Comparison
from karptui.plan.rehearsal import Rehearsal
from karptui.plan.sheet import PlanSheet
from karptui.plan.unreached import Unreached
from karptui.session import border, claims, nodes, questions, study_questions, whatif_questions
from karptui.session.blockers import BlockerEntry
from karptui.session.facts import Around, Fact
from karptui.session.nodes import NodeEntry
from karptui.session.packing import Bin, PackedNode
from karptui.session.pending_report import PodDetail, PodSurroundings
from karptui.session.pods import PodEntry
from karptui.session.types import PoolEntry, TypeEntry, TypeFit
from karptui.solve.answer import Solved
from karptui.verdict.finding import ClusterFinding
from karptui.whatif.edits import AnyEdit, ObjectRef
from karptui.whatif.opening import Opening
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, BlockerRemedyKind
from karptui.whatif.remedies.blockers.trial import Trial
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Replay, Scenario
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.sweep import Sweep, SweepPoint

MessageT = TypeVar("MessageT")

# Those modules know these types only while types are checked: no first screen waits for engines.
for _module in (nodes, claims):
    vars(_module).setdefault("NodeFindings", NodeFindings)
vars(border).update(Fact=Fact, Around=Around, ClusterFinding=ClusterFinding)
for _module in (questions, study_questions, whatif_questions):
    vars(_module).update(
        PlanSheet=PlanSheet,
        AnyEdit=AnyEdit,
        Rehearsal=Rehearsal,
        Unreached=Unreached,
        Comparison=Comparison,
        Drill=Drill,
        Headroom=Headroom,
        Solved=Solved,
        Bin=Bin,
        PackedNode=PackedNode,
        Answer=Answer,
        KnownValues=KnownValues,
        Replay=Replay,
        Scenario=Scenario,
        Settings=Settings,
        Sweep=Sweep,
        SweepPoint=SweepPoint,
        BlockerEntry=BlockerEntry,
        BlockerRemedy=BlockerRemedy,
        BlockerRemedyKind=BlockerRemedyKind,
        LiveUsage=LiveUsage,
        NodeDetail=NodeDetail,
        NodeEntry=NodeEntry,
        PendingGroup=PendingGroup,
        PodDetail=PodDetail,
        PodEntry=PodEntry,
        PodSurroundings=PodSurroundings,
        PoolEntry=PoolEntry,
        TypeEntry=TypeEntry,
        TypeFit=TypeFit,
        ObjectRef=ObjectRef,
        Opening=Opening,
        Played=Played,
        Trial=Trial,
    )


def encoded(message: msgspec.Struct) -> bytes:
    """Return a message as bytes."""
    return _ENCODER.encode(message)


def decoded(data: bytes, kind: type[MessageT]) -> MessageT:
    """Return a message that ``encoded`` wrote."""
    return msgspec.json.decode(data, type=kind, dec_hook=_read)


def plain(value: Any) -> Any:
    """Return what msgspec does not know as what it does."""
    if isinstance(value, MappingProxyType):
        return dict(value)
    if isinstance(value, Requirements):
        return tuple(value)
    raise NotImplementedError(f"{type(value).__name__} does not cross the border")


def _read(kind: type, value: Any) -> Any:
    if kind is Requirements:
        return Requirements(msgspec.convert(value, tuple[Requirement, ...]))
    raise NotImplementedError(f"{kind.__name__} does not cross the border")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=plain)
"""As JSON: amounts in nano-units of a large node go beyond 64 bits, where other formats end."""
