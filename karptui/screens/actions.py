"""Actions: previewed on the server and by a forecast, confirmed in two steps, and watched."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import work
from textual.binding import Binding, BindingType

from karptui.actions.action import API_KINDS, Action, ActionError, Operation, action_on, applied, operations_for
from karptui.actions.audit_record import Result
from karptui.errors import RequestError
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import first_of
from karptui.screens.dialogs import Choice, LineScreen, pick
from karptui.screens.frame import FrameScreen
from karptui.screens.text import TextScreen
from karptui.sources.source import SourceError
from karptui.views.actions import comparison_lines, expected_lines, outcome_lines, preview_lines, title
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.whatif import edits
from karptui.whatif.edits.objects import read_document

if TYPE_CHECKING:
    from karptui.session.actions import Actions, Preview
    from karptui.whatif.scenario import Scenario

HORIZON_NS: Final = 900 * NS_PER_SECOND
WATCH_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.5
_FEW: Final = 3
_MOST_NAMED: Final = 10
"""Removals that a confirmation names."""
_PROTECTION: Final = ("metadata", "annotations", DO_NOT_DISRUPT)


async def act_on_front(screen: FrameScreen, actions: Actions) -> None:
    """Let an operation be picked for the marked objects, or the one under the cursor, and preview it."""
    chosen: tuple[Action, ...] = ()
    try:
        scenario = screen.scenario_in_front()
        if scenario is None and screen.current_object() is None:
            # On Remedies, the one under the cursor.
            scenario = next(iter(screen.scenarios_to_play()), None)
        if scenario is not None:
            chosen = tuple(edits_as_actions(scenario))
        else:
            chosen = await _picked(screen)
    except RequestError as error:
        screen.say(str(error), Tone.WARNING)
    if chosen:
        screen.app.push_screen(ActionScreen(actions, chosen))
    else:
        actions.close()


def operations_here(screen: FrameScreen) -> dict[Operation, list[tuple[str, str]]]:
    """Return the operations that suit the marked rows, or the one under the cursor, each with its objects."""
    current = screen.current_object()
    objects = screen.marked_objects() or ([current] if current is not None else [])
    choices = dict.fromkeys(operations_for([kind for kind, _ in objects]), objects)
    claims = [claim for kind, key in objects if (claim := _claim_of(screen, kind, key))]
    if len(claims) == len(objects) and claims:
        choices[Operation.DELETE] = [("NodeClaim", claim) for claim in claims]
    return choices


async def _picked(screen: FrameScreen) -> tuple[Action, ...]:
    choices = operations_here(screen)
    if not choices:
        raise ActionError("no action applies to the rows here; :do ACTION OBJECT names any, such as :do cordon NAME")
    lines = [
        Choice(str(operation), str(operation), first_of([" ".join(ref) for ref in on], _FEW))
        for operation, on in choices.items()
    ]
    chosen = await pick(screen.app, "Actions", lines)
    if chosen is None:
        return ()
    operation = Operation(chosen)
    return tuple(action_on(operation, kind, key) for kind, key in choices[operation])


def _claim_of(screen: FrameScreen, kind: str, key: str) -> str:
    """Return the name of the NodeClaim of a node; empty for anything else."""
    if kind not in ("Node", "NodeClaim"):
        return ""
    session = screen.host.session
    entry = session.node(session.node_key(kind, key)).entry
    return entry.claim.name if entry is not None and entry.claim is not None else ""


def edits_as_actions(scenario: Scenario) -> Iterator[Action]:
    """Yield the actions that carry out the edits of a what-if or a remedy.

    Raises:
        RequestError: an edit cannot be carried out.
    """
    for edit in scenario.edits:
        match edit:
            case edits.PutObject():
                yield applied(read_document(edit.text))
            case edits.CordonNode():
                yield action_on(Operation.CORDON, "Node", edit.name)
            case edits.ScaleWorkload():
                yield action_on(Operation.SCALE, edit.object.kind, edit.object.key, replicas=edit.replicas)
            case edits.SetField() if edit.path == _PROTECTION:
                is_set = edit.value is not None
                operation = Operation.DO_NOT_DISRUPT if is_set else Operation.REMOVE_DO_NOT_DISRUPT
                yield action_on(operation, edit.object.kind, edit.object.key, value=str(edit.value))
            case edits.SetField() if edit.value is not None and all(isinstance(step, str) for step in edit.path):
                value: Any = edit.value
                for step in reversed(edit.path):
                    value = {step: value}
                yield applied(_headed(edit.object.kind, edit.object.name, value))
            case _:
                raise ActionError("an edit is not a supported action; karptui do --help lists the actions")


def _headed(kind: str, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    api_kind = API_KINDS.get(kind)
    api_version = f"{api_kind.group}/{api_kind.version}" if api_kind is not None else ""
    return {"apiVersion": api_version, "kind": kind, **fields, "metadata": {"name": name}}


class ActionScreen(TextScreen):
    """One confirmation: requests, diffs, the forecast, and finally the outcome."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go_on", "Carry out", id="actions.go-on", tooltip="Asks for a reason, then carries it out")
    ]

    def __init__(self, actions: Actions, chosen: Sequence[Action]) -> None:
        super().__init__("Actions", self._look, "sh")
        self._actions = actions
        self._wanted = tuple(chosen)
        self._ready: tuple[Preview, ...] = ()
        self._undo: tuple[Action, ...] = ()
        self._expected: Any = None
        self._lines: list[str] = []
        self._stage: Pieces = (("dry run on the server…", Tone.ACTIVE),)

    def explain(self) -> Pieces:
        return self._stage

    def on_unmount(self) -> None:
        self.host.session.studies.cancel()
        self._actions.close()

    async def _look(self) -> str:
        """Return the previews; the forecast follows."""
        try:
            previews = await asyncio.to_thread(self._actions.previews, self._wanted)
        except SourceError as error:
            self._say(str(error), Tone.FAULT)
            return str(error)
        self._lines = [line for preview in previews for line in preview_lines(preview)]
        if any(preview.problem or preview.missing for preview in previews):
            self._say("nothing can be carried out: the server would reject a part of it", Tone.FAULT)
        elif not any(preview.is_ready for preview in previews):
            self._say("nothing to carry out", Tone.MUTED)
        else:
            self._forecast(tuple(preview for preview in previews if preview.is_ready))
        return "\n".join(self._lines)

    @work(exclusive=True, group="forecast")
    async def _forecast(self, ready: tuple[Preview, ...]) -> None:
        """Add the forecast; only then it can be confirmed."""
        self._say("forecasting…", Tone.ACTIVE)
        host = self.host
        changes = [(preview.action, preview.after) for preview in ready]
        answer = await asyncio.to_thread(host.session.studies.expected, changes, HORIZON_NS, host.now_ns())
        self._expected = answer.value
        if answer.value is not None:
            self._add("expected, by karptui's simulation", *expected_lines(answer.value))
        else:
            self._add(f"no forecast: {answer.problem or 'the forecast was cancelled'}")
        self._ready = ready
        self._say("enter asks for a reason and carries it out · esc cancels", Tone.STRONG)

    def action_go_on(self) -> None:
        """Ask for a name and a reason, and carry it out; afterwards preview the undo."""
        if self._undo:
            self._actions, actions = self.host.open_actions(), self._actions
            actions.close()
            self._wanted, self._undo, self._ready = self._undo, (), ()
            self._load()
        elif self._ready:
            self._carry_out()

    @work(exclusive=True, group="actions")
    async def _carry_out(self) -> None:
        ready = self._ready
        if removals := [preview.action for preview in ready if preview.removes]:
            word = removals[0].target.name + (f" and {len(removals) - 1} more" if len(removals) > 1 else "")
            hint = f"this will {first_of([title(removal) for removal in removals], _MOST_NAMED, ' · ')}"
            typed = LineScreen(
                f"Type {word} to confirm", hint=hint, check=lambda text: "" if text == word else f"type {word}: {hint}"
            )
            if await self.app.push_screen_wait(typed) is None:
                return
        reason = await self.app.push_screen_wait(
            LineScreen("Reason, for the audit file", check=lambda text: "" if text.strip() else "a reason is needed")
        )
        if reason is None:
            return
        self._ready = ()
        self._say("carrying it out…", Tone.ACTIVE)
        outcomes = await asyncio.to_thread(lambda: list(self._actions.carry_out(ready, reason.strip())))
        for preview, outcome in outcomes:
            self._add(*outcome_lines(preview, outcome), is_end=True)
        done = [preview for preview, outcome in outcomes if outcome.result is Result.DONE]
        if len(outcomes) < len(ready):
            self._add(f"stopped there: {len(ready) - len(outcomes)} of {len(ready)} were not tried", is_end=True)
        if done:
            await self._watch(done)
        undo = tuple(preview.undo for preview in reversed(done) if preview.undo is not None)
        self._undo = undo
        self._say("enter previews the undo · esc closes" if undo else "esc leaves", Tone.STRONG)

    async def _watch(self, done: Sequence[Preview]) -> None:
        """Wait until the watch shows the changes, and add the prediction next to the outcome."""
        host, loop = self.host, asyncio.get_running_loop()
        began, lasts = loop.time(), any(preview.removes for preview in done)
        while True:
            shown = sum(map(host.shows, done))
            passed = loop.time() - began
            self._say(f"watching the outcome: {shown} of {len(done)} shown after {passed:.0f} s…", Tone.ACTIVE)
            if passed > WATCH_SECONDS or (shown == len(done) and not lasts):
                break
            await asyncio.sleep(_LOOK_SECONDS)
        seen = await asyncio.to_thread(host.session.studies.moment, host.now_ns())
        if seen.value is not None:
            then = self._expected.plan.edited.moment_at(host.now_ns()) if self._expected is not None else None
            self._add(*comparison_lines(then, seen.value, passed, shown, len(done)), is_end=True)

    def _add(self, *lines: str, is_end: bool = False) -> None:
        self._lines += lines
        self.area.load_text("\n".join(clean(line, limit=2_500) for line in self._lines))
        if is_end:
            self.area.scroll_end(animate=False)

    def _say(self, text: str, tone: Tone) -> None:
        self._stage = ((text, tone),)
        if self.is_mounted:
            self.refresh_info()
