"""A provisioning run: schedules every pod to an existing node, a claim of this run, or a new claim.

Rules: ``Solve``, ``trySchedule`` and ``add`` in ``scheduler.go``, and ``queue.go``, of
``pkg/controllers/provisioning/scheduling``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final

from karptui.karpenter.labels import HOSTNAME
from karptui.kube.pod import Pod
from karptui.provisioning.catalogue import bits
from karptui.provisioning.claim import Claim, ClaimOrder, Hostnames, Reservations
from karptui.provisioning.claim_check import ClaimCheck, Fit
from karptui.provisioning.destination import Destination
from karptui.provisioning.limits import LimitState
from karptui.provisioning.node_check import NodeCheck
from karptui.provisioning.pod_class import Stage
from karptui.provisioning.prepared import Prepared, Variant
from karptui.provisioning.rejection import (
    DynamicResourcesUnsupported,
    LimitReached,
    NoTemplates,
    PodError,
    Rejection,
    TaintsNotTolerated,
    WaitsForReservation,
)
from karptui.provisioning.reporter import Reporter, silent, with_pauses
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.stage_memory import StageMemory
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.template import Template
from karptui.provisioning.type_index import NO_PRICE
from karptui.provisioning.waiting_pods import QueuedPod, queue_order

_PAUSE_EVERY = 8
_MOST_JUDGED = 10_000
"""Maximum number of cached results for new claims."""
_FEW = 8
"""Up to this number, claims are sorted directly instead of being selected from the order of all claims."""


class Watch:
    """Receives the result for each pod during a run, and ignores it; others may raise to end the run.

    Errors of pods may be reused from an earlier run.
    """

    def placed(self, pod: Pod, node: StateNode | None, claims: Sequence[Claim]) -> None:
        """Handle a scheduled pod, on an existing node or (None) on one of the new claims."""

    def refused(self, pod: Pod) -> None:
        """Handle a pod that is unschedulable and certain to remain so in this run."""


UNCONCERNED: Final = Watch()
"""For runs that need no exact errors of unschedulable pods."""


class Run:
    """State of a run."""

    def __init__(self, prepared: Prepared, variant: Variant) -> None:
        self.prepared = prepared
        self.variant = variant
        self.settings = prepared.settings
        self.templates: Sequence[Template] = prepared.templates
        self.topology = prepared.begin_topology(variant)
        self.reservations = Reservations(prepared.reservation_capacity, variant.credited)
        self.limits = [
            LimitState(template, prepared.remaining_limits(template, variant)) for template in self.templates
        ]
        self.order = ClaimOrder()
        self.claims: list[Claim] = []
        self.pods: Sequence[QueuedPod] = ()
        self.placed: dict[str, tuple[Stage, str]] = {}
        """Stage and hostname of each scheduled pod, by uid."""
        self.errors: dict[str, PodError] = {}
        """By pod uid."""
        self.relaxed: dict[int, bool] = {}
        """Whether the newest claim of a template has relaxed ``minValues``, by template; applies to all its claims."""
        self.ties: list[tuple[str, str, tuple[str, ...]]] = []
        """Pod, topology key and equally good domains, the chosen one first."""
        self._stages: dict[tuple[Stage, bool, bool], StageMemory] = {}
        self._hostnames = Hostnames()
        self.node_check = NodeCheck(prepared, variant, self.topology, self.ties)
        self.claim_check = ClaimCheck(prepared, variant, self.reservations, self._hostnames)
        self._may_share_claims = not prepared.reservation_capacity
        self._last_host = ""
        self._last_node: StateNode | None = None
        """Node of the last scheduled pod, None for a claim."""
        self._is_refused_for_good = False
        """Whether an unschedulable pod remains so for the rest of the run."""
        self._changes = 0
        """Number of changes that may let in a pod that was unschedulable before."""
        self._refused: dict[tuple[Stage, bool], tuple[int, PodError, bool]] = {}
        """Unschedulable pods by first stage and exemption: number of changes then, error, whether it is final."""

    def solve(
        self,
        pods: Sequence[QueuedPod],
        reporter: Reporter = silent,
        watch: Watch | None = None,
    ) -> None:
        """Schedule pods until a pass schedules none.

        Args:
            watch: Receives each pod that was scheduled or finally refused.
        """
        self.pods = pods
        pause = self.prepared.pause
        for queued in with_pauses(pods, pause, _PAUSE_EVERY):
            if queued.is_counted:
                self.topology.groups_of(queued.first)
        queue = deque(queue_order(pods, self.prepared.columns.index))
        total = len(queue)
        steps = 0
        while queue and queue[0].last_length != len(queue):
            if not steps % _PAUSE_EVERY:
                pause()
                reporter(total - len(queue), total)
            steps += 1
            queued = queue.popleft()
            # A claim opened for others may have labels that let the pod in.
            error = self._known_error(queued) if watch is not None and not self.claims else None
            if error is not None:
                self._is_refused_for_good = True
            else:
                error = self._try(queued)
            if error is None:
                self.errors.pop(queued.pod.uid, None)
                if watch is not None:
                    if self._last_node is None and queued.first not in self.prepared.findings.least_prices:
                        self.prepared.findings.least_prices[queued.first] = self._least_price(queued)
                    watch.placed(queued.pod, self._last_node, self.claims)
            else:
                self.errors[queued.pod.uid] = error
                if watch is not None and self._is_refused_for_good:
                    watch.refused(queued.pod)
                    if queued.first not in self.prepared.findings.claimless and self._is_claimless(queued):
                        self.prepared.findings.claimless[queued.first] = error
                queue.append(queued)
                queued.last_length = len(queue)
        self._hostnames.finish(_all_hosts(self.prepared.destinations, self.variant.excluded, self.claims))
        reporter(total - len(queue), total)

    def _try(self, queued: QueuedPod) -> PodError | None:
        """Try to schedule a pod, relaxing one preference after the other."""
        key = (queued.first, queued.is_exempt)
        if queued.is_counted and key in self._refused:
            changes, error, self._is_refused_for_good = self._refused[key]
            if changes == self._changes:
                return error
        stage: Stage | None = queued.first
        was_counted = queued.is_counted
        error = PodError(())
        self._is_refused_for_good = self._may_share_claims and queued.owner.attachments is not None
        while stage is not None:
            stage_memory = self.stage_memory(stage, queued)
            # Room only shrinks and claims only narrow, but topology rules may change with other pods.
            self._is_refused_for_good &= stage_memory.is_plain
            outcome = self._attempt(queued, stage_memory)
            if outcome is None:
                self.placed[queued.pod.uid] = (stage, self._last_host)
                self._changes += 1
                return None
            error = outcome
            queued.is_counted = True
            if error.is_reserved or queued.owner.has_dra:
                break
            stage = self.prepared.classes.relaxed(stage)
        if was_counted:
            self._refused[key] = (self._changes, error, self._is_refused_for_good)
        else:
            self._changes += 1
        return error

    def _known_error(self, queued: QueuedPod) -> PodError | None:
        """Return the error of a pod that fits on no new claim, if no existing node suits it either."""
        error = self.prepared.findings.claimless.get(queued.first)
        if error is None:
            return None
        stage: Stage | None = queued.first
        while stage is not None:
            if self.prepared.destination_index.suiting(stage):
                return None
            stage = self.prepared.classes.relaxed(stage)
        return error

    def _is_claimless(self, queued: QueuedPod) -> bool:
        """Return whether a finally refused pod fits on no new claim of any type in any run."""
        stage: Stage | None = queued.first
        while stage is not None:
            stage_memory = self.stage_memory(stage, queued)
            for template in self.templates:
                if isinstance(self._judge_plain(queued, stage_memory, template, template.types), Fit):
                    return False
            stage = self.prepared.classes.relaxed(stage)
        return True

    def _least_price(self, queued: QueuedPod) -> float:
        """Return a lower bound for the price of a new claim for a pod in any run, below any price if uncertain."""
        stage_memory = self.stage_memory(queued.first, queued)
        is_certain = self._may_share_claims and stage_memory.is_plain and queued.owner.attachments is not None
        if not is_certain or self.prepared.classes.relaxed(queued.first) is not None:
            return -NO_PRICE
        least = NO_PRICE
        for template in self.templates:
            fit = self._judge_plain(queued, stage_memory, template, template.types)
            if template.requirements.value.has_min_values():
                return -NO_PRICE
            if isinstance(fit, Fit):
                order = template.catalogue.index.price_order(fit.labels.value.without(HOSTNAME))
                least = min(least, *[order.prices[i] for i in bits(fit.types)])
        return least

    def stage_memory(self, stage: Stage, queued: QueuedPod) -> StageMemory:
        """Return the up-to-date cached results of a stage."""
        key = (stage, queued.is_exempt, queued.is_counted)
        memory = self._stages.get(key)
        if memory is None:
            owned = self.topology.groups_of(stage) if queued.is_counted else []
            memory = self._stages[key] = StageMemory(stage, owned, self.topology)
        else:
            memory.refresh(self.topology)
        return memory

    def _attempt(self, queued: QueuedPod, stage_memory: StageMemory) -> PodError | None:
        owner = queued.owner
        if owner.has_dra and self.settings.ignore_dra_requests:
            return PodError((("", DynamicResourcesUnsupported()),))
        if owner.attachments is not None:
            node = self.node_check.place(queued, stage_memory)
            if node is not None:
                self._last_host, self._last_node = node.state.name, node.state
                return None
        self.order.settle()
        if self._join_claim(queued, stage_memory):
            return None
        if not self.templates:
            return PodError((("", NoTemplates()),))
        return self._new_claim(queued, stage_memory)

    def _join_claim(self, queued: QueuedPod, stage_memory: StageMemory) -> bool:
        check = self.claim_check.check
        dead = stage_memory.dead_claims
        sets = stage_memory.claim_sets
        for claim in self._open_claims(stage_memory):
            # Skip claims whose narrowing leaves nothing without a call: in a topology spread these are most.
            if dead[claim.index] or sets.get(claim.labels) == ():
                continue
            verdict = check(queued, stage_memory, claim)
            if verdict is False:
                dead[claim.index] = 1
                stage_memory.dead_count += 1
            elif verdict is not None:
                self._note_ties(queued, stage_memory, claim.labels, verdict)
                position = self.order.position(claim)
                self._add(queued, claim, verdict)
                self.order.grew(position)
                return True
        return False

    def _open_claims(self, stage_memory: StageMemory) -> Sequence[Claim]:
        """Return the claims to try, in order; may include claims that will never fit the pod."""
        dead = stage_memory.dead_claims
        if len(dead) < len(self.claims):
            dead.extend(bytes(len(self.claims) - len(dead)))
        left = len(dead) - stage_memory.dead_count
        if left > _FEW:
            return self.order.claims
        claims: list[Claim] = []
        index = -1
        for _ in range(left):
            index = dead.index(0, index + 1)
            claims.append(self.claims[index])
        if len(claims) > 1:
            claims.sort(key=self.order.position)
        return claims

    def _new_claim(self, queued: QueuedPod, stage_memory: StageMemory) -> PodError | None:
        rejections: list[tuple[str, Rejection]] = []
        for limit in self.limits:
            template = limit.template
            if limit.is_out_of_nodes or not limit.types:
                is_guessed = template.name in self.prepared.guessed_pools
                reached = self.limit_reached(queued, stage_memory, limit, is_complete=is_guessed)
                rejections.append((template.name, reached))
                continue
            outcome = self._judge(queued, stage_memory, limit)
            if isinstance(outcome, Rejection):
                rejections.append((template.name, outcome))
                if isinstance(outcome, WaitsForReservation):
                    break
                continue
            self._note_ties(queued, stage_memory, template.requirements, outcome)
            claim = Claim(len(self.claims), self._hostnames.next(), template, self.prepared.columns.zero)
            self.relaxed[template.index] = outcome.is_relaxed
            self.claims.append(claim)
            self._add(queued, claim, outcome)
            self.order.append(claim)
            limit.spend(claim.types)
            return None
        return PodError(tuple(rejections))

    def limit_reached(
        self, queued: QueuedPod, stage_memory: StageMemory, limit: LimitState, *, is_complete: bool
    ) -> LimitReached:
        """Return the rejection by a limit; ``is_complete`` asks for the one without limits, too."""
        template, besides = limit.template, None
        if is_complete:
            besides = self.claim_check.judge_new(queued, stage_memory, template, template.types)
        reason = besides if isinstance(besides, Rejection) else None
        return LimitReached(template.name, is_node_count=limit.is_out_of_nodes, besides=reason)

    def _judge(self, queued: QueuedPod, stage_memory: StageMemory, limit: LimitState) -> Fit | Rejection:
        template = limit.template
        state = (limit.types, stage_memory.new_claim_stamp(), self.reservations.version)
        cached = stage_memory.new_claims.get(template.index)
        if cached is not None and cached[0] == state:
            outcome = cached[1]
            assert isinstance(outcome, Fit | Rejection)
            return outcome
        outcome = self._judge_new(queued, stage_memory, limit)
        stage_memory.new_claims[template.index] = (state, outcome)
        return outcome

    def _judge_new(self, queued: QueuedPod, stage_memory: StageMemory, limit: LimitState) -> Fit | Rejection:
        """Judge a new claim; results that do not depend on the cluster are cached for other runs."""
        template = limit.template
        if not (self._may_share_claims and stage_memory.is_plain):
            return self.claim_check.judge_new(queued, stage_memory, template, limit.types)
        return self._judge_plain(queued, stage_memory, template, limit.types)

    def _judge_plain(
        self, queued: QueuedPod, stage_memory: StageMemory, template: Template, types: int
    ) -> Fit | Rejection:
        judged = self.prepared.findings.judged
        key = (stage_memory.stage, template.index, types)
        outcome = judged.get(key)
        if outcome is not None:
            if not isinstance(outcome, TaintsNotTolerated):
                self._hostnames.next()  # Karpenter uses one up whenever a claim is judged
        else:
            if len(judged) >= _MOST_JUDGED:
                judged.clear()
            outcome = judged[key] = self.claim_check.judge_new(queued, stage_memory, template, types)
        assert isinstance(outcome, Fit | Rejection)
        return outcome

    def _note_ties(self, queued: QueuedPod, stage_memory: StageMemory, labels: RequirementSet, fit: Fit) -> None:
        for key, equals in stage_memory.ties_of(labels, fit.labels):
            self.ties.append((queued.pod.key, key, equals))

    def _add(self, queued: QueuedPod, claim: Claim, fit: Fit) -> None:
        owner = queued.owner
        self._last_host, self._last_node = claim.hostname, None
        claim.pods.append(queued.pod)
        claim.types = fit.types
        claim.labels = fit.labels
        claim.requests = tuple([a + b for a, b in zip(claim.requests, owner.row, strict=True)])
        claim.measure_room()
        self.topology.record(owner, fit.labels, claim.hostname, claim.template.taints)
        for driver, volume in owner.attachments or ():
            claim.attached.setdefault(driver, set()).add(volume)
        if owner.host_ports:
            claim.ports.append((queued.pod.key, owner.host_ports))
        self.reservations.exchange(claim.reserved, fit.reserved)
        claim.reserved = fit.reserved


def _all_hosts(destinations: Iterable[Destination], excluded: Container[str], claims: Iterable[Claim]) -> Iterator[str]:
    # Not a method, because it is iterated late, if ever, and must not keep the run alive until then.
    for destination in destinations:
        if destination.state.provider_id not in excluded:
            yield destination.hostname
    for claim in claims:
        yield claim.hostname
