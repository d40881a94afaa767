"""The Changes screen: what changed since a past moment of the followed cluster's history."""

from __future__ import annotations

from typing import Final

from textual import work

from karptui.changes.row import COST, EDITED_KINDS, SETTINGS, ObjectChange
from karptui.decode.kinds import Kind
from karptui.kube.timestamps import PastTime
from karptui.screens import routes
from karptui.screens.history import from_history
from karptui.screens.list_screen import ListScreen
from karptui.screens.row_sources import OwnRows
from karptui.session.changes import ChangeSet, changes_in
from karptui.views.changes import TABLE, headline
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Rows

SINCE: Final = "-30m"
_OF_A_POOL: Final = (COST, Kind.NODE, Kind.NODECLAIM)
"""Kinds of rows whose name is a NodePool."""


class ChangesScreen(ListScreen[ObjectChange]):
    """Fields, objects and folded nodes and pods that changed; computed once, and again on request."""

    entry_name = "events"
    title_text = "What changed"

    def __init__(self, since: PastTime) -> None:
        super().__init__(TABLE, OwnRows(lambda: self._changes))
        self._since = since
        self._changes: tuple[ObjectChange, ...] = ()
        self._change_set: ChangeSet | None = None
        self._problem = ""

    def prepare(self) -> None:
        super().prepare()
        self._compare()

    @work(exclusive=True, group="changes", exit_on_error=False)
    async def _compare(self) -> None:
        self._change_set, self._problem, self._changes = None, "", ()
        self.refresh_view(is_forced=True)
        answer = await from_history(self.host, lambda history, until_ns: changes_in(history, self._since, until_ns))
        if isinstance(answer, str):
            self._problem = answer
        else:
            self._change_set, self._changes = answer, answer.changes
        self.refresh_view(is_forced=True)

    def placeholder(self, rows: Rows[ObjectChange]) -> Pieces:
        """Return that it is computed, why there is nothing, or that nothing changed."""
        if rows.total:
            return super().placeholder(rows)
        if self._problem:
            return ((clean(self._problem), Tone.WARNING),)
        return (
            (("comparing…", Tone.ACTIVE),) if self._change_set is None else ((headline(self._change_set), Tone.MUTED),)
        )

    def explain(self) -> Pieces:
        """Return the compared time range, and the gaps of the answer."""
        if self._change_set is None:
            return ()
        notes = tuple((f" · {clean(note)}", Tone.WARNING) for note in self._change_set.notes)
        return ((headline(self._change_set), Tone.MUTED), *notes)

    def name_of(self, item: ObjectChange) -> str:
        return item.name

    def object_of(self, item: ObjectChange) -> tuple[str, str] | None:
        """Return the object that changed; of folded objects their NodePool or owner."""
        if item.kind in _OF_A_POOL:
            return Kind.NODEPOOL, item.name
        if item.kind == Kind.POD:
            kind, _, key = item.name.partition("/")
            return (kind, key) if kind != Kind.POD else None
        if item.kind == Kind.NODECLASS:
            kind, _, key = item.name.partition("/")
            return kind, key
        return (item.kind, item.name) if item.kind in EDITED_KINDS else None

    def open_row(self, item: ObjectChange) -> None:
        if item.kind == SETTINGS:
            self.host.run_command("sources")
            return
        ref = self.object_of(item)
        if ref is None:
            self.say("this row is about no single object", Tone.MUTED)
        elif not self.host.session.has_object(*((item.kind, item.name) if item.kind == Kind.NODECLASS else ref)):
            self.say(f"{clean(ref[0])} {clean(ref[1])} does not exist now", Tone.MUTED)
        else:
            routes.show_object(self, *ref)

    def action_refresh_data(self) -> None:
        super().action_refresh_data()
        self._compare()
