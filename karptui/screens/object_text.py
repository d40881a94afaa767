"""Keys that show one object as text: ``y`` its YAML, ``d`` a description."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen

from karptui.screens.host import host_of


class ObjectKeys(Screen[None]):
    """Mixed into screens that know which object is meant."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yaml", "YAML", show=False, id="object.yaml"),
        Binding("d", "describe", "Describe", show=False, id="object.describe"),
    ]

    def current_object(self) -> tuple[str, str] | None:
        """Return kind and key of the object under the cursor."""
        raise NotImplementedError

    def action_yaml(self) -> None:
        """Show the object as the API server gives it."""
        meant = self.current_object()
        if meant is not None:
            self.show_yaml(*meant)

    def action_describe(self) -> None:
        """Show what karptui knows of the object."""
        meant = self.current_object()
        if meant is not None:
            self.show_description(*meant)

    def show_yaml(self, kind: str, key: str) -> None:
        """Show an object's YAML."""
        from karptui.screens.text import TextScreen  # noqa: PLC0415 - only when asked for

        host = host_of(self.app)
        self.app.push_screen(TextScreen(f"{kind} {key}", lambda: host.fetch_raw(kind, key), "yaml"))

    def show_description(self, kind: str, key: str) -> None:
        """Show an object's description."""
        from karptui.screens.text import TextScreen  # noqa: PLC0415 - only when asked for

        host = host_of(self.app)

        async def text() -> str:
            return host.view.describe(kind, key, host.now_ns())

        self.app.push_screen(TextScreen(f"{kind} {key}", text))
