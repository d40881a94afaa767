"""The key of the Pending screens that leads to the ledger of the instance type that comes nearest."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from karptui.pending.groups import PendingGroup
from karptui.pending.nearest import furthest
from karptui.screens.frame import FrameScreen
from karptui.views.row import Tone

NO_TYPE: Final = "no instance type came near these pods: enter says which gate stopped them"


class PendingLedger(FrameScreen):
    """Mixed into screens that know which pending pods are meant."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "open_ledger", "Ledger", id="pending.ledger", tooltip="Where the memory of the nearest type goes"),
    ]

    def meant_group(self) -> PendingGroup | None:
        """Return the pods that are meant; None where there are none."""
        raise NotImplementedError

    def action_open_ledger(self) -> None:
        """Hold the pods against the type that comes nearest, in the NodePool that comes nearest."""
        group = self.meant_group()
        explanation = group.explanation if group is not None else None
        pool = furthest(explanation) if explanation is not None else None
        if group is None or pool is None or pool.nearest is None:
            self.say(NO_TYPE, Tone.MUTED)
            return
        from karptui.screens.type_ledger import TypeLedgerScreen  # noqa: PLC0415 - only when asked for

        keys = tuple(pod.key for pod in group.pods)
        self.app.push_screen(TypeLedgerScreen(pool.nodepool, pool.nearest.instance_type, keys))
