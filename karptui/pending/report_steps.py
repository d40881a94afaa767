"""Works the pending pods out step by step: one run of the engine, then an explanation for each group."""

from __future__ import annotations

from collections.abc import Iterator

from karptui.aws.launch_refusals import REFUSED_NS, last_refusals
from karptui.aws.prices import LIST_PRICES, PriceSettings
from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.karpenter.nodeclaim import overdue_launches
from karptui.kube.pod import Pod
from karptui.kube.volumes import CSI_NODE
from karptui.pending.causes import ENGINE, Cause, Diagnoses
from karptui.pending.groups import PendingGroup, PendingReport, fold
from karptui.pending.holds import Holds
from karptui.pending.messages import messages_about
from karptui.pending.nominations import Nominations
from karptui.provisioning.explain import PodExplanation, explain
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.reporter import Reporter, silent
from karptui.provisioning.solution import Solution, solve
from karptui.provisioning.volumes import unread_of_volumes
from karptui.state.cluster import ClusterState


def waiting_pods(state: ClusterState) -> Iterator[Pod]:
    """Yield the pods without a node, and those bound to a missing one."""
    yield from (pod for pod in state.pending_pods.values() if not pod.is_terminal)
    if state.nodes:
        for name, pods in state.pods_by_node.items():
            if name and name not in state.nodes:
                yield from (pod for pod in pods.values() if pod.phase == "Pending")


_EXPLAINED = (Cause.UNPLACED, Cause.UNKNOWN, Cause.RESERVED, Cause.FULL)


class ReportSteps:
    """One generation of a cluster."""

    def __init__(
        self,
        prepared: Prepared,
        state: ClusterState,
        notes: tuple[str, ...] = (),
        *,
        prices: PriceSettings = LIST_PRICES,
        version: str = "",
    ) -> None:
        self._prepared = prepared
        self._version = version
        self._state = state
        self._notes = notes
        self._prices = prices
        self.solution: Solution | None = None
        """The run of the engine, None before it was made."""
        self._groups: dict[str, PendingGroup] = {}
        self._open: list[str] = []

    @property
    def report(self) -> PendingReport:
        """The results up to now."""
        return PendingReport(
            self._state.generation, self._prepared.now_ns, tuple(self._groups.values()), notes=self._notes
        )

    def solve(self, reporter: Reporter = silent) -> None:
        """Run the engine once and fold the pods; the reporter may raise to break off."""
        solution = self.solution = solve(self._prepared, reporter=reporter)
        pods = tuple(waiting_pods(self._state))
        events = self._state.events.values()
        remembered_ns = self._prepared.now_ns - REFUSED_NS
        nominations = Nominations(
            self._state.nodes,
            self._state.nodeclaims,
            last_refusals(self._prepared.inventory, self._state.history, since_ns=remembered_ns),
            overdue_launches(self._state.nodeclaims.values(), self._prepared.now_ns),
            has_karpenter_events=any("karpenter" in event.source for event in events),
        )
        origins = OriginIndex(OwnerIndex(self._prepared.inventory.workloads))
        diagnoses = Diagnoses(self._prepared, solution, self._prices)
        groups = fold(
            pods,
            diagnoses,
            messages_about(events, pods),
            origins=origins,
            nominations=nominations,
            now_ns=self._prepared.now_ns,
            held_by=Holds(self._state, self._prepared, self._version).of,
            knows_volumes={*unread_of_volumes(self._prepared.inventory)} <= {CSI_NODE},
        )
        self._groups = {group.key: group for group in groups}
        self._open = [group.key for group in reversed(groups) if group.cause in _EXPLAINED]

    def explain_next(self, first: str = "") -> bool:
        """Explain one more group and return whether there was one."""
        if not self._open:
            return False
        if first in self._open:
            self._open.remove(first)
            key = first
        else:
            key = self._open.pop()
        group = self._groups[key]
        assert self.solution is not None
        self._groups[key] = group.explained(explain(self.solution, group.first))
        return True

    def explanation(self, pod: Pod) -> PodExplanation | None:
        """Return the explanation of a pod's placement, or of none; None for a pod that was not in the run."""
        group = next((p for p in self._groups.values() if pod.uid in {pod.uid for pod in p.pods}), None)
        if group is None or group.cause not in ENGINE or self.solution is None:
            return None
        if group.explanation is not None and group.first.uid == pod.uid:
            return group.explanation
        return explain(self.solution, pod)


def report_of_pending(
    prepared: Prepared,
    state: ClusterState,
    notes: tuple[str, ...] = (),
    *,
    prices: PriceSettings = LIST_PRICES,
    version: str = "",
) -> PendingReport:
    """Return the complete report at once; takes the arguments of ``ReportSteps``."""
    steps = ReportSteps(prepared, state, notes, prices=prices, version=version)
    steps.solve()
    while steps.explain_next():
        pass
    return steps.report
