"""Derived state of a forecast's cluster, for the provisioner and for disruption, updated from the last."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from karptui.disruption.events import FOR_EVER_NS
from karptui.disruption.fleet import Fleet
from karptui.disruption.methods import buffered_names
from karptui.disruption.termination import commanded_names
from karptui.forward.calendar import Agenda
from karptui.forward.world import World
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import INSTANCE_TYPE, NODEPOOL, ZONE
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.provisioning.instance_types import InstanceTypes, offered_again
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.reporter import Pause, no_pause


class Observation:
    """The cluster as Karpenter sees it now; unchanged parts are reused."""

    def __init__(
        self,
        world: World,
        agenda: Agenda,
        pools: Mapping[str, NodePool],
        types: InstanceTypes,
        settings: Settings,
        *,
        pause: Pause = no_pause,
    ) -> None:
        """Take the inputs.

        Args:
            pools: The NodePools that this Karpenter manages, by name.
        """
        self._world = world
        self._agenda = agenda
        self.pools = pools
        """The NodePools that this Karpenter manages, by name."""
        self._types = types
        self._settings = settings
        self._pause = pause
        self._prepared: tuple[int, int, Prepared] | None = None
        self._fleet: tuple[Prepared, Fleet] | None = None
        self._is_stale = False
        self._nominated: dict[str, int] = {}
        self._expecting: frozenset[str] = frozenset()

    def expect(self, names: Iterable[str]) -> None:
        """Replace the set of nodes on which pods are expected."""
        names = frozenset(names)
        if names != self._expecting:
            self._expecting = names
            self._is_stale = True

    def nominate(self, name: str, for_ns: int) -> None:
        """Exclude a node from disruption for a while, because pods are expected on it."""
        if for_ns:
            until_ns = self._agenda.now_ns + for_ns
            self._nominated[name] = until_ns
            self._is_stale = True
            self._agenda.at(until_ns, self._agenda.wake)

    def forget(self) -> None:
        """Drop the derived state."""
        self._prepared = self._fleet = None

    def offer_again(self) -> None:
        """Take the offerings that EC2 refused as available."""
        self._types = offered_again(self._types)
        self.forget()

    def prepared(self) -> Prepared:
        """Return the cluster prepared for the provisioner."""
        world, now_ns, prepared_before = self._world, self._agenda.now_ns, self._prepared
        if prepared_before is not None and prepared_before[:2] == (world.version, now_ns):
            return prepared_before[2]
        if prepared_before is None:
            result = Prepared(world.inventory, self._types, self._settings, now_ns, self._pause)
            world.adopt(result.states)
        else:
            result = prepared_before[2]
        if prepared_before is not None or world.commanded:
            result = result.later(world.inventory, world.states(), now_ns, pods=world.pods, unbound=world.without_node)
        self._prepared = (world.version, now_ns, result)
        return result

    @property
    def types_by_pool(self) -> Mapping[str, Sequence[InstanceType]]:
        """Instance types by NodePool, which only `offer_again` changes during a forecast."""
        return (self._prepared[2] if self._prepared is not None else self.prepared()).types_by_pool

    def fleet(self) -> Fleet:
        """Return the cluster as disruption sees it now."""
        prepared, fleet_before, now_ns = self.prepared(), self._fleet, self._agenda.now_ns
        if fleet_before is not None and fleet_before[0] is prepared and not self._is_stale:
            return fleet_before[1]
        nominated = {name: until_ns for name, until_ns in self._nominated.items() if until_ns > now_ns}
        nominated |= dict.fromkeys(self._expecting, FOR_EVER_NS)
        commanded = commanded_names(prepared.states)
        buffered = buffered_names(prepared)
        if fleet_before is None:
            fleet = Fleet(
                prepared.inventory,
                nodes=prepared.states,
                pools=self.pools,
                types=prepared.types_by_pool,
                settings=self._settings,
                now_ns=now_ns,
                nominated=nominated,
                commanded=commanded,
                buffered=buffered,
            )
        else:
            fleet = fleet_before[1].later(
                prepared.inventory,
                nodes=prepared.states,
                now_ns=now_ns,
                nominated=nominated,
                commanded=commanded,
                buffered=buffered,
            )
        self._fleet = (prepared, fleet)
        self._is_stale = False
        return fleet


class NodeEquivalence:
    """Equivalence keys of nodes: by their state at the start, or for later nodes by their labels."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory

    def of(self, name: str, labels: Mapping[str, str]) -> str:
        """Return NodePool, type, zone and pods of a node at the start; of a later node the first two.

        Args:
            name: Name of the node, or of its NodeClaim.
        """
        before = self._beginning.get(name)
        return _values(labels, NODEPOOL, INSTANCE_TYPE) if before is None else before

    @cached_property
    def _beginning(self) -> dict[str, str]:
        pods: dict[str, Counter[str]] = defaultdict(Counter)
        for pod in self._inventory.pods:
            if pod.node_name and pod.is_active:
                owner = pod.owners[0].name if pod.owners else pod.name
                pods[pod.node_name][f"{pod.namespace}/{owner}"] += 1
        changed = {}
        for node in self._inventory.nodes:
            held = (f"{owner}:{count}" for owner, count in sorted(pods[node.name].items()))
            changed[node.name] = " ".join((_values(node.labels, NODEPOOL, INSTANCE_TYPE, ZONE), *held))
        return changed


def _values(labels: Mapping[str, str], *keys: str) -> str:
    return " ".join(labels.get(key, "") for key in keys)
