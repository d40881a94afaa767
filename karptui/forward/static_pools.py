"""Static NodePools in a play: they are brought to their replicas again, up and down.

Rules: ``pkg/controllers/static/provisioning`` and ``pkg/controllers/static/deprovisioning``. Of nodes that are alike to
Karpenter it deletes any; here the first by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from karptui.disruption.command import Decision
from karptui.disruption.fleet import Fleet
from karptui.disruption.json_form import template_json
from karptui.disruption.launch_price import ReckonedPrices
from karptui.disruption.static_drift import headroom, is_refillable
from karptui.forward.calendar import Agenda, Calendar
from karptui.forward.launching import Launches, template_order
from karptui.forward.result import StepKind
from karptui.forward.world import World
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool

DEPROVISIONING: Final = "static.deprovisioning"
"""The controller that deletes nodes beyond replicas."""


class StaticPools:
    """The static NodePools of a cluster, looked at whenever a NodeClaim comes or goes."""

    def __init__(
        self,
        world: World,
        agenda: Agenda,
        calendar: Calendar,
        launches: Launches,
        *,
        pools: tuple[NodePool, ...],
        fleet: Callable[[], Fleet],
    ) -> None:
        """Take the inputs.

        Args:
            pools: Static NodePools, if Karpenter observes ``replicas``.
        """
        self._world = world
        self._agenda = agenda
        self._calendar = calendar
        self._launches = launches
        self._pools = pools
        self._fleet = fleet
        self._seen = -1

    def keep_replicas(self, books: Mapping[str, ReckonedPrices]) -> None:
        """Bring them to their replicas.

        Args:
            books: What types cost, by NodePool.
        """
        for claim in self.surplus():
            shown, evicted = self._calendar.leaving(claim)
            self._world.delete_claim(claim, self._agenda.now_ns)
            self._agenda.note(
                StepKind.DISRUPT,
                method=DEPROVISIONING,
                decision=str(Decision.DELETE),
                nodes=(shown,),
                evicted=evicted,
            )
        pools: list[NodePool] = []
        for pool, count in self.missing():
            book = books.get(pool.name)
            if book is None:
                continue
            for _ in range(count):
                if (launch := self._launches.prepare(template_order(pool, book))) is not None:
                    self._launches.add(launch)
                    pools.append(pool)
        if pools:
            self._agenda.note(StepKind.PROVISION, claims=tuple(template_json(pool) for pool in pools))

    def look_again(self) -> None:
        """Compare nodes and replicas again, although no NodeClaim has changed."""
        self._seen = -1

    def missing(self) -> list[tuple[NodePool, int]]:
        """Return the number of missing nodes by NodePool; nothing if no NodeClaim has changed."""
        results: list[tuple[NodePool, int]] = []
        for pool in self._changed():
            running, held = self._running(pool)
            if not is_refillable(pool) or len(running) + held >= (pool.replicas or 0):
                continue
            missing = (pool.replicas or 0) - len(running)
            room = headroom(self._fleet(), pool).room
            count = missing if room is None else min(missing, room)
            if count > 0:
                results.append((pool, count))
        return results

    def surplus(self) -> list[NodeClaim]:
        """Return the NodeClaims that go because there are more than replicas: no instance, then empty, then cheap."""
        gone: list[NodeClaim] = []
        for pool in self._pools:
            running, _ = self._running(pool)
            count = len(running) - (pool.replicas or 0)
            if not pool.is_deleting and count > 0:
                gone.extend(sorted(running, key=self._order())[:count])
        return gone

    def _changed(self) -> tuple[NodePool, ...]:
        if self._seen == self._world.claims_version:
            return ()
        self._seen = self._world.claims_version
        return self._pools

    def _running(self, pool: NodePool) -> tuple[list[NodeClaim], int]:
        """Return the remaining NodeClaims, and how many others a command holds that are not being deleted yet."""
        claims = (claim for claim in self._world.claims.values() if claim.labels.get(NODEPOOL) == pool.name)
        left = [claim for claim in claims if not claim.is_deleting]
        running = [claim for claim in left if claim.name not in self._world.commanded]
        return running, len(left) - len(running)

    def _order(self) -> Callable[[NodeClaim], tuple[bool, bool, bool, float, str]]:
        fleet = self._fleet()
        states = {state.claim.name: state for state in fleet.nodes if state.claim is not None}

        def order(claim: NodeClaim) -> tuple[bool, bool, bool, float, str]:
            state = states.get(claim.name)
            if not claim.provider_id or state is None:
                return False, False, False, 0.0, claim.name
            is_guarded = any(fleet.pods.protection(pod).is_active for pod in fleet.pods_of(state) if pod.is_active)
            is_empty = not is_guarded and all(pod.template.is_daemonset_owned for pod in fleet.pods_of(state))
            return True, not is_empty, is_guarded, fleet.moving_cost(state), claim.name

        return order
