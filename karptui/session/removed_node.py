"""Why a node was removed, from a history: its NodeClaim's life, Karpenter's words, its command, and its pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from karptui.aws.prices import NodePrices
from karptui.decode.errors import DecodeError
from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.disruption.churn.life import VOLUNTARY, Life, Removal
from karptui.disruption.churn.report import churn_of
from karptui.disruption.command import Method
from karptui.disruption.termination import deadline_of
from karptui.karpenter.inventory import ClusterHistory, GoneClaim, Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.generated_names import written_owner
from karptui.kube.objects import Event, controller_of
from karptui.kube.pod import ENDED, Pod
from karptui.kube.timestamps import MINUTE_NS, NS_PER_SECOND
from karptui.session.churn import ReplacedClaim, replacements
from karptui.session.history_report import price_of_life, sum_if_known
from karptui.sources.history.store import Change, History

_BEFORE_NS: Final = 15 * MINUTE_NS
"""How long before a deletion its command may have begun."""
_AFTER_NS: Final = 10 * MINUTE_NS
"""For how long after it replacements and new pods are looked for."""
_TOGETHER_NS: Final = 5 * NS_PER_SECOND
"""NodeClaims that commands of one reason take within this time belong to one command."""
_DEADLINE_SLACK_NS: Final = 30 * NS_PER_SECOND

Objects = dict[tuple[str, str], Change]


class EvictedPods(msgspec.Struct, frozen=True):
    """Pods of one owner that left the node."""

    owner: str
    """``Kind/namespace/name``; of a pod that nothing recreates ``Pod/namespace/name``."""
    pods: tuple[str, ...]
    """Keys of the pods."""
    nodes: tuple[tuple[str, int], ...] = ()
    """Nodes on which its new pods are, with their number; empty if there are none."""
    pending: int = 0
    """New pods that have no node yet."""


class RemovedNode(msgspec.Struct, frozen=True, kw_only=True):
    """The removal of a node."""

    replaced: ReplacedClaim
    is_static: bool = False
    conditions: tuple[tuple[str, str, str], ...] = ()
    """Type, reason and message of its NodeClaim's last conditions that report a disruption."""
    events: tuple[Event, ...] = ()
    """Karpenter's words about the NodeClaim and the node, the first first."""
    together: tuple[Life, ...] = ()
    """Other NodeClaims that the same command removed."""
    evicted: tuple[EvictedPods, ...] = ()
    price_per_hour: float | None = None
    replacement_price_per_hour: float | None = None
    """Of all replacements of the command; 0 without any, None if one is unknown."""
    together_price_per_hour: float | None = None
    deadline_ns: int = 0
    """When its drain would have been forced to end; 0 without a deadline."""
    was_forced: bool = False
    """Whether the deadline ended its drain."""
    namesakes: int = 1
    """Removed nodes that had the name; this is the last of them."""
    was_recorded: bool = True
    """Whether its removal was recorded; otherwise it was removed in a pause of the recording."""

    @property
    def method(self) -> str:
        """Karpenter's disruption method; empty if none removed it."""
        match self.replaced.life.why:
            case Removal.UNDERUTILIZED:
                return Method.MULTI_NODE if self.together else Method.SINGLE_NODE
            case Removal.DRIFTED:
                return Method.STATIC_DRIFT if self.is_static else Method.DRIFT
            case Removal.EMPTY:
                return Method.EMPTINESS
            case _:
                return ""

    @property
    def saved_per_hour(self) -> float | None:
        """Savings of the command; negative if it costs more, None if a price is unknown."""
        if self.together_price_per_hour is None or self.replacement_price_per_hour is None:
            return None
        return self.together_price_per_hour - self.replacement_price_per_hour


def removed_node(history: History, name: str, now_ns: int, prices: NodePrices | None = None) -> RemovedNode | None:
    """Return the removal of a node, by its name or its NodeClaim's; None if the history has none.

    Args:
        now_ns: Later removals do not count.
        prices: Prices of nodes; None leaves costs out.
    """
    removal = _last_removal(history, name, now_ns)
    if removal is None:
        return None
    claim, gone_ns, namesakes, was_recorded = removal
    session = history.session_at(gone_ns)
    assert session is not None, "the history has the NodeClaim"
    begin_ns = max(min(claim.deletion_ns or gone_ns, gone_ns) - _BEFORE_NS, session.from_ns)
    end_ns = min(gone_ns + _AFTER_NS, session.to_ns, now_ns)
    before = history.objects_at(begin_ns)
    changes = list(history.changes(begin_ns, end_ns))
    at_removal, after = _later(before, changes, claim.deletion_ns or gone_ns), _later(before, changes, end_ns)
    # Namesakes are other nodes.
    gone = (
        *(item for item in _gone_claims(before, changes) if item.claim.name != claim.name),
        GoneClaim(claim, gone_ns),
    )
    events = _events(before, changes)
    inventory = Inventory(
        nodeclaims=tuple(item for item in _decoded(after, Kind.NODECLAIM) if item.name != claim.name),
        nodepools=tuple(_decoded(after, Kind.NODEPOOL)),
        events=events,
    )
    churn = churn_of(inventory, end_ns, ClusterHistory(began_ns=begin_ns, claims=gone))
    removed = replacements(churn)
    replaced = next((item for item in removed if item.life.claim == claim.name), None)
    if replaced is None:
        return None
    together = _together(replaced.life, [item.life for item in removed])
    names = {claim.name, claim.node_name} - {""}
    deadline = deadline_of(claim)
    evicted = _evicted(claim.node_name, at_removal, after) if claim.node_name else ()
    return RemovedNode(
        replaced=msgspec.structs.replace(replaced, moves=sum(len(pods.pods) for pods in evicted)),
        is_static=any(pool.is_static for pool in inventory.nodepools if pool.name == replaced.life.pool),
        conditions=tuple(
            (condition.type, condition.reason, condition.message)
            for condition in claim.conditions
            if condition.status == "True" and (condition.type.startswith("Disrupt") or condition.type in _TELLING)
        ),
        events=tuple(e for e in events if e.involved_kind in ("Node", "NodeClaim") and e.involved_name in names),
        together=together,
        evicted=evicted,
        price_per_hour=_price(prices, [replaced.life]),
        together_price_per_hour=_price(prices, [replaced.life, *together]),
        replacement_price_per_hour=_price(prices, replaced.successors),
        deadline_ns=deadline.at_ns if deadline is not None else 0,
        was_forced=deadline is not None and was_recorded and gone_ns >= deadline.at_ns - _DEADLINE_SLACK_NS,
        namesakes=namesakes,
        was_recorded=was_recorded,
    )


_TELLING: Final = frozenset({"Drifted", "Drained", "VolumesDetached", "InstanceTerminating"})


def _last_removal(history: History, name: str, now_ns: int) -> tuple[NodeClaim, int, int, bool] | None:
    """Return the last NodeClaim of a name that was removed, when, how many had it, and whether that was recorded."""
    latest: dict[str, msgspec.Raw] = {}
    removed: dict[str, tuple[NodeClaim, int, bool]] = {}
    until_ns = 0
    for session in history.sessions():
        if session.from_ns > now_ns:
            break
        opening = history.objects_at(session.from_ns).items()
        present = {key: change.manifest for (kind, key), change in opening if kind == Kind.NODECLAIM}
        # In a pause of the recording objects go without a word.
        for key in latest.keys() - present.keys():
            if (claim := _claim(latest[key], name)) is not None:
                removed[claim.uid or claim.name] = claim, until_ns, False
        latest, until_ns = present, session.to_ns
        for change in history.changes(session.from_ns, min(session.to_ns, now_ns), (str(Kind.NODECLAIM),)):
            if not change.is_deletion:
                latest[change.key] = change.manifest
            elif change.key in latest and (claim := _claim(latest.pop(change.key), name)) is not None:
                removed[claim.uid or claim.name] = claim, change.at_ns, True
    if not removed:
        return None
    claim, gone_ns, was_recorded = max(removed.values(), key=lambda item: item[1])
    return claim, gone_ns, len(removed), was_recorded


def _claim(manifest: msgspec.Raw, name: str) -> NodeClaim | None:
    """Return a NodeClaim if it or its node has a name."""
    if name.encode() not in bytes(manifest):
        return None
    with suppress(DecodeError):
        claim: NodeClaim = KindReader(Kind.NODECLAIM).decode(manifest)
        if name in (claim.name, claim.node_name, claim.node_name.partition(".")[0]):
            return claim
    return None


def _later(before: Objects, changes: Iterable[Change], at_ns: int) -> Objects:
    objects = dict(before)
    for change in changes:
        if change.at_ns > at_ns:
            break
        if change.is_deletion:
            objects.pop((change.kind, change.key), None)
        else:
            objects[change.kind, change.key] = change
    return objects


def _decoded(objects: Mapping[tuple[str, str], Change], kind: Kind) -> list[Any]:
    return [item for ref, change in objects.items() if ref[0] == kind for item in _read(kind, change.manifest)]


def _read(kind: Kind, manifest: msgspec.Raw) -> list[Any]:
    try:
        return [KindReader(kind).decode(manifest)]
    except DecodeError:
        return []


def _gone_claims(before: Objects, changes: Iterable[Change]) -> tuple[GoneClaim, ...]:
    latest = {key: change for (kind, key), change in before.items() if kind == Kind.NODECLAIM}
    gone: list[GoneClaim] = []
    for change in changes:
        if change.kind != Kind.NODECLAIM:
            continue
        if not change.is_deletion:
            latest[change.key] = change
        elif (last := latest.pop(change.key, None)) is not None:
            gone += [GoneClaim(claim, change.at_ns) for claim in _read(Kind.NODECLAIM, last.manifest)]
    return tuple(gone)


def _events(before: Objects, changes: Iterable[Change]) -> tuple[Event, ...]:
    """Return all events of a time, in their last state, also those that the API server deleted meanwhile."""
    latest = {key: change for (kind, key), change in before.items() if kind == Kind.EVENT}
    latest |= {change.key: change for change in changes if change.kind == Kind.EVENT and not change.is_deletion}
    events = [event for change in latest.values() for event in _read(Kind.EVENT, change.manifest)]
    return tuple(sorted(events, key=lambda event: event.last_ns))


def _together(life: Life, removed: Iterable[Life]) -> tuple[Life, ...]:
    if life.why not in VOLUNTARY:
        return ()
    at_ns = life.commanded_ns or life.removed_ns
    return tuple(
        other
        for other in removed
        if other.claim != life.claim
        and other.why is life.why
        and abs((other.commanded_ns or other.removed_ns) - at_ns) <= _TOGETHER_NS
    )


def _evicted(node: str, at_removal: Objects, after: Objects) -> tuple[EvictedPods, ...]:
    """Return the pods that had to leave a node, and where their successors are."""
    left: dict[tuple[str, str, str], list[Pod]] = {}
    for ref, change in at_removal.items():
        if ref[0] == Kind.POD and node.encode() in bytes(change.manifest):
            for pod in _read(Kind.POD, change.manifest):
                template = pod.template
                is_bound = template.is_daemonset_owned or template.is_node_owned
                if pod.node_name == node and pod.phase not in ENDED and not is_bound:
                    left.setdefault(_owner(pod), []).append(pod)
    arrived: dict[tuple[str, str, str], list[Pod]] = {}
    for ref, change in after.items():
        old = at_removal.get(ref)
        if ref[0] == Kind.POD and (old is None or bytes(old.manifest) != bytes(change.manifest)):
            for pod in _read(Kind.POD, change.manifest):
                is_new = old is None or f'"{pod.uid}"'.encode() not in bytes(old.manifest)
                if is_new and _owner(pod) in left:
                    arrived.setdefault(_owner(pod), []).append(pod)
    evicted = []
    for owner, pods in left.items():
        # An owner makes a new pod as soon as one is evicted: later ones are not in place of these.
        new = sorted(arrived.get(owner, ()), key=lambda pod: pod.created_ns)[: len(pods)]
        places = Counter(pod.node_name for pod in new)
        pending = places.pop("", 0)
        evicted.append(
            EvictedPods("/".join(owner), tuple(sorted(pod.key for pod in pods)), tuple(places.most_common()), pending)
        )
    return tuple(sorted(evicted, key=lambda item: (-len(item.pods), item.owner)))


def _owner(pod: Pod) -> tuple[str, str, str]:
    owner = controller_of(pod.owners)
    if owner is None:
        return "Pod", pod.namespace, pod.name
    kind, name = written_owner(owner.kind, owner.name, pod.labels)
    return kind, pod.namespace, name


def _price(prices: NodePrices | None, lives: Iterable[Life]) -> float | None:
    return sum_if_known(price_of_life(prices, life) if prices is not None else None for life in lives)
