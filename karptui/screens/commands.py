"""The commands of the app, for the command line and the palette."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from karptui import __version__
from karptui.errors import RequestError
from karptui.files import write_file
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp, parse_past
from karptui.kube.units import clock_text
from karptui.paths import own_command, typed_path
from karptui.screens.command_line import CommandError, TypedCommand
from karptui.screens.destinations import ToForward, ToStudy, ToText
from karptui.screens.frame import FrameScreen
from karptui.screens.host import Host
from karptui.screens.list_screen import ListScreen
from karptui.screens.registry import ENTRIES, ScreenEntry
from karptui.session.answers import PastMoment
from karptui.views.row import Tone
from karptui.views.sanitize import clean

if TYPE_CHECKING:
    from textual.screen import Screen

    from karptui.kube.timestamps import PastTime


class CommandHost(Host, Protocol):
    """The app, as its commands see it."""

    theme: str

    @property
    def available_themes(self) -> Mapping[str, object]:
        """Themes by name."""

    @property
    def front(self) -> FrameScreen | None:
        """The frontmost screen with a frame."""

    def push_screen(self, screen: Screen[None], /) -> object:
        """Show a screen before the others."""

    def search_themes(self) -> None:
        """Let the theme be picked."""

    def exit(self) -> None:
        """Quit."""

    def export_screenshot(self, *, title: str | None = None) -> str:
        """Return the screen as an SVG picture."""

    def call_after_refresh(self, callback: Callable[[], object], /) -> object:
        """Call a function after the next refresh."""

    def context_names(self) -> Sequence[str]:
        """Return the contexts there are."""

    def show_fleet(self) -> None:
        """Show all clusters; raises CommandError with a message for the user."""

    def switch_context(self, name: str) -> None:
        """Connect to another context; raises CommandError with a message for the user."""


def app_commands(app: CommandHost, *, can_switch: bool) -> tuple[TypedCommand, ...]:
    """Return every command."""
    commands = [_open(app, entry) if entry.name != "types" else _types(app, entry) for entry in ENTRIES]
    if can_switch:
        commands.append(
            TypedCommand("ctx", "Another context", app.switch_context, ("context",), app.context_names, "NAME")
        )
    commands += [
        TypedCommand(
            "theme", "Another theme", lambda name: _theme(app, name), (), lambda: sorted(app.available_themes), "[NAME]"
        ),
        TypedCommand(
            "filter",
            "Filter the rows; empty shows all",
            lambda text: _list(app).filter_entered(text),
            (),
            placeholder="[TEXT]",
        ),
        TypedCommand(
            "sort", "Sort by a column", lambda column: _sort(app, column), (), lambda: _column_ids(app), "COLUMN"
        ),
        TypedCommand(
            "save", "Save the rows to a file, .csv or .txt", lambda path: _save(app, path), ("w",), placeholder="FILE"
        ),
        TypedCommand(
            "screenshot",
            "Save a picture of the screen, .svg",
            lambda path: _screenshot(app, path),
            (),
            placeholder="[FILE]",
        ),
        TypedCommand("wide", "Show all columns, or only those that fit", lambda _: _list(app).action_wide()),
        TypedCommand("faults", "Show blocked and faulty rows only, or all rows", lambda _: _list(app).action_notable()),
        TypedCommand(
            "capacity",
            "Nodes, pods, free resources and cost by zone, NodePool or type; or cost by namespace, owner or label",
            lambda text: _capacity(app, text),
            (),
            lambda: ("namespace", "owner"),
            "[namespace|owner|label=KEY]",
        ),
        TypedCommand(
            "packing",
            "A picture of NodePools, nodes and pods; before and after the current what-if",
            lambda _: _packing(app),
        ),
        TypedCommand(
            "at",
            "Show a past moment: 14:02 (UTC), -20m, 2026-11-28T14:02:00Z; . returns to now",
            app.moments.go_to,
            placeholder="TIME",
        ),
        TypedCommand(
            "card",
            "An incident card: the 30 minutes before the moment on the screens, under pseudonyms, in a new folder",
            lambda folder: _card(app, folder),
            placeholder="[FOLDER]",
        ),
        TypedCommand(
            "changes",
            "What changed since a past moment, and who changed it",
            lambda text: _changes(app, text),
            placeholder="[TIME]",
        ),
        TypedCommand(
            "about", "Versions, the recorded history, and how many predictions came true", lambda _: _about(app)
        ),
        TypedCommand(
            "history",
            "Cost, requests, usage and Karpenter's actions over time, from the recorded history",
            lambda text: _history(app, text),
            placeholder="[TIME]",
        ),
        TypedCommand("churn", "How often nodes are replaced, why, and replacement loops", lambda _: _churn(app)),
        TypedCommand(
            "forward",
            "The next hours: commands, nodes, cost; before and after the current what-if",
            lambda _: app.go(ToForward(tuple(app.front.scenarios_to_play()) if app.front is not None else ())),
        ),
        TypedCommand(
            "headroom",
            "How many more of a pod fit: before a node is needed, before limits stop it",
            lambda text: _headroom(app, text),
            ("room",),
            lambda: _object_words(app, "Deployment", "StatefulSet", "Pod"),
            "[KIND NAMESPACE/NAME]",
        ),
        TypedCommand("drill", "The outcome of losing a zone, a capacity type or a NodePool", lambda _: _drill(app)),
        TypedCommand(
            "policies",
            "Consolidation policies compared, and one recommended",
            lambda text: _policies(app, text),
            (),
            lambda: _names(app, "NodePool"),
            "[POOL]",
        ),
        TypedCommand(
            "pause",
            "How to stop voluntary disruption, or end a pause: what continues, the cost, what the end releases",
            lambda text: _pause(app, text),
            (),
            lambda: ["release", *_names(app, "NodePool")],
            "[release] [POOL] [REASON] [UNTIL]",
        ),
        TypedCommand(
            "rollout",
            "Progress of changes of NodePools and NodeClasses: nodes replaced, time left, blockers",
            lambda text: _rollout(app, text),
            (),
            lambda: [ref.key for ref in app.session.names("NodePool", "NodeClass")],
            "[POOL OR NODECLASS]",
        ),
        TypedCommand(
            "rightsize",
            "Savings if requests were as VerticalPodAutoscalers or the recorded usage recommend",
            lambda _: _rightsize(app),
        ),
        TypedCommand(
            "solve",
            "The change that schedules the pending pods, or the memory overhead that nodes need",
            lambda text: _solve(app, text),
            (),
            _goal_names,
            "[GOAL NAME=VALUE …]",
        ),
        TypedCommand(
            "next", "Karpenter's next command, and which nodes are removable once unblocked", lambda _: _next(app)
        ),
        TypedCommand(
            "whatif",
            "Edit, and see Karpenter's decisions change",
            lambda text: _whatif(app, text),
            ("wi",),
            lambda: _object_words(app, "NodePool", "NodeClass", "DaemonSet"),
            "[KIND NAME]",
        ),
        TypedCommand("fleet", "All clusters of --contexts, or of the kubeconfig", lambda _: app.show_fleet()),
        TypedCommand(
            "do",
            "Change the object under the cursor, the marked objects, or those edited in the what-if; asks first",
            lambda text: _do(app, text),
            placeholder="[ACTION OBJECT …]",
        ),
        TypedCommand("sources", "The state of each data source", lambda _: _sources(app)),
        TypedCommand("help", "Keys, commands, columns and filters", lambda _: _help(app), ("h",)),
        TypedCommand("quit", "Quit", lambda _: app.exit(), ("q", "q!", "exit")),
    ]
    return tuple(commands)


def _open(app: CommandHost, entry: ScreenEntry) -> TypedCommand:
    def run(text: str) -> None:
        app.open_screen(entry.name, filter_text=text or None)

    return TypedCommand(entry.name, entry.help, run, entry.aliases)


def _types(app: CommandHost, entry: ScreenEntry) -> TypedCommand:
    def run(text: str) -> None:
        if text and not app.session.has_object("NodePool", text):
            raise CommandError(f"there is no NodePool {text}; :types and a space lists them")
        app.open_screen(entry.name)
        if text:
            from karptui.screens.types import TypesOfPoolScreen  # noqa: PLC0415 - only when asked for

            app.push_screen(TypesOfPoolScreen(text))

    return TypedCommand(entry.name, entry.help, run, entry.aliases, lambda: _names(app, "NodePool"), "[POOL]")


def _list(app: CommandHost) -> ListScreen[object]:
    if not isinstance(app.front, ListScreen):
        raise CommandError("there is no table here")
    return app.front


def _theme(app: CommandHost, name: str) -> None:
    if not name:
        app.search_themes()
    elif name in app.available_themes:
        app.theme = name
        app.tell(f"theme {name}", Tone.GOOD)
    else:
        raise CommandError(f"there is no theme {name}; :theme and a space lists them")


def _column_ids(app: CommandHost) -> Sequence[str]:
    return [heading.id for heading in app.front.listing.spec.headings()] if isinstance(app.front, ListScreen) else ()


def _sort(app: CommandHost, column: str) -> None:
    screen = _list(app)
    if column not in _column_ids(app):
        raise CommandError(f"there is no column {column or 'without a name'} here; :sort and a space lists them")
    screen.action_sort(column)


def _save(app: CommandHost, path: str) -> None:
    screen = _list(app)
    app.tell(screen.listing.save(path, screen.table.layout_columns), Tone.GOOD)


def _screenshot(app: CommandHost, text: str) -> None:
    """Save a picture of the screen once it is drawn without the prompt; existing files are kept."""
    name = app.front.entry_name if app.front is not None else ""
    stem = f"karptui-{name or 'screen'}-{clock_text(app.now_ns()).replace(':', '')}"
    path = typed_path(text) if text else _free_path(stem)
    if path.suffix != ".svg":
        raise CommandError(f"a screenshot is an SVG picture: :screenshot {clean(text)}.svg")
    app.call_after_refresh(lambda: _write_screenshot(app, path))


def _free_path(stem: str) -> Path:
    """Return the first free path of ``stem.svg``, ``stem-2.svg``, …: the clock of a snapshot is frozen."""
    paths = [typed_path(f"{stem}{number}.svg") for number in ("", *(f"-{number}" for number in range(2, 100)))]
    return next((path for path in paths if not path.exists()), paths[0])


def _write_screenshot(app: CommandHost, path: Path) -> None:
    try:
        write_file(path, app.export_screenshot(title="karptui").encode("utf-8", "replace"))
    except OSError as error:
        app.tell(f"{clean(str(path))} cannot be written: {error.strerror}", Tone.FAULT)
    else:
        app.tell(f"the screen is saved to {clean(str(path))}", Tone.GOOD)


def _sources(app: CommandHost) -> None:
    from karptui.screens.sources import SourcesScreen  # noqa: PLC0415 - only when asked for

    app.push_screen(SourcesScreen())


def _headroom(app: CommandHost, text: str) -> None:
    from karptui.views.headroom import headroom_study  # noqa: PLC0415 - only when asked for

    kind, _, key = text.partition(" ")
    if text and not ("/" in key or (kind == "NodePool" and key)):
        raise CommandError(
            ":headroom takes a kind and a name, such as Deployment web/front; without one it shows all workloads"
        )
    app.go(ToStudy(headroom_study(kind, key.strip())))


def _drill(app: CommandHost) -> None:
    from karptui.views.drill import drill_study  # noqa: PLC0415 - only when asked for

    app.go(ToStudy(drill_study()))


def _policies(app: CommandHost, pool: str) -> None:
    from karptui.views.values import policies_study  # noqa: PLC0415 - only when asked for

    app.go(ToStudy(policies_study(pool)))


def _goal_names() -> Sequence[str]:
    from karptui.screens.study import ON_SCREEN  # noqa: PLC0415 - only when asked for

    return ON_SCREEN


def _solve(app: CommandHost, text: str) -> None:
    from karptui.screens.study import ON_SCREEN  # noqa: PLC0415 - only when asked for
    from karptui.solve.catalogue import GOALS, given_of, with_defaults  # noqa: PLC0415 - as above
    from karptui.views.solve import solve_study  # noqa: PLC0415 - as above

    name, _, rest = text.partition(" ")
    front = app.front
    if not text and front is not None:
        from karptui.screens.study import ask_for_goal  # noqa: PLC0415 - only when asked for
        from karptui.screens.whatif.dialogs import ask_aside  # noqa: PLC0415 - as above

        ask_aside(front, lambda: ask_for_goal(front))
        return
    if name not in ON_SCREEN:
        only = f"{name} is a goal only of the command karptui solve" if name in GOALS else f"unknown goal {clean(name)}"
        raise CommandError(f"{only}; goals here: {', '.join(ON_SCREEN)}")
    try:
        parameters = given_of(rest)
        with_defaults(GOALS[name], parameters)
    except RequestError as error:
        raise CommandError(clean(str(error))) from error
    on_top_of = front.scenario_in_front() if front is not None else None
    app.go(ToStudy(solve_study(name, tuple(parameters.items()), on_top_of)))


def _pause(app: CommandHost, text: str) -> None:
    from karptui.disruption.budgets import Reason  # noqa: PLC0415 - only when asked for
    from karptui.disruption.pauses import PauseRequest, end_of  # noqa: PLC0415 - as above
    from karptui.views.pause import pause_study  # noqa: PLC0415 - as above

    pools, reasons = set(_names(app, "NodePool")), {reason.lower(): reason for reason in Reason}
    words = text.split()
    rest = [word for word in words if word not in pools and word.lower() not in (*reasons, "release", "until")]
    for word in rest:
        try:
            end_of(word, app.now_ns())
        except ValueError as error:
            raise CommandError(f"there is no NodePool {clean(word)}, and {clean(str(error))}") from None
    if len(rest) > 1:
        raise CommandError(f"a pause has one end, not {clean(' and '.join(rest))}")
    request = PauseRequest(
        tuple(word for word in words if word in pools),
        tuple(reasons[word.lower()] for word in words if word.lower() in reasons and word not in pools),
        "".join(rest),
        is_release="release" in words,
    )
    app.go(ToStudy(pause_study(request)))


def _rollout(app: CommandHost, name: str) -> None:
    from karptui.views.rollout import rollout_study  # noqa: PLC0415 - only when asked for

    is_pool = name in _names(app, "NodePool")
    app.go(ToStudy(rollout_study((name,) if is_pool else (), (name,) if name and not is_pool else ())))


def _rightsize(app: CommandHost) -> None:
    from karptui.views.rightsize import rightsize_study  # noqa: PLC0415 - only when asked for

    history = app.moments.history()
    app.go(ToStudy(rightsize_study(history if isinstance(history, Path) else None)))


def _next(app: CommandHost) -> None:
    from karptui.screens.blockers import NextScreen  # noqa: PLC0415 - only when asked for

    app.push_screen(NextScreen())


def _capacity(app: CommandHost, text: str) -> None:
    from karptui.screens.capacity import CapacityScreen, DollarsScreen  # noqa: PLC0415 - only when asked for
    from karptui.session.dollars import BY_LABEL, GROUPINGS  # noqa: PLC0415 - as above

    is_label = text.startswith(BY_LABEL) and text != BY_LABEL
    if text and not (is_label or text in GROUPINGS):
        raise CommandError(f":capacity takes namespace, owner or label=KEY, not {clean(text)}")
    if text and app.config.disable_pricing:
        raise CommandError("prices are off (--disable-pricing): there are no dollars to divide")
    app.push_screen(DollarsScreen(text) if text else CapacityScreen())


def _packing(app: CommandHost) -> None:
    from karptui.screens.capacity import PackingScreen  # noqa: PLC0415 - only when asked for

    front = app.front
    app.push_screen(PackingScreen(front.scenario_in_front() if front is not None else None))


def _churn(app: CommandHost) -> None:
    from karptui.screens.churn import ChurnScreen  # noqa: PLC0415 - only when asked for

    app.push_screen(ChurnScreen())


_CARDS: Final[set[asyncio.Task[None]]] = set()
"""Cards that are being written; a task without a reference may be collected."""


def _card(app: CommandHost, folder: str) -> None:
    """Have another process write an incident card, as it draws screens of its own."""
    history = app.moments.history()
    if isinstance(history, str):
        raise CommandError(history)
    words = own_command("card", *([str(typed_path(folder))] if folder else []))
    if isinstance(shown := app.moments.shown, PastMoment):
        words += ["--at", format_timestamp(-(-shown.at_ns // NS_PER_SECOND) * NS_PER_SECOND)]
    app.tell("the incident card is being written: this takes some seconds")

    async def write() -> None:
        ran = partial(
            subprocess.run,
            [*words, "--snapshot", str(history)],
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
        try:
            process = await asyncio.to_thread(ran)
        except OSError as error:
            app.tell(f"the incident card cannot be written: {error.strerror}", Tone.FAULT)
            return
        text = process.stderr.strip().rpartition("\n")[2].removeprefix("karptui card: ")
        app.tell(f"incident card: {clean(text)}", Tone.FAULT if process.returncode > 1 else Tone.GOOD)

    task = asyncio.get_running_loop().create_task(write())
    _CARDS.add(task)
    task.add_done_callback(_CARDS.discard)


def _changes(app: CommandHost, text: str) -> None:
    from karptui.screens.changes import SINCE, ChangesScreen  # noqa: PLC0415 - only when asked for

    app.push_screen(ChangesScreen(_past(text or SINCE)))


def _history(app: CommandHost, text: str) -> None:
    from karptui.screens.history import SINCE, HistoryScreen  # noqa: PLC0415 - only when asked for

    app.push_screen(HistoryScreen(_past(text or SINCE)))


def _about(app: CommandHost) -> None:
    async def fetch() -> str:
        from karptui.screens.history import from_history  # noqa: PLC0415 - as above
        from karptui.session.history_report import recorded  # noqa: PLC0415 - as above
        from karptui.views.history import about_lines  # noqa: PLC0415 - as above

        history = await from_history(app, lambda path, _: recorded(path))
        return "\n".join(about_lines(__version__, app.session.controller(), history))

    app.go(ToText("About", fetch))


def _past(text: str) -> PastTime:
    try:
        return parse_past(text)
    except ValueError as error:
        raise CommandError(clean(str(error))) from None


def _help(app: CommandHost) -> None:
    if app.front is not None:
        app.front.action_help()


def _whatif(app: CommandHost, text: str) -> None:
    from karptui.whatif.scenario import NOTHING  # noqa: PLC0415 - only when asked for

    kind, _, key = text.partition(" ")
    if text and not key:
        raise CommandError(
            ":whatif takes a kind and a name, such as NodePool general; without one it reopens the last what-if"
        )
    app.open_whatif(app.session.opening(((kind, key.strip()),)) if text else NOTHING)


def _do(app: CommandHost, text: str) -> None:
    from karptui.actions.action import typed  # noqa: PLC0415 - only when asked for
    from karptui.screens.actions import ActionScreen, act_on_front, operations_here  # noqa: PLC0415 - as above

    actions = app.open_actions()
    try:
        if text:
            rows = operations_here(app.front) if app.front is not None else None
            app.push_screen(ActionScreen(actions, typed(text, rows)))
        elif app.front is not None:
            app.front.run_worker(act_on_front(app.front, actions), exclusive=True, group="actions")
    except RequestError:
        actions.close()
        raise


def _object_words(app: CommandHost, *kinds: str) -> Sequence[str]:
    return [f"{ref.kind} {ref.key}" for ref in app.session.names(*kinds)]


def _names(app: CommandHost, kind: str) -> Sequence[str]:
    return [name.key for name in app.session.names(kind)]
