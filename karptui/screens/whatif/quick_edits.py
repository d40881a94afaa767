"""Quick edits without their screen: the effect of a key on a control."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from karptui.screens.whatif.controller import WhatIf
from karptui.views.row import Tone
from karptui.views.whatif.controls import EDIT, QUICK, SETTING, edit_text, setting_value
from karptui.whatif.edits import AnyEdit, ObjectRef, SetSetting
from karptui.whatif.field_path import path_text, value_at
from karptui.whatif.quick_edits.actions import SETTING_EDITS, QuickAction, SettingEdit
from karptui.whatif.quick_edits.catalogue import QUICK_EDITS, quick_edits_for
from karptui.whatif.quick_edits.fields import Input, QuickEdit
from karptui.whatif.scenario import Replay
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.yaml.splice import REMOVE, EditRefusedError, set_value
from karptui.whatif.yaml.tree import Document


class QuickControl(NamedTuple):
    """The target of a control: a field of the document, a setting, or another edit."""

    quick: QuickEdit | None = None
    setting: SettingEdit | None = None
    edit: int | None = None


def control_of(control_id: str) -> QuickControl:
    """Return the target of a control."""
    sort, _, name = control_id.partition("/")
    if sort == QUICK:
        return QuickControl(quick=next(edit for edit in QUICK_EDITS if edit.id == name))
    if sort == SETTING:
        return QuickControl(setting=next(edit for edit in SETTING_EDITS if edit.name == name))
    return QuickControl(edit=int(name)) if sort == EDIT else QuickControl()


class QuickEdits:
    """Makes edits of the current sheet; a rejected edit changes nothing and is reported."""

    def __init__(self, whatif: WhatIf) -> None:
        self._whatif = whatif

    # Keys on a control

    def step(self, control_id: str, step: int, document: Document | None) -> None:
        """Increase or decrease a value, or take the next or previous choice."""
        control = control_of(control_id)
        if control.setting is not None:
            self.put_setting(control.setting, control.setting.step(self.setting_value(control.setting), step))
        elif control.quick is not None and document is None:
            self.say_unreadable()
        elif control.quick is not None and document is not None and control.quick.step is not None:
            self.put(control.quick, document, control.quick.step(document.body or {}, step))

    def reset(self, control_id: str, document: Document | None) -> None:
        """Restore the cluster's value, or remove an edit."""
        control, edits = control_of(control_id), self._whatif.book.sheet.edits
        if control.setting is not None:
            self._whatif.put_edits(self._other_settings(control.setting), f"{control.setting.name} as it was")
        elif control.edit is not None:
            self._whatif.put_edits((*edits[: control.edit], *edits[control.edit + 1 :]), "an edit removed")
        elif control.quick is not None and document is None:
            self.say_unreadable()
        elif control.quick is not None and document is not None:
            self._restore(control.quick, document)

    def say_unreadable(self) -> None:
        line = self._whatif.documents.first_broken_line + 1
        self._whatif.say(f"line {line} is invalid; e edits the text, u undoes", Tone.WARNING)

    # Fields of a document

    def change_text(self, title: str, why: str, change: Callable[[str], str]) -> bool:
        """Change the text, and return whether it changed; report a rejection."""
        try:
            text = change(self._whatif.book.sheet.text)
        except EditRefusedError as error:
            self._whatif.say(f"{title}: {error}" if title else str(error), Tone.WARNING)
            return False
        self._whatif.put_text(text, why)
        return True

    def put(self, quick: QuickEdit, document: Document, value: str) -> None:
        self.change_text(quick.title, quick.title, lambda text: quick.put(text, document.index, value))

    def put_toggles(self, quick: QuickEdit, document: Document, before: Iterable[str], chosen: Iterable[str]) -> None:
        on_now, on_after = set(before), set(chosen)

        def change(text: str) -> str:
            # Values to add come first, so that the last value of a requirement can be exchanged.
            for value in (*sorted(on_after - on_now), *sorted(on_now - on_after)):
                text = quick.put(text, document.index, value)
            return text

        self.change_text(quick.title, quick.title, change)

    def drop(self, quick: QuickEdit, document: Document, value: str) -> None:
        if (drop := quick.drop) is not None:
            self.change_text(quick.title, f"{quick.title} taken away", lambda text: drop(text, document.index, value))

    def _restore(self, quick: QuickEdit, document: Document) -> None:
        """Restore the cluster's value of a field; of a requirement only the changed values."""
        original = self._whatif.book.originals.get(document.ref)
        if original is None:
            self._whatif.say("the cluster has no such object", Tone.MUTED)
            return
        values = KnownValues()

        def change(text: str) -> str:
            if quick.input is not Input.TOGGLES:
                value = value_at(original, quick.path, REMOVE)
                return set_value(text, document.index, quick.path, value, prune=True)
            before = {option.value for option in quick.options(original, values) if option.is_on}
            for option in quick.options(document.body or {}, values):
                if option.is_on != (option.value in before):
                    text = quick.put(text, document.index, option.value)
            return text

        self.change_text(quick.title, f"{quick.title} as it was", change)

    # Settings

    def setting_value(self, setting: SettingEdit) -> str:
        """Return the value of a setting on the current sheet."""
        changed = {edit.name: edit.value for edit in self._whatif.book.sheet.edits if isinstance(edit, SetSetting)}
        return changed.get(setting.name, self._own_value(setting))

    def _own_value(self, setting: SettingEdit) -> str:
        return setting_value(setting, self._whatif.controller.settings)

    def _other_settings(self, setting: SettingEdit) -> tuple[AnyEdit, ...]:
        edits = self._whatif.book.sheet.edits
        return tuple(edit for edit in edits if not (isinstance(edit, SetSetting) and edit.name == setting.name))

    def put_setting(self, setting: SettingEdit, value: str) -> None:
        """Give a setting a value; the cluster's own is no edit."""
        others = self._other_settings(setting)
        try:
            edits = others if value == self._own_value(setting) else (*others, setting.edit(value))
        except EditRefusedError as error:
            self._whatif.say(str(error), Tone.WARNING)
        else:
            self._whatif.put_edits(edits, setting.title)

    # Edits outside the documents

    def act(self, action: QuickAction, ref: ObjectRef, answers: dict[str, str]) -> None:
        whatif, sheet = self._whatif, self._whatif.book.sheet
        try:
            edits = action.make(ref, answers)
        except EditRefusedError as error:
            whatif.say(f"{action.title}: {error}", Tone.WARNING)
            return
        whatif.book.put_edits((*sheet.edits, *(edit for edit in edits if edit not in sheet.edits)), edit_text(edits[0]))
        if action.id == "remove-node" and sheet.replay is Replay.PENDING:
            whatif.book.choose_replay(Replay.REMOVE)
        whatif.changed()

    # What sweeps begin from

    def current_value(self, parameter: str, document: Document | None) -> str:
        """Return the cluster's value of a sweep parameter; empty if unknown."""
        for edit in SETTING_EDITS:
            if edit.name == parameter:
                return self._own_value(edit)
        original = self._whatif.book.originals.get(document.ref) if document is not None else None
        if document is not None and original is not None:
            for quick in quick_edits_for(document.kind):
                if parameter.endswith(f":{path_text(quick.path)}"):
                    return quick.current(original)
        return ""
