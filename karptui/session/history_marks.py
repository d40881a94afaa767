"""Marks of the changes between two views, and figures of each NodePool, for a history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import msgspec

from karptui.aws.launch_refusals import REFUSED_NS, LaunchRefusal
from karptui.decode.kinds import Kind
from karptui.disruption.churn.life import why_removed
from karptui.disruption.owner import OriginIndex
from karptui.karpenter.controller import ControllerInfo
from karptui.karpenter.labels import NODEPOOL, is_disrupted
from karptui.karpenter.nodeclaim import DISRUPTION_REASON, NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Node, true_condition
from karptui.kube.timestamps import MINUTE_NS, NS_PER_SECOND
from karptui.kube.usage import Measured
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry
from karptui.session.refusals import launch_refusals_of
from karptui.sources.history.store import Mark, Sample
from karptui.sources.source import COMPLETE
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity

VERDICT: Final = "verdict"
VERDICT_OVER: Final = "verdict-over"
DISRUPTION: Final = "disruption"
LAUNCH_REFUSED: Final = "launch-refused"
EDIT: Final = "edit"
RESTART: Final = "restart"
OFFERING: Final = "Offering"
"""The kind that a mark of a refused launch is about: ``TYPE/ZONE/CAPACITY_TYPE``, where ``*`` is any or unknown."""
SETTLES_NS: Final = 30 * NS_PER_SECOND
"""A finding that is gone for less is not over: results are missing while a node is simulated again."""
FIRST_NS: Final = MINUTE_NS
"""A finding without a time that is found this soon after recording began may be older."""
NOT_PROBLEMS: Final = frozenset({FindingCode.NEXT, FindingCode.FINE})
"""Lines of the verdict that are no problems."""
_EDITED: Final = (Kind.NODEPOOL, Kind.NODECLASS, Kind.NODEOVERLAY, Kind.DAEMONSET, Kind.DEPLOYMENT, Kind.STATEFULSET)
_CREATED: Final = frozenset({Kind.NODEPOOL, Kind.NODECLASS, Kind.NODEOVERLAY, Kind.DAEMONSET})
"""Kinds whose creations and deletions count as edits too."""

_NOT_SIZED: Final = frozenset({"Pod", "Job", "Node"})

Words = Callable[[ClusterFinding], str]


class OpenFinding(NamedTuple):
    """A finding that is marked as begun, and not yet as over."""

    finding: ClusterFinding
    text: str
    gone_ns: int = 0
    """Since when it is not found; 0 while it is."""


def verdict_marks(
    before: Sequence[OpenFinding],
    findings: Iterable[ClusterFinding],
    now_ns: int,
    words: Words,
    recorded_from_ns: int = 0,
) -> tuple[tuple[OpenFinding, ...], tuple[Mark, ...]]:
    """Return the open findings, and marks of the findings that began or ended.

    Two findings are the same if they have the same cause, and share an object or have none: numbers and times differ.

    Args:
        recorded_from_ns: When recording began: earlier findings get no mark, because their begin is not known.
    """
    marks: list[Mark] = []
    still_open: list[OpenFinding] = []
    rest = list(before)
    problems = [
        each for each in findings if each.code not in NOT_PROBLEMS and each.severity is not FindingSeverity.INFO
    ]
    for finding in problems:
        earlier = next((item for item in rest if _is_same(item.finding, finding)), None)
        if earlier is not None:
            rest.remove(earlier)
            still_open.append(OpenFinding(finding, earlier.text))
        else:
            text = words(finding)
            still_open.append(OpenFinding(finding, text))
            if _began_ns(finding, now_ns, recorded_from_ns) >= recorded_from_ns:
                marks.append(_verdict_mark(VERDICT, finding, text, now_ns))
    for item in rest:
        if any(_is_same(item.finding, finding) for finding in problems):
            continue  # it has become a part of another
        gone_ns = item.gone_ns or now_ns
        if now_ns - gone_ns < SETTLES_NS:
            still_open.append(item._replace(gone_ns=gone_ns))
        else:
            marks.append(_verdict_mark(VERDICT_OVER, item.finding, item.text, gone_ns))
    return tuple(still_open), tuple(marks)


def _began_ns(finding: ClusterFinding, now_ns: int, recorded_from_ns: int) -> int:
    """Return when a finding began; at the beginning it takes a while until all findings are known."""
    if now_ns - recorded_from_ns < FIRST_NS:
        return finding.since_ns or 0
    return finding.since_ns or now_ns


def _is_same(left: ClusterFinding, right: ClusterFinding) -> bool:
    if left.code is not right.code:
        return False
    if left.objects and right.objects:
        return not set(left.objects).isdisjoint(right.objects)
    return left.objects == right.objects


def _verdict_mark(cause: str, finding: ClusterFinding, text: str, at_ns: int) -> Mark:
    kind, _, name = finding.objects[0].partition("/") if finding.objects else ("", "", "")
    return Mark(
        at_ns=at_ns,
        cause=cause,
        code=str(finding.code),
        object_kind=kind,
        name=name,
        objects=finding.objects,
        text=text,
        cost_per_hour=finding.price_per_hour,
        severity=str(finding.severity),
    )


class Seen(NamedTuple):
    """The parts of a view that the next one is compared with; it keeps no generation alive."""

    objects: Mapping[Kind, Mapping[str, Any]]
    """Objects of each kind that was listed completely, so that later objects are known to be new."""
    controller: ControllerInfo | None


def seen_of(view: ClusterView) -> Seen:
    """Return the parts of a view to compare the next one with."""
    complete = (kind for kind in (Kind.NODE, Kind.NODECLAIM, *_EDITED) if _is_complete(view, kind))
    return Seen({kind: view.state.of(kind) for kind in complete}, view.evidence.controller)


def _is_complete(view: ClusterView, kind: Kind) -> bool:
    status = view.statuses.get(kind)
    return status is not None and status.phase in COMPLETE


def change_marks(before: Seen, view: ClusterView, now_ns: int) -> tuple[Mark, ...]:
    """Return marks of what happened since: disruptions, edits, and restarts of Karpenter.

    Passes over kinds whose objects are the same.
    """
    return (*_disruptions(before, view, now_ns), *_edits(before, view, now_ns), *_restarts(before, view, now_ns))


def _disruptions(before: Seen, view: ClusterView, now_ns: int) -> Iterator[Mark]:
    names: dict[str, tuple[Node | None, NodeClaim | None]] = {}
    for node in _changed(before, view, Kind.NODE):
        names[f"node/{node.name}"] = node, view.state.claim_of(node.name)
    for claim in _changed(before, view, Kind.NODECLAIM):
        claimed = view.state.node_of(claim.name)
        names[f"node/{claimed.name}" if claimed is not None else f"claim/{claim.name}"] = claimed, claim
    for node, claim in names.values():
        if not _is_disrupted(node, claim):
            continue
        old_node = before.objects.get(Kind.NODE, {}).get(node.name) if node is not None else None
        old_claim = before.objects.get(Kind.NODECLAIM, {}).get(claim.name) if claim is not None else None
        if (old_node is None and old_claim is None) or _is_disrupted(old_node, old_claim):
            continue
        entry = NodeEntry(node, claim)
        object_entry = (view.node_of(node.name) if node is not None else view.claim_of(entry.name)) or entry
        yield Mark(
            at_ns=now_ns,
            cause=DISRUPTION,
            object_kind="Node" if node is not None else "NodeClaim",
            name=entry.name,
            text=_why(view, node, claim),
            cost_per_hour=object_entry.price.per_hour if object_entry.price is not None else None,
            pool=entry.pool,
        )


def _is_disrupted(node: Node | None, claim: NodeClaim | None) -> bool:
    if claim is not None and (claim.is_deleting or claim.is_true(DISRUPTION_REASON)):
        return True
    return node is not None and is_disrupted(node.taints)


def _why(view: ClusterView, node: Node | None, claim: NodeClaim | None) -> str:
    """Return the reason by the condition that Karpenter sets, otherwise by the events and the claim."""
    if claim is None:
        return ""
    condition = true_condition(claim.conditions, DISRUPTION_REASON)
    if condition is not None:
        return condition.reason
    names = {claim.name, node.name if node is not None else ""}
    events = [
        event
        for event in view.state.events.values()
        if event.involved_kind in ("Node", "NodeClaim") and event.involved_name in names
    ]
    return str(why_removed(claim, view.state.nodepools.get(claim.labels.get(NODEPOOL, "")), events))


def _edits(before: Seen, view: ClusterView, now_ns: int) -> Iterator[Mark]:
    for kind in _EDITED:
        olds, news = before.objects.get(kind), view.state.of(kind)
        if olds is None or olds is news:
            continue
        for key, new in news.items():
            old = olds.get(key)
            if old is new:
                continue
            if old is None:
                if kind in _CREATED:
                    yield Mark(at_ns=now_ns, cause=EDIT, object_kind=str(kind), name=key, text="created")
            elif (old.generation != new.generation or not old.generation) and _spec(old) != _spec(new):
                yield Mark(at_ns=now_ns, cause=EDIT, object_kind=str(kind), name=key)
        if kind in _CREATED:
            for key in olds.keys() - news.keys():
                yield Mark(at_ns=now_ns, cause=EDIT, object_kind=str(kind), name=key, text="deleted")


def _spec(item: Any) -> Any:
    if isinstance(item, NodePool):
        return item.raw.get("spec")
    if hasattr(item, "template"):
        return item.template
    return getattr(item, "spec", None) or msgspec.structs.replace(
        item, conditions=(), generation=0, annotations={}, labels={}
    )


def _restarts(before: Seen, view: ClusterView, now_ns: int) -> Iterator[Mark]:
    old, new = before.controller, view.evidence.controller
    if old is None or new is None or old is new:
        return
    changes = [f"version {old.version} → {new.version}"] if old.version != new.version else []
    for name in sorted({*old.settings, *new.settings}):
        values = [info.settings.get(name, "(default)") for info in (old, new)]
        if values[0] != values[1]:
            changes.append(f"{name} {values[0]} → {values[1]}")
    if changes:
        kind, _, name = new.title.rpartition(" ")
        yield Mark(at_ns=now_ns, cause=RESTART, object_kind=kind, name=name, text=", ".join(changes))


def _changed(before: Seen, view: ClusterView, kind: Kind) -> Iterator[Any]:
    olds, news = before.objects.get(kind), view.state.of(kind)
    if olds is not None and olds is not news:
        yield from (new for key, new in news.items() if olds.get(key) is not new)


def refusal_marks(view: ClusterView, marked: Mapping[str, int], since_ns: int, now_ns: int) -> tuple[Mark, ...]:
    """Return marks of launches that failed, one for an offering in three minutes.

    Args:
        marked: When each offering was marked last, by the name of its mark.
        since_ns: Omit failures that were last seen before this time.
    """
    last = dict(marked)
    marks: list[Mark] = []
    for name, at_ns, text, pool in _refused(view, now_ns):
        if at_ns >= since_ns and at_ns - last.get(name, -REFUSED_NS) >= REFUSED_NS:
            last[name] = at_ns
            marks.append(Mark(at_ns=at_ns, cause=LAUNCH_REFUSED, object_kind=OFFERING, name=name, text=text, pool=pool))
    return tuple(marks)


def _refused(view: ClusterView, now_ns: int) -> Iterator[tuple[str, int, str, str]]:
    refusals = launch_refusals_of(view.state)
    named = {refusal.nodeclaim for refusal in refusals}
    for refusal in refusals:
        text = refusal.error_code or refusal.message
        for name in _offerings(refusal):
            yield name, min(refusal.last_ns, now_ns), text, refusal.nodepool
    for claim in view.state.nodeclaims.values():
        launched = claim.refused_launch
        if launched is not None and claim.name not in named:
            at_ns = min(launched.last_transition_ns or now_ns, now_ns)
            yield "*/*/*", at_ns, launched.reason, claim.labels.get(NODEPOOL, "")


def _offerings(refusal: LaunchRefusal) -> Iterator[str]:
    capacity_type = refusal.capacity_types[0] if len(refusal.capacity_types) == 1 else "*"
    for instance_type, zone in product(refusal.instance_types or ("*",), refusal.zones or ("*",)):
        yield f"{instance_type}/{zone}/{capacity_type}"


def samples_of(view: ClusterView, now_ns: int) -> tuple[Sample, ...]:
    """Return the figures of every NodePool; the empty name is for nodes that Karpenter does not manage."""
    by_pool: dict[str, list[NodeEntry]] = {"": [], **{name: [] for name in view.state.nodepools}}
    for entry in view.node_entries:
        by_pool.setdefault(entry.pool if entry.is_managed else "", []).append(entry)
    return tuple(_sample(view, name, entries, now_ns) for name, entries in by_pool.items())


def measured_of(view: ClusterView) -> Iterator[Measured]:
    """Yield the last measurement of each container, except of pods that no patch changes: of Jobs, static, alone."""
    origins = OriginIndex(view.owners)
    for key, containers in view.live_usage.containers.items():
        pod = view.state.pods.get(key)
        workload = origins.of(pod) if pod is not None else ""
        if workload and workload.partition("/")[0] not in _NOT_SIZED:
            yield from (Measured(workload, used.name, used.cpu_millis, used.memory_bytes) for used in containers)


def _sample(view: ClusterView, pool: str, entries: Sequence[NodeEntry], now_ns: int) -> Sample:
    totals = view.totals_of(entries, 0)
    held, cost = totals.held, totals.cost
    used = [entry.used.latest for entry in entries if entry.node is not None and entry.used is not None]
    return Sample(
        at_ns=now_ns,
        pool=pool,
        nodes=totals.nodes,
        pods=sum(entry.usage.pods for entry in entries if entry.usage is not None),
        price_per_hour=cost.per_hour if cost is not None and (cost.priced or not cost.unpriced) else None,
        held_per_hour=held.per_hour if held is not None and not held.waiting else None,
        cpu_requested_millis=totals.cpu.requested,
        cpu_allocatable_millis=totals.cpu.capacity,
        memory_requested_bytes=totals.memory.requested,
        memory_allocatable_bytes=totals.memory.capacity,
        cpu_used_millis=sum(sample.cpu_millis for sample in used) if used else None,
        memory_used_bytes=sum(sample.memory_bytes for sample in used) if used else None,
        pending_pods=0 if pool else len(view.state.pending_pods),
    )
