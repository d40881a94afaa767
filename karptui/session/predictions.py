"""The prediction ledger: what karptui expected Karpenter to do next, compared with what happened.

Two kinds of predictions: where a pending pod goes (a node that exists, or a new node of a NodePool), and which nodes
Karpenter disrupts next. A prediction counts as *overtaken*, neither right nor wrong, if what it rested on changed
before Karpenter acted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from karptui.disruption.analysis import NextReport
from karptui.karpenter import labels
from karptui.karpenter.labels import is_disrupted
from karptui.karpenter.nodeclaim import DISRUPTION_REASON
from karptui.kube.objects import Node
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.pending.causes import PodDestination
from karptui.pending.groups import PendingReport
from karptui.sources.history.store import PREDICTION, Mark
from karptui.state.cluster import ClusterState

BATCH_NS: Final = 10 * NS_PER_SECOND
"""Karpenter waits up to ten seconds for more pods (BATCH_MAX_DURATION): until then a prediction may be replaced."""
COMMAND_NS: Final = 30 * NS_PER_SECOND
"""Karpenter validates a command for fifteen seconds before it acts: a prediction of this age may be about it."""
MOST_OPEN: Final = 5_000
MOST_COMMANDS: Final = 20
_EARLY_NS: Final = 2 * NS_PER_SECOND
"""A node that was created this long before the prediction may be the predicted one: clocks differ."""


class PredictionKind(StrEnum):
    """What was predicted."""

    PLACEMENT = "placement"
    COMMAND = "command"


class Outcome(StrEnum):
    """What became of a prediction."""

    RIGHT = "right"
    WRONG = "wrong"
    OVERTAKEN = "overtaken"


class Because(StrEnum):
    """Why a prediction was overtaken, or how what happened differs."""

    NONE = ""
    POD_GONE = "pod-gone"
    NODE_GONE = "node-gone"
    """The expected node was deleted, cordoned or disrupted."""
    EDITED = "edited"
    """A NodePool or NodeClass was changed."""
    REFUSED = "refused"
    """A launch failed."""
    TOO_OLD = "too-old"
    OTHER_NODE = "other-node"
    OTHER_POOL = "other-pool"
    NEW_NODE = "new-node"
    """A node was launched, although an existing one was expected."""
    OLD_NODE = "old-node"
    """An existing node took the pod, although a new one was expected."""


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What karptui expected."""

    kind: PredictionKind
    at_ns: int
    subject: str
    """``namespace/name`` of the pod, or the names of the nodes of a command."""
    uid: str = ""
    """Of the pod."""
    node: str = ""
    """The existing node that takes the pod; empty if a new one is launched."""
    nodepool: str = ""
    """Of the new node."""
    instance_type: str = ""
    """Cheapest type of the new node; others may be launched, which is right too."""
    method: str = ""
    """Of a command."""
    instead: frozenset[str] = frozenset()
    """Nodes that a command may take instead, as Karpenter's order is random."""


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A prediction and its outcome."""

    prediction: Prediction
    outcome: Outcome
    because: Because = Because.NONE
    happened: str = ""
    """The node that the pod went to, or the nodes that were disrupted."""
    happened_pool: str = ""
    at_ns: int = 0


class Share(msgspec.Struct, frozen=True):
    """How many predictions of a kind came true."""

    right: int = 0
    wrong: int = 0
    overtaken: int = 0

    @property
    def percent(self) -> float | None:
        """Right ones in percent of right and wrong ones; None without any."""
        judged = self.right + self.wrong
        return 100 * self.right / judged if judged else None


def mark_of(entry: LedgerEntry) -> Mark:
    """Return a decided prediction as a mark: its outcome as ``code``, and the reason of a difference as ``text``."""
    prediction = entry.prediction
    is_pod = prediction.kind is PredictionKind.PLACEMENT
    expected = f"Node/{prediction.node}" if prediction.node else f"NodePool/{prediction.nodepool}"
    return Mark(
        at_ns=entry.at_ns,
        cause=PREDICTION,
        code=str(entry.outcome),
        object_kind="Pod" if is_pod else "Node",
        name=prediction.subject,
        objects=(expected, f"Node/{entry.happened}") if is_pod else (f"Node/{entry.happened}",),
        pool=entry.happened_pool,
        text=str(entry.because),
    )


def shares_of_marks(marks: Iterable[Mark]) -> Mapping[PredictionKind, Share]:
    """Return the share of right predictions of each kind, from a history's marks."""
    counts = {kind: dict.fromkeys(Outcome, 0) for kind in PredictionKind}
    for mark in marks:
        if mark.cause == PREDICTION:
            kind = PredictionKind.PLACEMENT if mark.object_kind == "Pod" else PredictionKind.COMMAND
            counts[kind][Outcome(mark.code)] += 1
    return {
        kind: Share(of_kind[Outcome.RIGHT], of_kind[Outcome.WRONG], of_kind[Outcome.OVERTAKEN])
        for kind, of_kind in counts.items()
    }


class Ledger:
    """Notes predictions, and compares them with the states that follow. Not thread-safe."""

    def __init__(self) -> None:
        self._pods: dict[str, tuple[Prediction, PodTemplate]] = {}
        """By the pod's UID."""
        self._commands: dict[str, tuple[Prediction, int]] = {}
        """Commands by their nodes, and when each was predicted last; the newest last."""
        self._disrupted: frozenset[str] = frozenset()
        self._is_begun = False
        self._settings: tuple[object, ...] = ()
        self._edited_ns = self._refused_ns = 0

    def saw(
        self, state: ClusterState, pending: PendingReport | None, next_report: NextReport | None, now_ns: int
    ) -> tuple[LedgerEntry, ...]:
        """Return the predictions that a newer state decides, and add the current predictions.

        Args:
            pending: Where pending pods go, as of this state or an older one; None if unknown.
            next_report: Karpenter's next commands; None if unknown.
            now_ns: When the state was seen: nanoseconds since the epoch.
        """
        self._note_changes(state, now_ns)
        entries = [*self._decided_pods(state, now_ns), *self._decided_command(state, now_ns)]
        if pending is not None:
            self._note_pods(pending, state)
        if next_report is not None:
            self._note_command(next_report, now_ns)
        self._is_begun = True
        return tuple(entries)

    def _note_changes(self, state: ClusterState, now_ns: int) -> None:
        settings = (
            *((pool.name, pool.generation) for pool in state.nodepools.values()),
            *((key, nodeclass.generation) for key, nodeclass in state.nodeclasses.items()),
        )
        if self._is_begun and settings != self._settings:
            self._edited_ns = now_ns
        self._settings = settings
        if any(claim.refused_launch is not None for claim in state.nodeclaims.values()):
            self._refused_ns = now_ns

    def _decided_pods(self, state: ClusterState, now_ns: int) -> Iterator[LedgerEntry]:
        for uid in list(self._pods):
            prediction, _ = self._pods[uid]
            pod = state.pods.get(prediction.subject)
            if pod is None or pod.uid != uid:
                del self._pods[uid]
                yield LedgerEntry(
                    prediction=prediction, outcome=Outcome.OVERTAKEN, because=Because.POD_GONE, at_ns=now_ns
                )
            elif pod.node_name and (node := state.nodes.get(pod.node_name)) is not None:
                prediction = self._exchanged(uid, node.name, state)
                del self._pods[uid]
                yield self._placed(prediction, node, state, now_ns)

    def _exchanged(self, uid: str, node: str, state: ClusterState) -> Prediction:
        """Return a pod's prediction, that of an equal pod if that one names the node: equal pods may change places."""
        pod_seen, template = self._pods[uid]
        if _node_name(pod_seen.node, state) == node:
            return pod_seen
        for other_uid, (other, other_template) in self._pods.items():
            is_equal = other.at_ns == pod_seen.at_ns and other_template is template
            if is_equal and _node_name(other.node, state) == node:
                swapped = {name: getattr(pod_seen, name) for name in ("node", "nodepool", "instance_type")}
                self._pods[other_uid] = msgspec.structs.replace(other, **swapped), template
                return msgspec.structs.replace(pod_seen, node=node, nodepool="", instance_type="")
        return pod_seen

    def _placed(self, prediction: Prediction, node: Node, state: ClusterState, now_ns: int) -> LedgerEntry:
        pool = node.labels.get(labels.NODEPOOL, "")
        is_new = node.created_ns >= prediction.at_ns - _EARLY_NS
        because = Because.NONE
        if prediction.node and node.name != _node_name(prediction.node, state):
            because = Because.NEW_NODE if is_new else Because.OTHER_NODE
        elif not prediction.node and not is_new:
            because = Because.OLD_NODE
        elif not prediction.node and pool != prediction.nodepool:
            because = Because.OTHER_POOL
        overtaken = self._overtaken(prediction, state) if because else Because.NONE
        outcome = Outcome.OVERTAKEN if overtaken else Outcome.WRONG if because else Outcome.RIGHT
        return LedgerEntry(
            prediction=prediction,
            outcome=outcome,
            because=overtaken or because,
            happened=node.name,
            happened_pool=pool,
            at_ns=now_ns,
        )

    def _overtaken(self, prediction: Prediction, state: ClusterState) -> Because:
        """Return the change since a prediction that explains another outcome."""
        if self._edited_ns > prediction.at_ns:
            return Because.EDITED
        if self._refused_ns > prediction.at_ns:
            return Because.REFUSED
        if prediction.node:
            node = state.nodes.get(_node_name(prediction.node, state))
            if node is None or node.is_deleting or node.is_unschedulable or is_disrupted(node.taints):
                return Because.NODE_GONE
        return Because.NONE

    def _decided_command(self, state: ClusterState, now_ns: int) -> Iterator[LedgerEntry]:
        disrupted = frozenset(node.name for node in state.nodes.values() if _is_in_command(node, state))
        begun, self._disrupted = disrupted - self._disrupted, disrupted
        if not self._is_begun or not begun or not self._commands:
            return
        recent = [prediction for prediction, seen_ns in self._commands.values() if now_ns - seen_ns <= COMMAND_NS]
        came_true = [
            prediction for prediction in recent if begun <= prediction.instead.union(prediction.subject.split(", "))
        ]
        newest, _ = next(reversed(self._commands.values()))
        self._commands.clear()
        prediction, outcome, because = newest, Outcome.WRONG, Because.OTHER_NODE
        if came_true:
            prediction, outcome, because = came_true[-1], Outcome.RIGHT, Because.NONE
        elif overtaken := self._overtaken(newest, state) or (Because.NONE if recent else Because.TOO_OLD):
            outcome, because = Outcome.OVERTAKEN, overtaken
        yield LedgerEntry(
            prediction=prediction, outcome=outcome, because=because, happened=", ".join(sorted(begun)), at_ns=now_ns
        )

    def _note_pods(self, pending: PendingReport, state: ClusterState) -> None:
        for group in pending.groups:
            for pod, diagnosis, _ in group.members:
                destination = diagnosis.destination
                if destination is None or not pod.uid or state.pods.get(pod.key) is not pod:
                    continue
                pod_seen = self._pods.get(pod.uid)
                if pod_seen is not None and pending.now_ns - pod.created_ns > BATCH_NS:
                    continue
                if pod_seen is None and len(self._pods) >= MOST_OPEN:
                    return
                self._pods[pod.uid] = _placement(pod, destination, pending.now_ns), pod.template

    def _note_command(self, report: NextReport, now_ns: int) -> None:
        if not report.commands or report.paused_by:
            return
        subject = ", ".join(sorted(name for command in report.commands for name in command.node_names))
        instead = frozenset(name for command in report.as_likely for name in command.node_names)
        prediction = Prediction(
            kind=PredictionKind.COMMAND, at_ns=now_ns, subject=subject, instead=instead, method=report.method
        )
        expected = self._commands.pop(subject, None)
        if expected is not None:
            prediction = msgspec.structs.replace(prediction, at_ns=expected[0].at_ns)
        self._commands[subject] = prediction, now_ns
        while len(self._commands) > MOST_COMMANDS:
            del self._commands[next(iter(self._commands))]


def _node_name(name: str, state: ClusterState) -> str:
    """Return the name of a node that was predicted by its NodeClaim, before it had one."""
    claim = state.nodeclaims.get(name)
    return claim.node_name if claim is not None and claim.node_name else name


def _is_in_command(node: Node, state: ClusterState) -> bool:
    """Return whether a command of Karpenter disrupts a node; expiration and interruption are no commands."""
    claim = state.claim_of(node.name)
    return claim is not None and claim.is_true(DISRUPTION_REASON) and is_disrupted(node.taints)


def _placement(pod: Pod, destination: PodDestination, at_ns: int) -> Prediction:
    return Prediction(
        kind=PredictionKind.PLACEMENT,
        at_ns=at_ns,
        subject=pod.key,
        uid=pod.uid,
        node=destination.node,
        nodepool="" if destination.node else destination.nodepool,
        instance_type="" if destination.node else destination.instance_type,
    )
