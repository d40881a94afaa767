"""`karptui` without a command: the app, and the terminal that it needs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from karptui.cli.evidence import evidence_source
from karptui.cli.option_values import file_name
from karptui.cli.options import (
    add_allow_actions_flag,
    add_cluster_flags,
    add_column_flags,
    add_contexts_flag,
    add_namespace_flags,
    add_price_flags,
    price_flags,
)
from karptui.cli.source import connect, history_tap, open_source
from karptui.cli.streams import UsageError
from karptui.errors import RequestError, no_such

if TYPE_CHECKING:
    from karptui.app import KarptuiApp
    from karptui.clock import Clock
    from karptui.config import Config
    from karptui.session.actions import Actions
    from karptui.session.fleet import Fleet
    from karptui.sources.source import Source


TERMINAL: Final = "/dev/tty"
STDIN: Final = 0
NO_TERMINAL: Final = "the app needs a terminal; in scripts and pipes use a command, such as karptui nodes"


def check_screen() -> None:
    """Refuse to start if standard error is not a terminal: the app draws there."""
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        raise UsageError(NO_TERMINAL)


def take_keys(path: str = TERMINAL, *, descriptor: int = STDIN) -> None:
    """Have keys come from the terminal where standard input is a pipe or a file, which by now has been read.

    Raises:
        UsageError: when there is no terminal.
    """
    if os.isatty(descriptor):
        return
    try:
        terminal = os.open(path, os.O_RDWR)
    except OSError:
        raise UsageError(NO_TERMINAL) from None
    os.dup2(terminal, descriptor)
    os.close(terminal)


_SETTINGS = ("screen", "theme", "node_selector", "extra_labels", "node_sort", "wide", "namespace", "resources")
"""Flags of settings with the same name."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_cluster_flags(parser, files="")
    group = parser.add_argument_group("what is shown")
    group.add_argument(
        "--screen",
        metavar="NAME",
        help="first screen (default: nodes): pools, claims, pods, pending, blockers, budgets, types, events, advice",
    )
    group.add_argument(
        "--theme",
        metavar="NAME",
        help="theme, as :theme lists them (default: textual-dark, of 16 colours ansi-dark)",
    )
    group.add_argument("-l", "--node-selector", metavar="K=V", help="show nodes with these labels")
    add_column_flags(group)
    add_namespace_flags(group, "begin with the pods of this namespace; esc shows all")
    group.add_argument(
        "--node-sort",
        metavar="COLUMN=asc|dsc",
        help="order of the nodes, such as age=dsc (default: the last one used, at first held=dsc)",
    )
    group.add_argument("--wide", action="store_true", default=None, help="start with every column")
    add_price_flags(parser)
    group.add_argument(
        "--tour",
        choices=("a", "b", "c", "d", "e"),
        help="show a story of the demo step by step; --demo=a is the same",
    )
    group.add_argument(
        "--large",
        action="store_true",
        help="a demo sixteen times as large, loaded page by page; --demo=large is the same",
    )
    group.add_argument("--still", action="store_true", help="the demo, frozen at its start; --demo=still is the same")
    group.add_argument(
        "--serve",
        metavar="[HOST:]PORT",
        nargs="?",
        const="8000",
        help="serve the app to a browser on this machine, at an address with a random token (default port: 8000); "
        "HOST allows others; needs the extra serve",
    )
    add_contexts_flag(group, "begin with all clusters of these contexts, one row each; enter opens one")
    add_allow_actions_flag(group)
    group.add_argument("--config", metavar="FILE", type=file_name, help="configuration file instead of the usual one")


def run(args: argparse.Namespace) -> int:
    """Open the app and return when it is closed."""
    from karptui.files import forbid_files
    from karptui.first_frame import FirstFrame
    from karptui.session.throttle import garbage_put_off, keep_pauses_short

    if args.serve is not None:
        return _serve(args)
    is_served = bool(os.environ.get("TEXTUAL_DRIVER"))
    if is_served:
        forbid_files()
    try:
        if not is_served:
            check_screen()
    except UsageError as error:
        # Invalid flags are reported first, because they are invalid with a terminal too.
        raise UsageError(_trouble_with_settings(args) or str(error)) from None
    frame = FirstFrame()
    frame.draw(_title(args), "reading" if args.demo or args.snapshot or args.at is not None else "connecting")
    try:
        with garbage_put_off():
            app = app_of(args)
        if not is_served:
            take_keys()
        frame.hand_over()
    finally:
        frame.wipe()
    keep_pauses_short()
    app.run()
    return app.return_code or 0


def _serve(args: argparse.Namespace) -> int:
    """Serve the app to browsers, each with its own app, until interrupted."""
    host, _, port = args.serve.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise UsageError(f"--serve: {args.serve} is not a port or HOST:PORT, such as 8000 or localhost:8000")
    if trouble := _trouble_with_settings(args):
        raise UsageError(trouble)
    try:
        from karptui.cli.serve import serve
    except ImportError:
        raise UsageError("--serve needs textual-serve: install karptui with the extra serve") from None
    try:
        serve(without_serve(sys.argv[1:]), host.strip("[]"), int(port))
    except OSError as error:
        raise UsageError(f"--serve: {args.serve} cannot be served on: {error.strerror or error}") from None
    return 0


def without_serve(words: Sequence[str]) -> list[str]:
    """Return the command line without ``--serve`` and its value, for each browser."""
    kept: list[str] = []
    is_value = False
    for word in words:
        was_flag, is_value = is_value, False
        if word == "--serve":
            is_value = True
        elif word.startswith("--serve=") or (was_flag and not word.startswith("-")):
            continue
        else:
            kept.append(word)
    return kept


def _title(args: argparse.Namespace) -> str:
    return (
        "fleet"
        if args.contexts is not None
        else "demo"
        if args.demo
        else " ".join(args.snapshot or ()) or args.context or "karptui"
    )


def _trouble_with_settings(args: argparse.Namespace) -> str:
    try:
        _settings(args)
    except RequestError as error:
        return str(error)
    return ""


def _settings(args: argparse.Namespace) -> Config:
    """Return the settings.

    Raises:
        RequestError: naming the file, variable or flag, and the setting that cannot be used.
    """
    from karptui.config import load_config
    from karptui.paths import config_file

    if args.config and not Path(args.config).exists():
        raise UsageError(f"{args.config}: no such configuration file")
    flags = {name: getattr(args, name) for name in _SETTINGS} | price_flags(args)
    if args.all_namespaces:
        flags["namespace"] = ""
    config = _as_ordered_last(load_config(Path(args.config) if args.config else config_file(), os.environ, flags))
    _check_resources(config.resources)
    _check_nodes(config)
    from karptui.screens.registry import ENTRIES

    names = [entry.name for entry in ENTRIES]
    if config.screen not in names:
        raise UsageError(f"screen: {no_such('screen', config.screen, names)}")
    if not config.theme:
        return as_the_terminal_shows(config)
    _check_theme(config.theme)
    return config


def as_the_terminal_shows(config: Config) -> Config:
    """Return the settings with the 16-colour theme if the terminal has no more colours, by Textual's rules."""
    import os

    from msgspec.structs import replace
    from rich.console import Console
    from textual import constants

    from karptui.widgets.themes import SIXTEEN_COLOURS

    colours: Any = constants.COLOR_SYSTEM
    is_known = colours != "auto" or bool(os.environ.get("TERM"))
    has_few = is_known and Console(color_system=colours, force_terminal=True).color_system == "standard"
    return replace(config, theme=SIXTEEN_COLOURS) if has_few else config


def _as_ordered_last(config: Config) -> Config:
    """Return the settings with the last order of Nodes, unless a flag, variable or file sets one."""
    from msgspec.structs import replace

    from karptui.remembered import remembered

    chosen = remembered("node_sort")
    if not chosen or config.node_sort:
        return config
    ordered = replace(config, node_sort=chosen)
    try:
        _check_nodes(ordered)
    except RequestError:
        # A column that is not there any more, such as one of a label.
        return config
    return ordered


def _source(args: argparse.Namespace) -> tuple[Source | None, Clock]:
    """Return the source that is followed first, none if all clusters are shown first, and its clock."""
    if args.contexts is None:
        return open_source(args, is_still=args.still or bool(args.tour), is_large=args.large)
    from karptui.cli.contexts import contexts_of
    from karptui.clock import SystemClock

    contexts_of(args)
    return None, SystemClock()


def app_of(args: argparse.Namespace) -> KarptuiApp:
    """Return the app, ready to run; raises RequestError for invalid flags."""
    if args.tour and not args.demo:
        raise UsageError("--tour leads through the demo: karptui --demo --tour a, or --demo=a")
    if args.still and not args.demo:
        raise UsageError("--still keeps the demo from moving: karptui --demo --still, or --demo=still")
    if args.large and (args.still or args.tour or not args.demo):
        raise UsageError("--large needs --demo: karptui --demo --large, or --demo=large")
    config = _settings(args)
    source, clock = _source(args)
    is_live = not args.demo and not args.snapshot and args.at is None

    from karptui.app import KarptuiApp
    from karptui.views.tour import STORIES, Tour

    return KarptuiApp(
        source,
        config=config,
        clock=clock,
        evidence_of=lambda source: evidence_source(source, config, args.karpenter_version or ""),
        tap_of=lambda source: history_tap(source, config, clock),
        connect=(lambda name: connect(args, name)) if is_live else None,
        contexts=(lambda: _contexts(args)) if is_live else None,
        fleet_of=(lambda: _fleet(args)) if is_live else None,
        begins_with_fleet=args.contexts is not None,
        actions_of=lambda source, is_past: _actions(args, config, source, is_past=is_past),
        tour=Tour(STORIES[args.tour]) if args.tour else None,
    )


def _check_nodes(config: Config) -> None:
    from karptui.views.filters import parse_label_query
    from karptui.views.nodes.columns import nodes_table

    column, _ = config.order()
    try:
        parse_label_query(config.node_selector)
    except ValueError as error:
        raise UsageError(f"node_selector: {error}") from error
    ids = [heading.id for heading in nodes_table(config.extra_labels).headings()]
    if column not in ids:
        raise UsageError(f"node_sort: {no_such('column', column, ids)}")


def _check_resources(names: Sequence[str]) -> None:
    from karptui.views.nodes.resources import has_column, known_resources

    for name in names:
        if not has_column(name):
            raise UsageError(f"resources: {name} has no column; {known_resources()}")


def theme_names() -> list[str]:
    from textual.theme import BUILTIN_THEMES

    from karptui.widgets.themes import OWN_THEMES

    return sorted({*BUILTIN_THEMES, *(theme.name for theme in OWN_THEMES)})


def _check_theme(name: str) -> None:
    names = theme_names()
    if name not in names:
        raise UsageError(f"theme: {no_such('theme', name, names)}")


def _actions(args: argparse.Namespace, config: Config, source: Source, *, is_past: bool) -> Actions:
    from karptui.session.actions import open_actions

    return open_actions(
        source, config, is_asked=args.allow_actions, is_past=is_past, request_seconds=args.request_timeout
    )


def _fleet(args: argparse.Namespace) -> Fleet:
    from karptui.cli.contexts import fleet_of

    return fleet_of(args)


def _contexts(args: argparse.Namespace) -> Sequence[str]:
    from karptui.sources.cluster.kubeconfig import load_kubeconfig

    return tuple(load_kubeconfig(args.kubeconfig).contexts)
