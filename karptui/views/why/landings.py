"""The column of a node's pods that says where each would land if the node were removed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from karptui.session.pods import PodEntry
from karptui.views.column import Column, Heading
from karptui.views.row import Cell
from karptui.views.table import TableSpec


def with_landings(spec: TableSpec[PodEntry], landing: Callable[[PodEntry], Cell]) -> TableSpec[PodEntry]:
    """Return a table of pods with a column of landing places.

    Args:
        spec: The table.
        landing: Returns the cell of a pod.
    """
    heading = Heading(
        "lands_on",
        "WOULD LAND ON",
        "Where the pod would go if the node were removed now, whatever protects it: simulated on the engine.",
        min_width=14,
        max_width=40,
    )
    column: Column[PodEntry] = Column(heading, lambda entry, _: landing(entry), lambda entry: landing(entry).text)
    return msgspec.structs.replace(spec, columns=(*spec.columns, column))
