"""The key that goes to the object under the cursor, where it can be seen best."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from karptui.decode.kinds import Kind
from karptui.screens.host import host_of
from karptui.screens.object_text import ObjectKeys


class OpenObject(ObjectKeys):
    """Mixed into screens that know which object is meant: the keys that show it, and one that goes there."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_object", "Open object", id="object.open", tooltip="Go to the object under the cursor"),
    ]

    def action_open_object(self) -> None:
        """Show a node's or pool's detail, a workload's pods, a pod's description, and else the YAML."""
        meant = self.current_object()
        if meant is None:
            return
        kind, key = meant
        host = host_of(self.app)
        if kind == Kind.NODE and host.view.node_of(key) is not None:
            from karptui.screens.node_detail import NodeDetailScreen  # noqa: PLC0415 - only when asked for

            self.app.push_screen(NodeDetailScreen(f"Node/{key}"))
        elif kind == Kind.NODEPOOL and key in host.view.state.nodepools:
            from karptui.screens.pool_detail import PoolDetailScreen  # noqa: PLC0415 - only when asked for

            self.app.push_screen(PoolDetailScreen(key))
        elif kind == "Setting":
            host.run_command("sources")
        elif kind == Kind.POD:
            self.show_description(kind, key)
        else:
            self.show_yaml(kind, key)
