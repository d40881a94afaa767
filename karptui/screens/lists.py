"""The lists whose rows screens ask for by window, as the settings have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from karptui.config import Config
from karptui.session.nodes import NodeEntry
from karptui.session.row_server import List
from karptui.views.nodes.columns import nodes_table
from karptui.views.served import served
from karptui.views.table import TableSpec


def nodes_spec(config: Config) -> TableSpec[NodeEntry]:
    """Return the table of nodes with the columns that the settings ask for."""
    return nodes_table(config.extra_labels, has_prices=not config.disable_pricing, resources=config.resources)


def lists_of(config: Config) -> Mapping[str, Callable[[], List]]:
    """Return the lists there are by name."""
    return {
        "nodes": lambda: served(nodes_spec(config), lambda view: view.node_entries),
        "pods": _pods,
        "events": _events,
    }


def _pods() -> List:
    from karptui.views.pods.columns import TABLE  # noqa: PLC0415 - only when pods are looked at

    return served(TABLE, lambda view: view.pod_entries)


def _events() -> List:
    from karptui.session.events import Timeline  # noqa: PLC0415 - only when events are looked at
    from karptui.views.events.columns import TABLE  # noqa: PLC0415 - as above

    return served(TABLE, Timeline().entries)
