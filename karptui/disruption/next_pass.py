"""What Karpenter would do next: the first method in its order that finds something to do."""

from __future__ import annotations

import msgspec

from karptui.disruption.command import Command, Method, MethodResult
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.methods import MethodRun, weigh_departing_pods
from karptui.disruption.removal import EngineSimulator
from karptui.disruption.simulation import Simulator
from karptui.provisioning.prepared import Prepared


class NextPass(msgspec.Struct, frozen=True, eq=False):
    """One pass over the methods."""

    results: tuple[MethodResult, ...]
    """The methods that were asked, in order: those after the one that acts, or that fails, are not."""
    paused_by: tuple[str, ...]
    """NodeClaims without provider ID: while there are any, Karpenter does not even begin."""
    recorder: Recorder
    """What Karpenter would say on the way."""

    @property
    def acting(self) -> MethodResult | None:
        """The method that does something, None where none does."""
        last = self.results[-1] if self.results else None
        return last if last is not None and last.commands else None

    @property
    def commands(self) -> tuple[Command, ...]:
        """What it does: one command, or of StaticDrift one for each node."""
        acting = self.acting
        return () if acting is None else acting.commands

    @property
    def error(self) -> str:
        """Why the pass ended early, in Karpenter's words."""
        return self.results[-1].error if self.results else ""


def next_pass(prepared: Prepared, fleet: Fleet, simulator: Simulator | None = None) -> NextPass:
    """Return Karpenter's next pass on a cluster as it is; the wait of 15 seconds before most of it is left out.

    Args:
        prepared: The cluster, made ready for runs of the engine.
        fleet: The same as disruption sees it, with nominations and running commands where they are known.
        simulator: Removes nodes; the engine where None.
    """
    recorder = Recorder()
    paused = tuple(sorted(claim.name for claim in fleet.inventory.nodeclaims if not claim.provider_id))
    results: list[MethodResult] = []
    if not paused:
        weigh_departing_pods(fleet, recorder)
        run = MethodRun(fleet, simulator or EngineSimulator(prepared, fleet), recorder)
        for method in Method:
            result = run.ask(method)
            results.append(result)
            if result.commands or result.error:
                break
    return NextPass(tuple(results), paused, recorder)
