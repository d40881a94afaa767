"""Resource amounts as rows of integers in nano-units: one column per resource that anything in the run asks for."""

from __future__ import annotations

from collections.abc import Iterable

from karptui.kube.quantity import NANO, Quantity, QuantityFormat
from karptui.kube.resources import PODS, ResourceList

ONE_POD = Quantity(NANO, QuantityFormat.DECIMAL_EXPONENT)
"""The slot that every pod takes, in the format in which Karpenter counts it."""


class Columns:
    """Which resource stands in which column."""

    def __init__(self, lists: Iterable[ResourceList]) -> None:
        names: set[str] = set()
        for amounts in lists:
            if not amounts.keys() <= names:
                names.update(name for name, amount in amounts.items() if amount.nano)
        self.names = tuple(sorted(names | {PODS}))
        self.index = {name: i for i, name in enumerate(self.names)}
        self.pods = self.index[PODS]
        self.zero = (0,) * len(self.names)

    def row(self, amounts: ResourceList, pods: int = 0) -> tuple[int, ...]:
        """Return amounts as a row, with a number of pod slots; resources that nothing asks for are left out."""
        row = [0] * len(self.names)
        for name, amount in amounts.items():
            i = self.index.get(name)
            if i is not None:
                row[i] = amount.nano
        if pods:
            row[self.pods] = pods * NANO
        return tuple(row)


def with_pod_slots(amounts: ResourceList, pods: int = 1) -> dict[str, Quantity]:
    """Return requests with the slots of this many pods, as ``RequestsForPods`` counts them."""
    return {**amounts, PODS: ONE_POD if pods == 1 else Quantity(pods * NANO, QuantityFormat.DECIMAL_EXPONENT)}
