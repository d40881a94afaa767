"""Dialogs before an edit: values of quick edits, and additions to a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from textual.app import App

from karptui.decode.kinds import WORKLOAD_KINDS, Kind
from karptui.screens.dialogs import ChecklistScreen, Choice, LineScreen, pick
from karptui.screens.frame import FrameScreen
from karptui.screens.whatif.controller import WhatIf
from karptui.screens.whatif.dialogs import needed
from karptui.screens.whatif.panes import EditorPane
from karptui.screens.whatif.quick_edits import QuickEdits, control_of
from karptui.sources.source import SourceError
from karptui.views.row import Tone
from karptui.whatif.edits import ObjectRef
from karptui.whatif.field_path import POOL_REQUIREMENTS, value_at
from karptui.whatif.quick_edits.actions import QUICK_ACTIONS, SETTING_EDITS, QuickAction, SettingEdit
from karptui.whatif.quick_edits.fields import Input, QuickEdit
from karptui.whatif.quick_edits.new_documents import add_daemonset, own_pool, split_pool
from karptui.whatif.quick_edits.requirements import types_left, values_left
from karptui.whatif.schema.offers import KnownValues
from karptui.whatif.yaml.tree import Document

OPENABLE: Final = tuple(
    str(kind) for kind in (Kind.NODEPOOL, Kind.NODECLASS, Kind.NODEOVERLAY, Kind.DAEMONSET, Kind.PDB, *WORKLOAD_KINDS)
)
"""Kinds whose objects can be a document."""
SPLIT_KEYS: Final = (
    ("karpenter.k8s.aws/instance-family", "instance families"),
    ("karpenter.k8s.aws/instance-category", "instance categories"),
    ("karpenter.sh/capacity-type", "capacity types"),
    ("topology.kubernetes.io/zone", "zones"),
    ("kubernetes.io/arch", "architectures"),
)
ADD: Final = "+ add"


class EditDialogs:
    """Asks questions over the what-if, and makes the edits."""

    def __init__(self, screen: FrameScreen, whatif: WhatIf, quick: QuickEdits, pane: EditorPane) -> None:
        self._screen = screen
        self._whatif = whatif
        self._quick = quick
        self._pane = pane

    @property
    def _app(self) -> App[None]:
        return self._screen.app

    # A control

    async def choose(self, control_id: str) -> None:
        control, document = control_of(control_id), self._pane.document
        if control.setting is not None:
            await self._setting(control.setting)
        elif control.quick is None:
            self._whatif.say("⌫ removes the edit", Tone.MUTED)
        elif document is None:
            self._quick.say_unreadable()
        else:
            await self._value(control.quick, document)

    async def _value(self, quick: QuickEdit, document: Document) -> None:
        body = document.body or {}
        current = quick.current(body)
        match quick.input:
            case Input.CHOICE:
                options = quick.options(body, KnownValues())
                chosen = await pick(
                    self._app, quick.title, [Choice(o.value, o.value, o.detail) for o in options], current
                )
                if chosen is not None:
                    self._quick.put(quick, document, chosen)
            case Input.TOGGLES:
                await self._toggles(quick, document)
            case Input.ITEMS:
                await self._items(quick, document)
            case _:
                title = f"{quick.title} of {document.kind} {document.name}"
                hint = f"{quick.hint}; empty removes it"
                dialog = LineScreen(title, value=current, hint=hint, check=quick.fault)
                answer = await self._app.push_screen_wait(dialog)
                if answer is not None:
                    self._quick.put(quick, document, answer.strip())

    async def _toggles(self, quick: QuickEdit, document: Document) -> None:
        options = quick.options(document.body or {}, await self._whatif.names())
        before = {option.value for option in options if option.is_on}
        choices = [Choice(option.value, option.value, option.detail) for option in options]
        dialog = ChecklistScreen(f"{quick.title} of {document.name}", choices, before)
        chosen = await self._app.push_screen_wait(dialog)
        if chosen is not None:
            self._quick.put_toggles(quick, document, before, chosen)
            self._warn_of_nothing_left(quick)

    def _warn_of_nothing_left(self, quick: QuickEdit) -> None:
        """Warn if no instance type meets the document's requirements any more."""
        document = self._pane.document
        requirements = value_at(document.body, quick.path, []) if document is not None and document.body else []
        if types_left(requirements, self._whatif.documents.known_values.types) == 0:
            self._whatif.say(
                f"no instance type is left for {quick.title}: nothing meets all requirements", Tone.WARNING
            )

    async def _items(self, quick: QuickEdit, document: Document) -> None:
        options = quick.options(document.body or {}, await self._whatif.names())
        choices = [Choice(o.value, o.value, o.detail or "enter removes it") for o in options if o.is_on]
        chosen: str | None = ADD
        if choices:
            chosen = await pick(self._app, quick.title, [*choices, Choice(ADD, ADD, quick.hint)])
        if chosen == ADD:
            dialog = LineScreen(f"{quick.title}: one more", hint=quick.hint, check=quick.fault)
            answer = await self._app.push_screen_wait(dialog)
            if answer:
                self._quick.put(quick, document, answer.strip())
        elif chosen is not None:
            self._quick.drop(quick, document, chosen)

    async def _setting(self, setting: SettingEdit) -> None:
        current = self._quick.setting_value(setting)
        if setting.choices:
            answer = await pick(self._app, setting.name, [Choice(c, c) for c in setting.choices], current)
        else:
            dialog = LineScreen(setting.name, value=current, hint=setting.hint, check=setting.fault)
            answer = await self._app.push_screen_wait(dialog)
        if answer is not None:
            self._quick.put_setting(setting, answer.strip())

    # Adding

    async def add(self) -> None:
        document = self._pane.document
        chosen = await pick(self._app, "Add to the scenario", list(_offers(document)))
        if chosen is None:
            return
        sort, _, name = chosen.partition("/")
        match sort:
            case "open":
                await self._open_object()
            case "setting":
                await self._choose_setting()
            case "split" if document is not None:
                await self._split(document)
            case "own" if document is not None:
                await self._own_pool(document)
            case "daemonset":
                await self._daemonset()
            case _:
                await self._act(next(action for action in QUICK_ACTIONS if action.id == name), document)

    async def _open_object(self) -> None:
        chosen = await self._pick_object("Which document", OPENABLE)
        if chosen is not None and await self._have_document(chosen):
            self._show_document(chosen)

    async def _have_document(self, ref: ObjectRef) -> bool:
        """Add an object's document unless it is there already; return whether it is there then."""
        try:
            await self._whatif.add_document(ref)
        except SourceError as error:
            self._whatif.say(str(error), Tone.WARNING)
            return False
        return True

    def _show_document(self, ref: ObjectRef) -> None:
        self._pane.show_document(self._whatif.documents.parsed.find(ref))

    async def _pick_object(self, title: str, kinds: Iterable[str]) -> ObjectRef | None:
        refs = self._refs_of_kinds(kinds)
        if not refs:
            self._whatif.say(f"{title}: the cluster has none", Tone.MUTED)
            return None
        chosen = await pick(self._app, title, [Choice(str(at), f"{ref.kind} {ref.key}") for at, ref in enumerate(refs)])
        return refs[int(chosen)] if chosen is not None else None

    def _refs_of_kinds(self, kinds: Iterable[str]) -> Sequence[ObjectRef]:
        return self._whatif.session.names(*kinds)

    async def _split(self, document: Document) -> None:
        """Ask for the requirements of the preferred pool, and write both pools."""
        key = await pick(self._app, "Prefer some values of", [Choice(key, title, key) for key, title in SPLIT_KEYS])
        if key is None:
            return
        names = await self._whatif.names()
        requirements = value_at(document.body or {}, POOL_REQUIREMENTS, [])
        left = values_left(requirements, key, names.types)
        values = [value for value in names.labels.get(key, ()) if left is None or value in left]
        dialog = ChecklistScreen("Requirements of the preferred pool", [Choice(value, value) for value in values], ())
        chosen = await self._app.push_screen_wait(dialog)
        name = chosen and await self._ask_name("Name of the preferred pool", f"{document.name}-preferred")
        if name:
            moved_values = tuple(sorted(chosen or ()))
            self._write(
                lambda text: split_pool(text, document.index, name=name, key=key, values=moved_values),
                f"{document.name} split",
                ObjectRef("NodePool", name),
            )

    async def _own_pool(self, document: Document) -> None:
        """Ask which pool is copied for a workload, and write pool, toleration and selector."""
        pools = self._refs_of_kinds([str(Kind.NODEPOOL)])
        pool = await pick(self._app, "Copy which NodePool", [Choice(ref.name, ref.name) for ref in pools])
        name = pool and await self._ask_name("Name of the new pool", document.name)
        if pool and name and await self._have_document(ObjectRef("NodePool", pool)):
            self._write(
                lambda text: own_pool(text, ObjectRef("NodePool", pool), document.ref, name=name),
                f"own pool for {document.name}",
                ObjectRef("NodePool", name),
            )

    async def _daemonset(self) -> None:
        name = await self._ask_name("Name of the DaemonSet", "agent")
        if name:
            ref = ObjectRef("DaemonSet", name)
            self._write(lambda text: add_daemonset(text, name), f"DaemonSet {name}", ref)

    async def _ask_name(self, title: str, value: str) -> str:
        answer = await self._app.push_screen_wait(LineScreen(title, value=value, check=needed))
        return answer.strip() if answer is not None else ""

    def _write(self, change: Callable[[str], str], why: str, ref: ObjectRef) -> None:
        if self._quick.change_text("", why, change):
            self._show_document(ref)

    async def _choose_setting(self) -> None:
        choices = [Choice(edit.name, edit.name, edit.hint) for edit in SETTING_EDITS]
        chosen = await pick(self._app, "Which setting of Karpenter", choices)
        setting = next((edit for edit in SETTING_EDITS if edit.name == chosen), None)
        if setting is not None:
            await self._setting(setting)

    async def _act(self, action: QuickAction, document: Document | None) -> None:
        ref = ObjectRef("", "")
        if action.kinds:
            originals = self._whatif.book.originals
            if document is not None and document.kind in action.kinds and document.ref in originals:
                ref = document.ref
            else:
                picked = await self._pick_object(action.title, sorted(action.kinds))
                if picked is None:
                    return
                ref = picked
        answers: dict[str, str] = {}
        for name, title in action.asks:
            answer = await self._app.push_screen_wait(LineScreen(f"{action.title}: {title}", hint=ref.key))
            if answer is None:
                return
            answers[name] = answer
        self._quick.act(action, ref, answers)


def _offers(document: Document | None) -> Iterator[Choice]:
    if document is not None and document.kind == "NodePool":
        yield Choice(
            "split/", f"split {document.name}", "a preferred pool and itself as fallback, with the same taints"
        )
    if document is not None and document.kind in ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"):
        yield Choice("own/", f"own pool for {document.name}", "a NodePool with a taint that only its pods tolerate")
    yield Choice("open/", "open a document", "a NodePool, NodeClass, workload, PodDisruptionBudget, …")
    yield Choice("setting/", "a setting of Karpenter", "VM overhead, reserved ENIs, policies, feature gates")
    yield Choice("daemonset/", "a DaemonSet", "the cost of one more on every new node")
    yield from (Choice(f"action/{action.id}", action.title) for action in QUICK_ACTIONS)
