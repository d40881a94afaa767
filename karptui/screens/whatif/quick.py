"""Quick edits: what the keys on a control do."""

from __future__ import annotations

from textual import on

from karptui.screens.dialogs import AskScreen, ChecklistScreen, Choice, PickScreen
from karptui.screens.whatif.desk import Desk
from karptui.screens.whatif.offering import Offering
from karptui.screens.whatif.question import question
from karptui.views.row import Tone
from karptui.views.whatif.controls import EDIT, QUICK, SETTING, setting_value
from karptui.whatif.edits import SetSetting
from karptui.whatif.path import value_at
from karptui.whatif.quick_edits.actions import SETTING_EDITS, SettingEdit
from karptui.whatif.quick_edits.catalogue import QUICK_EDITS
from karptui.whatif.quick_edits.quick_edit import Input, QuickEdit
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.yaml.parse import Document
from karptui.whatif.yaml.splice import REMOVE, EditRefusedError, set_value
from karptui.widgets.control_list import ControlList

ADD = "+ add"


class QuickEditing(Offering):
    """Mixed into the what-if screen."""

    desk: Desk

    def focused_document(self) -> Document | None:
        """Return the document that quick edits change."""
        raise NotImplementedError

    def put_text(self, text: str, why: str) -> None:
        """Take over a text that a quick edit made."""
        raise NotImplementedError

    def show_line(self, line: int) -> None:
        """Put the cursor on a line of the text."""
        raise NotImplementedError

    def changed(self) -> None:
        """Show the sheet in front after something other than typing has changed it."""
        raise NotImplementedError

    # Keys on a control

    @on(ControlList.Stepped)
    def _stepped(self, event: ControlList.Stepped) -> None:
        event.stop()
        sort, _, name = event.control_id.partition("/")
        document = self.focused_document()
        if sort == QUICK and document is None:
            self._say_unreadable()
        elif sort == QUICK and document is not None:
            quick = _quick(name)
            if quick.step is not None:
                self._put(quick, document, quick.step(document.body or {}, event.step))
        elif sort == SETTING:
            setting = _setting(name)
            self._put_setting(setting, setting.step(self._value_of(setting), event.step))

    @on(ControlList.Reset)
    def _reset(self, event: ControlList.Reset) -> None:
        event.stop()
        sort, _, name = event.control_id.partition("/")
        document = self.focused_document()
        if sort == QUICK and document is None:
            self._say_unreadable()
        elif sort == QUICK and document is not None:
            self._restore(_quick(name), document)
        elif sort == SETTING:
            edits = tuple(
                one for one in self.desk.sheet.edits if not (isinstance(one, SetSetting) and one.name == name)
            )
            self.desk.put_edits(edits, f"{name} as it was")
            self.changed()
        elif sort == EDIT:
            edits = self.desk.sheet.edits
            index = int(name)
            self.desk.put_edits((*edits[:index], *edits[index + 1 :]), "an edit taken back")
            self.changed()

    @on(ControlList.Chosen)
    def _chosen(self, event: ControlList.Chosen) -> None:
        event.stop()
        sort, _, name = event.control_id.partition("/")
        document = self.focused_document()
        if sort == QUICK and document is None:
            self._say_unreadable()
        elif sort == QUICK and document is not None:
            self._ask(_quick(name), document)
        elif sort == SETTING:
            self._ask_setting(_setting(name))
        else:
            self.say("⌫ takes the edit back", Tone.MUTED)

    def _say_unreadable(self) -> None:
        line = self.documents.first_broken_line + 1
        self.say(f"line {line} cannot be read yet; e goes to the text, u undoes", Tone.WARNING)

    # Fields of the document

    def _put(self, quick: QuickEdit, document: Document, value: str) -> None:
        try:
            text = quick.put(self.desk.sheet.text, document.index, value)
        except EditRefusedError as error:
            self.say(f"{quick.title}: {error}", Tone.WARNING)
        else:
            self.put_text(text, quick.title)

    def _restore(self, quick: QuickEdit, document: Document) -> None:
        """Give a field again what the cluster has; of a requirement only the values that the edit turned over."""
        original = self.desk.originals.get(document.ref)
        if original is None:
            self.say("the cluster has no such object", Tone.MUTED)
            return
        known, text = KnownValues(), self.desk.sheet.text
        try:
            if quick.input is Input.TOGGLES:
                before = {one.value for one in quick.options(original, known) if one.is_on}
                for one in quick.options(document.body or {}, known):
                    if one.is_on != (one.value in before):
                        text = quick.put(text, document.index, one.value)
            else:
                value = value_at(original, quick.path, REMOVE)
                text = set_value(text, document.index, quick.path, value, prune=True)
        except EditRefusedError as error:
            self.say(f"{quick.title}: {error}", Tone.WARNING)
        else:
            self.put_text(text, f"{quick.title} as it was")

    @question
    async def _ask(self, quick: QuickEdit, document: Document) -> None:
        body, current = document.body or {}, quick.current(document.body or {})
        match quick.input:
            case Input.CHOICE:
                options = quick.options(body, KnownValues())
                choices = [Choice(one.value, one.value, one.detail) for one in options]
                chosen = await self.app.push_screen_wait(PickScreen(quick.title, choices, current=current))
                if chosen is not None:
                    self._put(quick, document, chosen)
            case Input.TOGGLES:
                await self._ask_toggles(quick, document)
            case Input.ITEMS:
                await self._ask_items(quick, document)
            case _:
                answer = await self.app.push_screen_wait(
                    AskScreen(
                        f"{quick.title} of {document.kind} {document.name}",
                        value=current,
                        hint=f"{quick.hint}; empty takes it away",
                        check=quick.fault,
                    )
                )
                if answer is not None:
                    self._put(quick, document, answer.strip())

    async def _ask_toggles(self, quick: QuickEdit, document: Document) -> None:
        options = quick.options(document.body or {}, await self.names())
        on_now = {one.value for one in options if one.is_on}
        chosen = await self.app.push_screen_wait(
            ChecklistScreen(
                f"{quick.title} of {document.name}",
                [Choice(one.value, one.value, one.detail) for one in options],
                on_now,
            )
        )
        if chosen is None:
            return
        text = self.desk.sheet.text
        try:
            # What is turned on comes first, so that the last value of a requirement may be exchanged for another.
            for value in (*sorted(chosen - on_now), *sorted(on_now - chosen)):
                text = quick.put(text, document.index, value)
        except EditRefusedError as error:
            self.say(f"{quick.title}: {error}", Tone.WARNING)
        else:
            self.put_text(text, quick.title)

    async def _ask_items(self, quick: QuickEdit, document: Document) -> None:
        options = quick.options(document.body or {}, await self.names())
        choices = [Choice(one.value, one.value, one.detail or "enter takes it away") for one in options if one.is_on]
        chosen: str | None = ADD
        if choices:
            chosen = await self.app.push_screen_wait(PickScreen(quick.title, [*choices, Choice(ADD, ADD, quick.hint)]))
        if chosen is None:
            return
        if chosen != ADD:
            assert quick.drop is not None
            try:
                text = quick.drop(self.desk.sheet.text, document.index, chosen)
            except EditRefusedError as error:
                self.say(f"{quick.title}: {error}", Tone.WARNING)
            else:
                self.put_text(text, f"{quick.title} taken away")
            return
        answer = await self.app.push_screen_wait(
            AskScreen(f"{quick.title}: one more", hint=quick.hint, check=quick.fault)
        )
        if answer:
            self._put(quick, document, answer.strip())

    # Settings

    def _value_of(self, setting: SettingEdit) -> str:
        changed = {one.name: one.value for one in self.desk.sheet.edits if isinstance(one, SetSetting)}
        return changed.get(setting.name, setting_value(setting, self.host.view.evidence.settings))

    def _put_setting(self, setting: SettingEdit, value: str) -> None:
        rest = tuple(
            one for one in self.desk.sheet.edits if not (isinstance(one, SetSetting) and one.name == setting.name)
        )
        is_own = value == setting_value(setting, self.host.view.evidence.settings)
        try:
            edits = rest if is_own else (*rest, setting.edit(value))
        except EditRefusedError as error:
            self.say(str(error), Tone.WARNING)
            return
        self.desk.put_edits(edits, setting.title)
        self.changed()

    @question
    async def _ask_setting(self, setting: SettingEdit) -> None:
        await self.ask_setting(setting)

    async def ask_setting(self, setting: SettingEdit) -> None:
        """Ask for the value of a setting."""
        current = self._value_of(setting)
        if setting.choices:
            choices = [Choice(one, one) for one in setting.choices]
            answer = await self.app.push_screen_wait(PickScreen(setting.name, choices, current=current))
        else:
            answer = await self.app.push_screen_wait(
                AskScreen(setting.name, value=current, hint=setting.hint, check=setting.fault)
            )
        if answer is not None:
            self._put_setting(setting, answer.strip())


def _quick(name: str) -> QuickEdit:
    return next(one for one in QUICK_EDITS if one.id == name)


def _setting(name: str) -> SettingEdit:
    return next(one for one in SETTING_EDITS if one.name == name)
