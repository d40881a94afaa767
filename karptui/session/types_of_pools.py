"""The instance types of every NodePool: the result of each filter, and their values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from karptui.aws.auto_mode import SOURCE
from karptui.aws.cluster_types import ClusterTypes, ObservedType, observed_types
from karptui.aws.evidence import Evidence
from karptui.aws.ledger import fitting_overhead_percent, rounded_down, safe_overhead_percent
from karptui.aws.lint import LintFinding, reserved_more_than_node, too_few_pod_slots, unknown_operators, wildcard_values
from karptui.aws.market import live_instance_types
from karptui.aws.nodeclass import Ec2NodeClass, readable
from karptui.aws.user_data import user_data_settings
from karptui.decode.kinds import Kind
from karptui.karpenter.nodeclass import EC2_KIND, is_auto_mode, is_ec2
from karptui.karpenter.nodepool import NodePool
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.kube.quantity import Quantity
from karptui.kube.recent import LastAnswer
from karptui.kube.resources import MEMORY, PODS, ResourceList
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.provisioning.amounts import with_pod_slots
from karptui.provisioning.instance_types import may_go_to, pool_types
from karptui.provisioning.pool_types import Filter, PoolTypes, TypeVerdict
from karptui.session.cluster_view import ClusterView
from karptui.session.nodeclasses import Absence, assumed_of, unread_classes
from karptui.session.pool_types import OfferedTypes, offered_types_of
from karptui.session.type_reader import PoolContext, TypeReader
from karptui.session.types import AskingPod, NextType, PoolEntry, TypeEntry, TypeFit
from karptui.state.cluster import inventory_of

_STEPS: Final = tuple(Filter)


class TypesOfPool:
    """The types of one NodePool; each is converted to a value once, when it is first asked for."""

    def __init__(
        self, types: PoolTypes, context: PoolContext, *, problem: str, is_unknown: bool, pods: tuple[AskingPod, ...]
    ) -> None:
        """Store the inputs.

        Args:
            problem: Why there are no types; empty if there are.
            is_unknown: Whether there may be types all the same.
            pods: Pending pods that may go to the pool, one of each kind, largest memory request first.
        """
        self.pool_types, self.context, self.problem, self.pods = types, context, problem, pods
        self._is_unknown = is_unknown
        self._verdicts = {verdict.instance_type.name: verdict for verdict in reversed(types.verdicts)}
        self._entries: dict[str, TypeEntry] = {}
        self._allowed: dict[tuple[NodeSelectorRequirement, ...], bool] = {}

    @property
    def name(self) -> str:
        """The NodePool."""
        return self.pool_types.pool.name

    def type(self, name: str) -> TypeEntry | None:
        """Return a type by its name."""
        entry = self._entries.get(name)
        if entry is None and (verdict := self._verdicts.get(name)) is not None:
            entry = self._entries[name] = TypeReader(self.context, verdict, self._allowed).read()
        return entry

    def _types(self, verdicts: Iterable[TypeVerdict]) -> Iterator[TypeEntry]:
        for verdict in verdicts:
            entry = self.type(verdict.instance_type.name)
            assert entry is not None
            yield entry

    @cached_property
    def types(self) -> tuple[TypeEntry, ...]:
        """Every type that the NodeClass offers, in the provider's order."""
        return tuple(self._types(self.pool_types.verdicts))

    @cached_property
    def wanted(self) -> tuple[TypeEntry, ...]:
        """The types that the requirements allow."""
        return tuple(self._types(v for v in self.pool_types.verdicts if v.removed_by is not Filter.REQUIREMENTS))

    @cached_property
    def left(self) -> tuple[TypeVerdict, ...]:
        """The types that a new node may have, cheapest first."""
        left = self.pool_types.left
        return tuple(sorted(left, key=lambda verdict: (verdict.rank or len(left) + 1, verdict.instance_type.name)))

    @cached_property
    def allowed(self) -> tuple[TypeVerdict, ...]:
        """The types that a new node could have were there no limits, whichever pods wait."""
        allowed = (None, Filter.LIMITS, Filter.POD) if self.pods else (None, Filter.LIMITS)
        return tuple(verdict for verdict in self.pool_types.verdicts if verdict.removed_by in allowed)

    def family(self, name: str) -> tuple[str, ...]:
        """Return the types of a type's family, from the least memory on."""
        family = name.partition(".")[0]
        facts = self.context.facts
        sizes = [
            (type_facts.memory_mib if (type_facts := facts.get(verdict)) is not None else 0, verdict)
            for verdict in self._verdicts
            if verdict.partition(".")[0] == family
        ]
        return tuple(type_name for _, type_name in sorted(sizes))

    @cached_property
    def entry(self) -> PoolEntry:
        """Counts and findings of its types."""
        types, verdicts = self.pool_types, self.pool_types.verdicts
        meeting_requirements = [verdict for verdict in verdicts if verdict.removed_by is not Filter.REQUIREMENTS]
        observed = self.context.observed
        return PoolEntry(
            name=self.name,
            rank=types.rank,
            why_not=types.why_not,
            problem=self.problem,
            is_unknown=self._is_unknown,
            origin=self.context.origin,
            types=len(verdicts),
            is_guessed=any(verdict.instance_type.is_guessed for verdict in verdicts),
            named=sum(verdict.instance_type.is_named for verdict in verdicts),
            counts=types.counts,
            left=tuple(verdict.instance_type.name for verdict in self.left),
            allowed=len(self.allowed),
            first=self._first(),
            unlisted=self.context.unlisted,
            furthest=next(self._types(self._furthest(meeting_requirements)), None),
            carries=self._carries(),
            heaviest=max(self.left or verdicts, key=lambda verdict: verdict.daemon_pods, default=None),
            crowded=tuple(
                (v.instance_type.name, v.shortages[0]) for v in verdicts if v.removed_by is Filter.DAEMONSETS
            ),
            without_slot=sum(
                verdict.removed_by is Filter.POD and any(short.resource == PODS for short in verdict.shortages)
                for verdict in verdicts
            ),
            findings=_findings(types, self.context.nodeclass),
            pods=self.pods,
            observed=sum(verdict.instance_type.name in observed for verdict in meeting_requirements),
            safe_overhead_percent=safe_overhead_percent(
                (facts, resources.memory_bytes({MEMORY: spread.smallest}))
                for verdict in meeting_requirements
                if (facts := self.context.facts.get(verdict.instance_type.name)) is not None
                and (seen := observed.get(verdict.instance_type.name)) is not None
                and (spread := seen.capacity.get(MEMORY)) is not None
            ),
        )

    def _first(self) -> TypeEntry | None:
        if not self.left or self.left[0].rank is None or any(verdict.instance_type.is_guessed for verdict in self.left):
            return None
        return self.type(self.left[0].instance_type.name)

    def _furthest(self, type_verdicts: list[TypeVerdict]) -> list[TypeVerdict]:
        if self.left or not type_verdicts:
            return []
        return [max(type_verdicts, key=lambda v: (_STEPS.index(v.removed_by or Filter.LIMITS), -_scarcity(v)))]

    def _carries(self) -> tuple[TypeVerdict, ...]:
        looked_at = self.left or [verdict for verdict in self.pool_types.verdicts if verdict.daemon_pods]
        loads = {
            (v.daemon_pods, resources.memory_bytes(v.daemons), resources.cpu_millis(v.daemons)): v for v in looked_at
        }
        return tuple(loads[key] for key in sorted(loads))

    def fit(self, entry: TypeEntry, meant: Collection[str] = ()) -> TypeFit | None:
        """Return the fit of a pending pod on a type; None without such pods.

        Args:
            meant: Keys of pods, one of which represents its kind; by default the largest.
        """
        if not self.pods:
            return None
        asking = next((pod for pod in self.pods if pod.key in meant), self.pods[0])
        requests = with_pod_slots(asking.requests)
        short = _shortage(entry, requests)
        return TypeFit(
            pod=asking,
            requests=requests,
            short=short,
            overhead_percent=self._fitting_percent(entry, requests) if MEMORY in short else None,
            next_type=self._next_type(entry, requests) if short else None,
        )

    def _fitting_percent(self, entry: TypeEntry, requests: ResourceList) -> float | None:
        facts, nodeclass = self.context.facts.get(entry.name), self.context.nodeclass
        if entry.ledger is None or facts is None or nodeclass is None:
            return None
        needed = resources.add({MEMORY: Quantity(0)}, entry.daemons, requests)[MEMORY]
        overhead_percent = fitting_overhead_percent(facts, nodeclass, entry.ledger, needed)
        return rounded_down(overhead_percent) if overhead_percent is not None else None

    def _next_type(self, entry: TypeEntry, requests: ResourceList) -> NextType | None:
        family = entry.name.partition(".")[0]
        fitting = [t for t in self.wanted if t.offered and t.name != entry.name and not _shortage(t, requests)]
        entries = [type_entry for type_entry in fitting if type_entry.name.partition(".")[0] == family]
        best = min(
            entries or fitting,
            key=lambda type_entry: (
                type_entry.price_per_hour if type_entry.price_per_hour is not None else float("inf"),
                resources.memory_bytes(type_entry.capacity),
                type_entry.name,
            ),
            default=None,
        )
        return NextType(best.name, best.on_demand or best.spot) if best is not None else None


def _scarcity(verdict: TypeVerdict) -> float:
    """Return the ratio of request to capacity of a type's scarcest resource, as pod refusals measure it."""
    return max((shortage.need.nano / max(shortage.room.nano, 1) for shortage in verdict.shortages), default=0.0)


def _shortage(entry: TypeEntry, requests: ResourceList) -> dict[str, Quantity]:
    """Return the missing resources on a type for requests plus its DaemonSets."""
    requested, have = resources.add(entry.daemons, requests), entry.allocatable
    return {
        name: Quantity(amount.nano - resources.nano(have, name), amount.format)
        for name, amount in requested.items()
        if amount.nano > max(0, resources.nano(have, name))
    }


_POOLS: Final[LastAnswer[tuple[TypesOfPool, ...]]] = LastAnswer()
_ENTRIES: Final[LastAnswer[tuple[PoolEntry, ...]]] = LastAnswer()


def pool_entries(view: ClusterView) -> tuple[PoolEntry, ...]:
    """Return the counts of every NodePool's types; the same object as long as no relevant input has changed."""
    pools = types_of_pools(view)
    return _ENTRIES.get((pools,), lambda: tuple(pool.entry for pool in pools))


def types_of_pool(view: ClusterView, name: str) -> TypesOfPool | None:
    """Return the types of a NodePool; None if there is no such NodePool."""
    return next((pool for pool in types_of_pools(view) if pool.name == name), None)


def types_of_pools(view: ClusterView) -> tuple[TypesOfPool, ...]:
    """Return the types of every NodePool; the same object as long as nothing that counts has changed.

    Takes a tenth of a second the first time, so call it in a thread. Only pending pods are watched for
    changes: what DaemonSets ask follows their templates or, as in Karpenter, their newest live pod.
    """
    state, offered = view.state, offered_types_of(view)
    return _POOLS.get(
        (
            offered,
            state.nodepools,
            state.daemonsets,
            state.pending_pods,
            state.nodes,
            state.of(Kind.NODEOVERLAY),
            view.prices,
        ),
        lambda: _pools(view, offered),
    )


def _pools(view: ClusterView, offered: OfferedTypes) -> tuple[TypesOfPool, ...]:
    inventory = inventory_of(view.state)
    found_pools = pool_types(inventory, offered.types, view.evidence.settings)
    observed = observed_types(inventory.nodes)
    pending = [pod for pod in view.state.pending_pods.values() if pod.is_active]
    return tuple(_types_of(view, pool, offered.nodeclasses, observed, pending) for pool in found_pools)


def _types_of(
    view: ClusterView,
    types: PoolTypes,
    resolved: ClusterTypes,
    observed: Mapping[str, ObservedType],
    pending: Iterable[Pod],
) -> TypesOfPool:
    evidence, pool = view.evidence, types.pool
    nodeclass_types = resolved.of(pool.node_class_ref)
    nodeclass = nodeclass_types.nodeclass if nodeclass_types is not None else _nodeclass(view, pool)
    context = PoolContext(
        requirements=types.requirements,
        settings=evidence.settings,
        book=view.prices,
        nodeclass=nodeclass,
        nodeclass_types=nodeclass_types,
        unlisted=evidence.lacks_text(types.unlisted) if types.verdicts else "",
        facts=live_instance_types(evidence.facts) if nodeclass is not None else {},
        observed=observed,
        origin=_origin(
            pool,
            evidence,
            is_assumed=any(node_class.name == pool.node_class_ref.name for node_class in assumed_of(view)),
        ),
    )
    problem, is_unknown = ("", False) if types.verdicts else _problem(view, pool, resolved)
    return TypesOfPool(
        types,
        context,
        problem=problem,
        is_unknown=is_unknown,
        pods=_waiting(types, pending),
    )


def _nodeclass(view: ClusterView, pool: NodePool) -> Ec2NodeClass | None:
    """Return the NodeClass of a pool whose types came with a snapshot."""
    node_class = view.state.nodeclasses.get(pool.node_class_ref.key)
    return readable(node_class) if node_class is not None and is_ec2(node_class) else None


def _origin(pool: NodePool, evidence: Evidence, *, is_assumed: bool) -> str:
    if evidence.instance_types is not None:
        return "recorded with the snapshot"
    ref = pool.node_class_ref
    if is_auto_mode(ref):
        return f"{ref.kind} {ref.name}: approximated from {SOURCE}"
    if not is_ec2(ref):
        return "from nodes: the provider's list is unknown"
    has_facts = evidence.facts.instance_types is not None
    assumed = ", which was not read, with default settings" if is_assumed else ""
    return f"{EC2_KIND} {ref.name}{assumed}, {'EC2' if has_facts else 'built-in catalogue'}"


def _problem(view: ClusterView, pool: NodePool, resolved: ClusterTypes) -> tuple[str, bool]:
    """Return why a NodePool has no types, and whether there may be some all the same."""
    ref = pool.node_class_ref
    if view.evidence.instance_types is None and not is_ec2(pool.node_class_ref):
        return f"{ref.kind} {ref.name}: its types are unknown, and no node shows them", True
    if (problem := resolved.problems.get(ref.name)) is not None:
        return problem, False
    unread = unread_classes(view)
    return f"{ref.kind} {ref.name} {unread.why_no_types(pool)}", unread.absence(pool) is not Absence.GONE


def _waiting(types: PoolTypes, pending: Iterable[Pod]) -> tuple[AskingPod, ...]:
    """Return one pod of each kind that asks for something, the largest first."""
    by_template: dict[int, Pod] = {}
    for pod in sorted(pending, key=lambda pod: (pod.namespace, pod.name)):
        if id(pod.template) not in by_template and may_go_to(pod, types.pool, types.requirements):
            by_template[id(pod.template)] = pod
    largest = sorted(by_template.values(), key=lambda pod: -resources.memory_bytes(pod.template.requests))
    return tuple(AskingPod(pod.namespace, pod.name, pod.template.requests) for pod in largest)


def _findings(types: PoolTypes, nodeclass: Ec2NodeClass | None) -> tuple[LintFinding, ...]:
    pool = types.pool
    written = f"NodePool {pool.name}", pool.requirements
    findings = [*unknown_operators(*written), *wildcard_values(*written)]
    looked_at = [v for v in types.verdicts if v.removed_by not in ("requirements", "offerings", "reserved")]
    daemon_pods = {verdict.instance_type.name: verdict.daemon_pods for verdict in looked_at}
    findings += too_few_pod_slots(pool.name, [verdict.instance_type for verdict in looked_at], daemon_pods)
    if nodeclass is not None:
        findings += user_data_settings(nodeclass)
        allowed = [verdict.instance_type for verdict in types.verdicts if verdict.removed_by != "requirements"]
        findings += reserved_more_than_node(nodeclass.name, allowed)
    return tuple(findings)
