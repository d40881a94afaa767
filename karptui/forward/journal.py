"""Records changes of a forecast, and restores the cluster at any instant from them."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Final

import msgspec

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.kube.volumes import PersistentVolumeClaim
from karptui.kube.workload import PodDisruptionBudget

PODS: Final = "pods"
NODES: Final = "nodes"
NODECLAIMS: Final = "nodeclaims"
PDBS: Final = "pdbs"
CLAIMS: Final = "claims"

Changed = Pod | Node | NodeClaim | PodDisruptionBudget | PersistentVolumeClaim


def _key(thing: Any) -> str:
    return thing.uid if isinstance(thing, Pod) else thing.key


class Journal:
    """Every object that came, changed or went, in order, with where each instant ended."""

    def __init__(self) -> None:
        self._changes: list[tuple[str, str, Changed | None]] = []
        """Field of the inventory, key, and the new object; None if it was deleted."""
        self._instants: list[int] = []
        self._ends: list[int] = []
        """How many changes there were when each instant was over."""

    def note(self, field: str, thing: Changed, *, is_gone: bool = False) -> None:
        """Write down that an object has come or changed, or that it has gone."""
        self._changes.append((field, _key(thing), None if is_gone else thing))

    def close(self, at_ns: int) -> None:
        """Write down that no more happens now; if more does after all, that belongs to the same instant."""
        if self._instants and self._instants[-1] == at_ns:
            self._ends[-1] = len(self._changes)
        elif not self._ends or self._ends[-1] != len(self._changes):
            self._instants.append(at_ns)
            self._ends.append(len(self._changes))

    def at(self, beginning: Inventory, at_ns: int) -> Inventory:
        """Return the cluster at the end of an instant.

        Args:
            beginning: The cluster at the start.
        """
        place = bisect_right(self._instants, at_ns)
        if not place:
            return beginning
        things: dict[str, dict[str, Any]] = {}
        for field, key, thing in self._changes[: self._ends[place - 1]]:
            document = things.get(field)
            if document is None:
                document = things[field] = {_key(thing): thing for thing in getattr(beginning, field)}
            if thing is None:
                document.pop(key, None)
            else:
                document[key] = thing
        return msgspec.structs.replace(beginning, **{field: tuple(item.values()) for field, item in things.items()})
