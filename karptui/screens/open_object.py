"""The key that goes to the object under the cursor, where it can be seen best."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen

from karptui.decode.kinds import Kind
from karptui.screens.host import host_of


class OpenObject(Screen[None]):
    """Mixed into screens that know which object is meant."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_object", "Open object", id="object.open", tooltip="Go to the object under the cursor"),
    ]

    def current_object(self) -> tuple[str, str] | None:
        """Return kind and key of the object under the cursor."""
        raise NotImplementedError

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
            self._show_text(kind, key, is_yaml=False)
        else:
            self._show_text(kind, key, is_yaml=True)

    def _show_text(self, kind: str, key: str, *, is_yaml: bool) -> None:
        from karptui.screens.text import TextScreen  # noqa: PLC0415 - only when asked for

        host = host_of(self.app)

        async def described() -> str:
            return host.view.describe(kind, key, host.now_ns())

        if is_yaml:
            self.app.push_screen(TextScreen(f"{kind} {key}", lambda: host.fetch_raw(kind, key), "yaml"))
        else:
            self.app.push_screen(TextScreen(f"{kind} {key}", described))
