"""Forecast of removing blocked nodes together, as if nothing blocked them: savings under budgets, and the time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Final

from msgspec.structs import replace

from karptui.disruption.analysis import NodeFindings
from karptui.disruption.blocker import Blocker
from karptui.disruption.codes import Code
from karptui.disruption.joint_saving import MOST_FORECAST_NODES, JointRemoval
from karptui.forward.result import Played
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.plan.rollout import Rollout, drained, leave_out_alike, seconds_to_last
from karptui.provisioning.reporter import Pause, no_pause
from karptui.whatif.remedies.blockers.protected_pods import ends_by_itself
from karptui.whatif.situation import WhatIfBase

_LIFTED: Final = frozenset({Code.POD_DND, Code.NODE_DND, Code.PDB_EXHAUSTED, Code.PDB_MULTIPLE})
"""Blockers that the forecast lifts; disruption budgets apply as they are."""


class RemovalForecasts:
    """Forecasts removals of blocked nodes.

    Karpenter disrupts only these nodes, and their do-not-disrupt annotations and PodDisruptionBudgets are gone. The
    savings are the difference to a forecast in which it disrupts no node.
    """

    def __init__(
        self,
        base: WhatIfBase,
        findings: Mapping[str, NodeFindings],
        simulation_seconds: float | None = None,
        pause: Pause = no_pause,
    ) -> None:
        """Take the inputs.

        Args:
            simulation_seconds: Duration of one simulated removal by Karpenter's metrics; None if unknown.
            pause: Called now and then during computation; an exception from it ends the work.
        """
        self._base = base
        self._findings = findings
        self._simulation_seconds = simulation_seconds
        self._pause = pause

    def of(self, keys: Collection[str], removal: JointRemoval) -> JointRemoval:
        """Return a joint removal with its forecast savings and time; unchanged if the forecast is uncertain.

        It is uncertain if a protected pod ends automatically, if a node stays blocked, if a node goes with its
        blockers as well, if nodes are still being removed at the end of the forecast, and if more pods are pending
        then. Clusters without prices or of more than `MOST_FORECAST_NODES` nodes get no forecast.
        """
        base = self._base
        found = {key: self._findings[key] for key in keys if key in self._findings}
        blockers = [one for node in found.values() for one in node.blockers if one.is_wanted]
        is_waiting = any(one.code is Code.POD_DND and ends_by_itself(one) for one in blockers)
        is_too_large = len(base.inventory.nodes) > MOST_FORECAST_NODES
        if is_waiting or is_too_large or len(found) < len(keys) or not base.has_prices:
            return removal
        before = self._without_disruption
        key_by_name = {node.node_name: key for key, node in found.items()}
        after = self._play(_lifted(base.inventory, blockers), key_by_name.keys())
        gone = drained(after, key_by_name.keys())
        blocked = {one.node for one in after.kept} | {one.node_name for one in blockers if one.code not in _LIFTED}
        staying = key_by_name.keys() - gone.keys()
        if (
            not gone
            or blocked & staying
            or (staying and not after.is_quiescent)
            or after.problem
            or drained(before, key_by_name.keys())
            or after.end.pending > before.end.pending
            or not leave_out_alike(before, after)
        ):
            return removal
        return JointRemoval(
            keys=frozenset(key_by_name[name] for name in gone),
            new_nodes=after.end.nodes + len(gone) - before.end.nodes,
            price_per_hour=sum(found[key_by_name[name]].price_per_hour or 0.0 for name in gone),
            saves_per_hour=before.end.price_per_hour - after.end.price_per_hour,
            seconds=seconds_to_last(gone, base.now_ns),
        )

    @cached_property
    def _without_disruption(self) -> Played:
        return self._play(self._base.inventory, ())

    def _play(self, inventory: Inventory, names: Collection[str]) -> Played:
        return Rollout(self._base, inventory).play(
            simulation_seconds=self._simulation_seconds, only=names, pause=self._pause, reporter=self._report
        )

    def _report(self, done: int, total: int) -> None:  # noqa: ARG002 - progress is not shown
        self._pause()


def _lifted(inventory: Inventory, blockers: Collection[Blocker]) -> Inventory:
    """Return a cluster without the do-not-disrupt annotations and PodDisruptionBudgets among some blockers."""
    pods = {one.object_key for one in blockers if one.code is Code.POD_DND}
    nodes = {one.node_name for one in blockers if one.code is Code.NODE_DND}
    pdbs = {key for one in blockers if one.code in (Code.PDB_EXHAUSTED, Code.PDB_MULTIPLE) for key in one.value.split()}
    templates = {
        pod.template: replace(pod.template, annotations=_unprotected(pod.template.annotations))
        for pod in inventory.pods
        if pod.key in pods
    }
    return replace(
        inventory,
        pods=tuple(
            replace(pod, template=templates[pod.template]) if pod.key in pods else pod for pod in inventory.pods
        ),
        nodes=tuple(
            replace(node, annotations=_unprotected(node.annotations)) if node.name in nodes else node
            for node in inventory.nodes
        ),
        pdbs=tuple(pdb for pdb in inventory.pdbs if pdb.key not in pdbs),
    )


def _unprotected(annotations: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in annotations.items() if name != DO_NOT_DISRUPT}
