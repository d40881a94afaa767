"""Dialogs of the what-if: modes, scenarios, files, export formats, parameters of sweeps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace
from textual.app import App

from karptui.aws.money import per_hour_change_text
from karptui.decode.kinds import Kind
from karptui.errors import RequestError
from karptui.kube.units import counted
from karptui.screens import routes
from karptui.screens.destinations import ToStudy, ToText
from karptui.screens.dialogs import Choice, LineScreen, PickScreen, pick
from karptui.screens.frame import FrameScreen
from karptui.screens.whatif.controller import WhatIf
from karptui.screens.whatif.kept_scenarios import FileIsThereError
from karptui.screens.whatif.quick_edits import QuickEdits, control_of
from karptui.views.row import Tone
from karptui.views.study import fault_of
from karptui.views.whatif.totals import mode_sentence, mode_text
from karptui.whatif.field_path import path_text
from karptui.whatif.quick_edits.actions import SETTING_EDITS, SettingEdit
from karptui.whatif.quick_edits.catalogue import quick_edits_for
from karptui.whatif.quick_edits.fields import Input, QuickEdit
from karptui.whatif.scenario import Replay
from karptui.whatif.sheet import Sheet
from karptui.whatif.sweep import parse_sweep, parse_values, proposed_values
from karptui.whatif.yaml.tree import Document

GROUP: Final = "asking"
POLICIES: Final = "policies"
FORMS: Final = (
    Choice("patch", "kubectl commands", "a patch per object, and the steps without a patch"),
    Choice("yaml", "YAML", "the edited objects, in full"),
    Choice("diff", "difference", "diff of the current and the edited objects"),
    Choice("scenario", "scenario", "for karptui simulate --scenario"),
)
SWEPT: Final = frozenset({Input.NUMBER, Input.QUANTITY, Input.DURATION})
EXAMPLES: Final = {
    Input.NUMBER: "1..100/10, or 1,50,100",
    Input.QUANTITY: "100..500/50, or 100Gi..400Gi/50Gi",
    Input.DURATION: "30s..10m/30s, or 0s,5m,1h",
}


def ask_aside(screen: FrameScreen, talk: Callable[[], Awaitable[None]]) -> None:
    """Run a dialog in a worker, unless another one is open.

    Otherwise fast keys would open a second dialog over the first, which would never be answered.
    """

    async def run() -> None:
        if screen.is_current:
            await talk()

    if not any(w.group == GROUP and w.node is screen and not w.is_finished for w in screen.app.workers):
        screen.run_worker(run(), group=GROUP)


def needed(text: str) -> str:
    """Return an error message if an answer is empty."""
    return "" if text.strip() else "it cannot be empty"


def ask_about_unsaved(app: App[None], whatif: WhatIf, leave: Callable[[], object]) -> None:
    """Leave; ask once before if there are unsaved scenarios."""
    count = whatif.book.to_ask_about()
    if not count:
        leave()
        return

    def answered(chosen: str | None) -> None:
        if chosen == "drop":
            whatif.book.note_saved(whatif.book.unsaved())
        if chosen is not None:
            leave()

    those = f"{counted(count, 'scenario')} {'is' if count == 1 else 'are'} not saved"
    choices = (
        Choice("leave", "leave", f"{'it is' if count == 1 else 'they are'} kept for the next start as well"),
        Choice(
            "drop",
            "leave, and discard them when karptui ends",
            f"{'it stays' if count == 1 else 'they stay'} until you quit",
        ),
        Choice("stay", "stay", "s saves to a file"),
    )
    app.push_screen(PickScreen(those, choices), lambda chosen: answered(None if chosen == "stay" else chosen))


class Dialogs:
    """Asks questions over the what-if, and acts on the answers."""

    def __init__(self, screen: FrameScreen, whatif: WhatIf, quick: QuickEdits) -> None:
        self._screen = screen
        self._whatif = whatif
        self._quick = quick

    @property
    def _app(self) -> App[None]:
        return self._screen.app

    # Replay mode

    async def mode(self) -> None:
        choices = [Choice(str(mode), mode_text(mode), mode_sentence(mode)) for mode in Replay]
        chosen = await pick(self._app, "What is simulated", choices, str(self._whatif.book.sheet.replay))
        if chosen is not None:
            self._whatif.book.choose_replay(Replay(chosen))
            self._whatif.changed()

    # Scenarios

    async def scenarios(self) -> None:
        """Go to another scenario, begin one, or throw one away."""
        book = self._whatif.book
        choices = [Choice(f"at {at}", name, self._summary(at)) for at, name in enumerate(book.names())]
        choices += [
            Choice("new", "+ begin a new one", "empty"),
            Choice("duplicate", "+ duplicate this one", self._whatif.name),
            Choice("rename", "  name this one"),
            Choice("save", "↓ save to a file", "all of them, as YAML; karptui simulate --scenario replays it"),
            Choice("open", "↑ open a file"),
            Choice("drop", "− delete this one", "esc cancels"),
        ]
        chosen = await pick(self._app, "Scenarios", choices, f"at {book.index}")
        match chosen:
            case None:
                return
            case "new":
                book.begin(Sheet(book.free_name("unnamed")))
            case "duplicate":
                book.begin_copy(book.sheet)
            case "rename":
                await self._name()
            case "save":
                await self._save()
            case "open":
                await self._open()
            case "drop":
                book.drop()
            case _:
                book.index = int(chosen.removeprefix("at "))
        self._whatif.changed()

    def _summary(self, index: int) -> str:
        book = self._whatif.book
        count = len(book.scenario_at(index).edits)
        edits = f"{counted(count, 'edit')} · {mode_text(book.sheets[index].replay)}"
        answer = book.answers.get(index)
        if answer is None or answer.difference is None:
            return edits
        return f"{edits} · {per_hour_change_text(answer.difference.price_delta_per_hour)}"

    async def rename(self) -> None:
        await self._name()
        self._whatif.changed()

    async def _name(self) -> None:
        dialog = LineScreen("Name of the scenario", value=self._whatif.name, check=needed)
        name = await self._app.push_screen_wait(dialog)
        if name is not None:
            self._whatif.book.rename(name.strip())

    # Files

    async def _save(self) -> None:
        """Ask for a file and save every scenario; an existing file is replaced only after confirmation."""
        dialog = LineScreen("File to save the scenarios to", value="scenarios.yaml", check=needed)
        target = await self._app.push_screen_wait(dialog)
        if target is None:
            return
        try:
            path = await self._saved(target)
        except RequestError as error:
            self._whatif.say(str(error), Tone.FAULT)
            return
        if path is not None:
            self._whatif.say(f"{counted(len(self._whatif.book.sheets), 'scenario')} saved to {path}", Tone.GOOD)

    async def _saved(self, target: str) -> Path | None:
        try:
            return self._whatif.save_scenarios(target)
        except FileIsThereError:
            choices = (Choice("replace", f"replace {target}"), Choice("keep", "keep the existing file"))
            chosen = await pick(self._app, "The file already exists", choices)
        return self._whatif.save_scenarios(target, replaces=True) if chosen == "replace" else None

    async def _open(self) -> None:
        target = await self._app.push_screen_wait(LineScreen("File of scenarios to open", check=needed))
        if target is None:
            return
        try:
            count = await self._whatif.open_scenarios(target)
        except RequestError as error:
            self._whatif.say(str(error), Tone.FAULT)
        else:
            self._whatif.say(f"{counted(count, 'scenario')} opened from {target}", Tone.GOOD)

    # Export

    async def export(self) -> None:
        """Choose a form and show it; c copies it there."""
        if self._whatif.book.is_untouched:
            self._whatif.say("nothing is edited yet", Tone.MUTED)
            return
        chosen = await pick(self._app, "Export as", FORMS)
        if chosen is not None:
            text = self._whatif.exported(chosen)
            title = next(choice.title for choice in FORMS if choice.id == chosen)
            language = {"yaml": "yaml", "scenario": "yaml", "patch": "sh"}.get(chosen)
            routes.show_made_text(self._screen, f"{title} ─ {self._whatif.name}", lambda: text, language)

    # Sweeps, comparisons, and how well the model does

    def compare(self) -> None:
        from karptui.screens.whatif.compare import CompareScreen  # noqa: PLC0415 - only when asked for

        if len(self._whatif.book.sheets) == 1:
            self._whatif.say("there is only one scenario; s duplicates it or begins another", Tone.MUTED)
        self._app.push_screen(CompareScreen(self._whatif))

    async def sweep(self, document: Document | None, control_id: str = "") -> None:
        """Ask for a parameter and values to compare; the quick edit under the cursor and a range are proposed."""
        from karptui.views.values import policies_study, values_study  # noqa: PLC0415 - only when asked for

        offers = list(_parameters(document))
        meant = _parameter_of(control_id, document)
        choices = [sweepable.choice for sweepable in offers]
        pool = document.name if document is not None and document.kind == Kind.NODEPOOL else ""
        if pool:
            policies = f"consolidation policy of {pool}"
            choices.insert(0, Choice(POLICIES, policies, "each policy with several values of consolidateAfter"))
        chosen = await pick(self._app, "Compare values of", choices, meant)
        if chosen is None:
            return
        scenario = self._whatif.scenario()
        if chosen == POLICIES:
            self._screen.host.go(ToStudy(policies_study(pool, edits=scenario.edits)))
            return
        offer = next(sweepable for sweepable in offers if sweepable.choice.id == chosen)

        dialog = LineScreen(
            f"Values of {chosen}",
            value=self._proposed(offer),
            hint=f"from..to/step, or a list: {EXAMPLES[offer.input]}",
            check=fault_of(parse_values),
        )
        values = await self._app.push_screen_wait(dialog)
        if values is not None:
            sweep = replace(parse_sweep(f"{chosen}={values}"), edits=scenario.edits)
            current = self._quick.current_value(chosen, document)
            self._screen.host.go(ToStudy(values_study(sweep, scenario.replay, current=current)))

    def _proposed(self, offer: Sweepable) -> str:
        if (setting := offer.setting) is not None:
            return proposed_values(self._quick.setting_value(setting), stride=setting.stride)
        most = 100 if offer.choice.id.endswith(":spec.weight") else 0
        return proposed_values(offer.current, most=most, is_duration=offer.input is Input.DURATION)

    async def verify(self) -> None:
        """Put the model to the test on the NodeClaims created lately."""
        session, cluster = self._whatif.session, self._whatif.cluster

        async def checked() -> str:
            return await asyncio.to_thread(session.whatif.self_check, cluster.now_ns())

        self._screen.host.go(ToText("Does the model reproduce Karpenter's NodeClaims?", checked))


class Sweepable(NamedTuple):
    """A parameter that can be swept."""

    choice: Choice
    input: Input
    current: str = ""
    setting: SettingEdit | None = None


def _parameters(document: Document | None) -> Iterator[Sweepable]:
    if document is not None and document.body is not None:
        for quick in quick_edits_for(document.kind):
            if quick.input in SWEPT:
                current = quick.current(document.body)
                title = f"{quick.title} of {document.name}"
                yield Sweepable(Choice(_field_of(document, quick), title, current), quick.input, current)
    for setting in SETTING_EDITS:
        if setting.stride:
            yield Sweepable(Choice(setting.name, setting.name, setting.hint), Input.NUMBER, setting=setting)


def _field_of(document: Document, quick: QuickEdit) -> str:
    return f"{document.ref.kind}/{document.ref.key}:{path_text(quick.path)}"


def _parameter_of(control_id: str, document: Document | None) -> str:
    control = control_of(control_id)
    if control.setting is not None:
        return control.setting.name
    return _field_of(document, control.quick) if control.quick is not None and document is not None else ""
