"""What Karpenter's disruption would do with a cluster: every method, and everything it would say."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from karptui.disruption.command import Method, MethodResult
from karptui.disruption.commanded import commanded_names
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.methods import SIMULATED_METHODS, MethodRun, weigh_departing_pods
from karptui.disruption.nominations import nominations
from karptui.disruption.removal import EngineSimulator
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.solution import solve
from karptui.provisioning.template import served_pools


class DisruptionReport(msgspec.Struct, frozen=True, eq=False):
    """The answers of the methods, each on the same untouched state, and the events that go with them."""

    methods: tuple[MethodResult, ...]
    recorder: Recorder

    @property
    def events(self) -> dict[str, list[str]]:
        """``{"Kind/name": ["Reason: message"]}``."""
        return self.recorder.by_object()


def fleet_of(prepared: Prepared) -> Fleet:
    """Return the fleet as Karpenter sees it right after a start: no node nominated, none in a command."""
    return Fleet(
        prepared.inventory,
        nodes=prepared.states,
        pools={pool.name: pool for pool in served_pools(prepared.inventory.nodepools)},
        types=prepared.types_by_pool,
        settings=prepared.settings,
        now_ns=prepared.now_ns,
    )


def buffered_names(prepared: Prepared) -> frozenset[str]:
    """Return the names of the nodes on which provisioning, replayed now, puts virtual pods of CapacityBuffers."""
    virtual = {pod.uid for pod in prepared.buffer_pods}
    if not virtual:
        return frozenset()
    filled = solve(prepared).nodes
    return frozenset(one.state.name for one in filled if any(pod.uid in virtual for pod in one.pods))


def observed_fleet(prepared: Prepared) -> Fleet:
    """Return the fleet with what can be told of Karpenter's memory: nominations, running commands, buffers."""
    inventory = prepared.inventory
    return Fleet(
        inventory,
        nodes=prepared.states,
        pools={pool.name: pool for pool in served_pools(inventory.nodepools)},
        types=prepared.types_by_pool,
        settings=prepared.settings,
        now_ns=prepared.now_ns,
        nominated=nominations(inventory.events, prepared.states, prepared.settings.batch_max_seconds, prepared.now_ns),
        commanded=commanded_names(prepared.states),
        buffered=buffered_names(prepared),
    )


def simulate(prepared: Prepared, methods: Iterable[Method] = SIMULATED_METHODS) -> DisruptionReport:
    """Ask each method what it would do, as if it were its turn, with validation taken as passed.

    Args:
        prepared: The cluster, made ready for runs of the engine.
        methods: Which to ask; StaticDrift is left out unless it is named.
    """
    fleet = fleet_of(prepared)
    recorder = Recorder()
    weigh_departing_pods(fleet, recorder)
    run = MethodRun(fleet, EngineSimulator(prepared, fleet), recorder)
    return DisruptionReport(tuple(run.ask(method) for method in methods), recorder)
