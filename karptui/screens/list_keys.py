"""Keys of every list, and keys that several lists share."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding, BindingType

LIST_KEYS: Final[list[BindingType]] = [
    # As for the command line.
    Binding("slash", "filter", "Filter", key_display="/", id="list.filter", priority=True),
    Binding("ctrl+w", "wide", "Wide", id="list.wide", tooltip="Every column, with scrolling"),
    Binding("ctrl+z", "notable", "Faults", id="list.notable", tooltip="Blocked and faulty rows only"),
    Binding("c", "copy", "Copy name", show=False, id="list.copy"),
    Binding("ctrl+s", "save", "Save rows to a file", show=False, id="list.save"),
    Binding("N", "sort('name')", "Sort by name", show=False, id="list.sort-name"),
    Binding("A", "sort('age')", "Sort by age", show=False, id="list.sort-age"),
    Binding("S", "sort('status')", "Sort by status", show=False, id="list.sort-status"),
    Binding("y", "yaml", "YAML", show=False, id="object.yaml"),
    Binding("d", "describe", "Describe", show=False, id="object.describe"),
    Binding("e", "explain_why", "Explain", show=False, id="object.explain"),
]
OPEN_OBJECT: Final = Binding(
    "o", "open_object", "Open object", id="object.open", tooltip="Go to the object under the cursor"
)
"""For screens whose rows are about objects of several kinds."""
CHURN: Final = Binding(
    "u",
    "run_command('churn')",
    "Churn",
    show=False,
    id="churn.open",
    tooltip="How often nodes are replaced, and why",
)
"""For screens about churn; not on Nodes, where ``u`` may mean uncordon."""
HEADROOM: Final = Binding(
    "H",
    "headroom",
    "Headroom",
    show=False,
    id="headroom.open",
    tooltip="How many more pods fit: before a node is needed, before limits stop it",
)
"""For screens whose rows are about pods, or NodePools."""
