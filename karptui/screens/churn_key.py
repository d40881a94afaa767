"""The key that shows the churn, on every screen where one may wonder why nodes come and go."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen


class ChurnKey(Screen[None]):
    """Mixed into screens of NodeClaims, NodePools and events; on Nodes habit takes ``u`` for uncordon."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "u", "open_churn", "Churn", show=False, id="churn.open", tooltip="How often nodes are replaced, and why"
        ),
    ]

    def action_open_churn(self) -> None:
        """Show how often nodes are replaced, and why."""
        from karptui.screens.churn import ChurnScreen  # noqa: PLC0415 - only when asked for

        self.app.push_screen(ChurnScreen())
