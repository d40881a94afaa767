"""Which parameter is swept over which values, and how well the model does on what was launched lately."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from msgspec.structs import replace

from karptui.screens.dialogs import AskScreen, Choice, PickScreen
from karptui.screens.text import TextScreen
from karptui.screens.whatif.question import question
from karptui.screens.whatif.quick import QuickEditing
from karptui.views.whatif.controls import setting_value
from karptui.views.whatif.self_check import self_check_text
from karptui.whatif.path import path_text
from karptui.whatif.quick_edits.actions import SETTING_EDITS
from karptui.whatif.quick_edits.catalogue import quick_edits_for
from karptui.whatif.quick_edits.quick_edit import Input
from karptui.whatif.sweep import SweepError, parse_sweep
from karptui.whatif.yaml.parse import Document

SWEPT = frozenset({Input.NUMBER, Input.QUANTITY, Input.DURATION})
EXAMPLES = {
    Input.NUMBER: "1..100/10, or 1,50,100",
    Input.QUANTITY: "100..500/50, or 100Gi..400Gi/50Gi",
    Input.DURATION: "30s..10m/30s, or 0s,5m,1h",
}


class Sweeping(QuickEditing):
    """Mixed into the what-if screen."""

    @question
    async def action_sweep(self) -> None:
        """Ask for a parameter and its values."""
        from karptui.screens.whatif.sweep import SweepScreen  # noqa: PLC0415 - only when asked for

        document = self.focused_document()
        offers = list(_parameters(document))
        chosen = await self.app.push_screen_wait(PickScreen("Sweep over", [choice for choice, _ in offers]))
        if chosen is None:
            return
        kind = next(kind for choice, kind in offers if choice.id == chosen)

        def fault(text: str) -> str:
            try:
                parse_sweep(f"{chosen}={text}")
            except SweepError as error:
                return str(error)
            return ""

        values = await self.app.push_screen_wait(
            AskScreen(f"Values of {chosen}", hint=f"a range or a list: {EXAMPLES[kind]}", check=fault)
        )
        if values is not None:
            scenario = self.desk.scenario(self.documents.parsed)
            sweep = replace(parse_sweep(f"{chosen}={values}"), edits=scenario.edits)
            shared = self.desk.replayer.shared_base
            self.app.push_screen(SweepScreen(shared, sweep, scenario.replay, self._current_value(chosen)))

    def _current_value(self, parameter: str) -> str:
        for one in SETTING_EDITS:
            if one.name == parameter:
                return setting_value(one, self.host.view.evidence.settings)
        document = self.focused_document()
        original = self.desk.originals.get(document.ref) if document is not None else None
        for quick in quick_edits_for(document.kind) if document is not None else ():
            if original is not None and parameter.endswith(f":{path_text(quick.path)}"):
                return quick.current(original)
        return ""

    @question
    async def action_verify(self) -> None:
        """Put the model to the test on the NodeClaims created lately."""
        from karptui.whatif.self_check import self_check  # noqa: PLC0415 - only when asked for

        shared, view, now_ns = self.desk.replayer.shared_base, self.host.view, self.host.now_ns()

        async def told() -> str:
            found = await asyncio.to_thread(lambda: self_check(shared.take(view, now_ns)))
            return self_check_text(found)

        self.app.push_screen(TextScreen("does the model make the NodeClaims that Karpenter made?", told))


def _parameters(document: Document | None) -> Iterator[tuple[Choice, Input]]:
    if document is not None and document.body is not None:
        ref = document.ref
        for quick in quick_edits_for(document.kind):
            if quick.input in SWEPT:
                id_ = f"{ref.kind}/{ref.key}:{path_text(quick.path)}"
                yield Choice(id_, f"{quick.title} of {document.name}", quick.current(document.body)), quick.input
    for setting in SETTING_EDITS:
        if setting.stride:
            yield Choice(setting.name, setting.name, setting.hint), Input.NUMBER
