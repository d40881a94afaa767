"""Keys that show one object: ``y`` its YAML, ``d`` a description, ``e`` why it is as it is."""

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
        Binding("e", "explain_why", "Explain", show=False, id="object.explain"),
    ]
    is_explanation: ClassVar[bool] = False
    """Whether the screen is where ``e`` leads to."""

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

    def action_explain_why(self) -> None:
        """Show why the object is as it is: a pod that waits, a node, a NodePool."""
        meant = self.current_object()
        host = host_of(self.app)
        if self.is_explanation:
            host.tell("this is the explanation; esc goes back")
        elif meant is not None:
            from karptui.screens.explanation import explanation_of  # noqa: PLC0415 - only when asked for

            found = explanation_of(host, *meant)
            if isinstance(found, str):
                host.tell(found)
            else:
                self.app.push_screen(found)

    def show_yaml(self, kind: str, key: str) -> None:
        """Show an object's YAML."""
        from karptui.screens.text import TextScreen  # noqa: PLC0415 - only when asked for

        host = host_of(self.app)
        self.app.push_screen(TextScreen(f"{kind} {key}", lambda: host.fetch_raw(kind, key), "yaml"))

    def show_description(self, kind: str, key: str) -> None:
        """Show an object's description."""
        from karptui.screens.text import TextScreen  # noqa: PLC0415 - only when asked for
        from karptui.views.describe import describe  # noqa: PLC0415 - as above

        host = host_of(self.app)

        async def text() -> str:
            return describe(host.view, kind, key, host.now_ns())

        self.app.push_screen(TextScreen(f"{kind} {key}", text))
