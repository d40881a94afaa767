"""`karptui completion SHELL`: the completion script, made from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

import msgspec

from karptui.cli.parser import COMMANDS, actions_of
from karptui.cli.streams import put
from karptui.views.sanitize import page

SHELLS: Final = ("bash", "zsh", "fish")
_EXPLAINED: Final = ("pod", "node", "pool")
"""First argument of explain, whose parser leaves it unchecked."""
_CONTEXTS: Final = "kubectl config get-contexts -o name 2>/dev/null"


class Flag(msgspec.Struct, frozen=True):
    """A flag as completion needs it."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]
    takes_file: bool
    takes_context: bool


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="for example: source <(karptui completion bash)")


def run(args: argparse.Namespace) -> int:
    flags = {name: _flags(name) for name in COMMANDS}
    of_app = _flags(None)
    scripts = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    put(page(scripts[args.shell](COMMANDS, flags, of_app)), end="")
    return 0


@cache
def first_words(command: str) -> tuple[str, ...]:
    """Return the words of which a command takes one as its first argument, if any."""
    if command == "explain":
        return _EXPLAINED
    first = next((action for action in actions_of(command) if not action.option_strings), None)
    return tuple(map(str, first.choices or ())) if first is not None else ()


def _takes_files(command: str) -> bool:
    """Whether the command has arguments that are no flags, and free."""
    return any(not action.option_strings and not action.choices for action in actions_of(command))


def _flags(command: str | None) -> tuple[Flag, ...]:
    return tuple(
        Flag(
            names=tuple(action.option_strings),
            help=(action.help or "").replace("%%", "%"),
            takes_value=action.nargs != 0,
            choices=tuple(map(str, action.choices or _words_of(action))),
            takes_file=action.metavar == "FILE",
            takes_context="--context" in action.option_strings,
        )
        for action in actions_of(command)
        if action.option_strings and action.help is not argparse.SUPPRESS
    )


def _words_of(action: argparse.Action) -> tuple[str, ...]:
    """Return the words of a flag that the parser leaves unchecked: they are not worth importing for every command."""
    if "--screen" in action.option_strings:
        from karptui.screens.registry import ENTRIES

        return tuple(entry.name for entry in ENTRIES)
    if "--theme" in action.option_strings:
        from karptui.cli.open import theme_names

        return tuple(theme_names())
    return ()


def _bash(commands: Mapping[str, str], flags: dict[str, tuple[Flag, ...]], of_app: tuple[Flag, ...]) -> str:
    everything = [flag for group in (of_app, *flags.values()) for flag in group]
    free = [flag for flag in everything if flag.takes_value and not (flag.choices or flag.takes_file)]
    lines = [
        "_karptui() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" i',
        f'    local commands="{" ".join(commands)}"',
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        '        [[ " $commands " == *" ${COMP_WORDS[i]} "* ]] && { command="${COMP_WORDS[i]}"; break; }',
        "    done",
        '    case "$command:$before" in',
    ]
    for name, group in (("", of_app), *flags.items()):
        lines += [
            f"        {'|'.join(f'{name}:{other}' for other in flag.names)}) "
            f'COMPREPLY=($(compgen -W "{" ".join(flag.choices)}" -- "$word")); return ;;'
            for flag in group
            if flag.choices
        ]
    lines += [
        "    esac",
        '    case "$before" in',
        f'        --context) COMPREPLY=($(compgen -W "$({_CONTEXTS})" -- "$word")); return ;;',
        f"        {'|'.join(_names(flag for flag in everything if flag.takes_file))})",
        '            COMPREPLY=($(compgen -f -- "$word")); return ;;',
        f"        {'|'.join(_names(free))}) COMPREPLY=(); return ;;",
        "    esac",
        '    case "$command" in',
    ]
    for name, group in flags.items():
        extra = "".join(f" {word}" for word in first_words(name))
        lines.append(f'        {name}) COMPREPLY=($(compgen -W "{" ".join(_names(group))}{extra}" -- "$word")) ;;')
    lines += [
        f'        *) COMPREPLY=($(compgen -W "$commands {" ".join(_names(of_app))}" -- "$word")) ;;',
        "    esac",
        '    [[ ${#COMPREPLY[@]} -eq 0 && "$word" != -* ]] && COMPREPLY=($(compgen -f -- "$word"))',
        "}",
        "complete -o filenames -F _karptui karptui",
    ]
    return "\n".join(lines) + "\n"


def _zsh(commands: Mapping[str, str], flags: dict[str, tuple[Flag, ...]], of_app: tuple[Flag, ...]) -> str:
    lines = ["#compdef karptui", "_karptui() {", "    local -a commands", "    commands=("]
    lines += [f"        {_quote(f'{name}:{line}')}" for name, line in commands.items()]
    lines += [
        "    )",
        "    local command=${words[(r)(" + "|".join(commands) + ")]}",
        "    case $command in",
    ]
    for name, group in flags.items():
        words = f" '1:command:(({name}))' '2:word:({' '.join(first_words(name))})'" if first_words(name) else ""
        extra = words + (" '*:file:_files'" if _takes_files(name) or not words else "")
        lines.append(f"        {name}) _arguments {' '.join(_zsh_flag(flag) for flag in group)}{extra} ;;")
    of_none = " ".join(_zsh_flag(flag) for flag in of_app)
    lines += [
        f"        *) _arguments {of_none} '1:command:{{_describe command commands}}' ;;",
        "    esac",
        "}",
        "compdef _karptui karptui",
    ]
    return "\n".join(lines) + "\n"


def _zsh_flag(flag: Flag) -> str:
    text = flag.help.replace("[", "(").replace("]", ")").replace(":", r"\:")
    value = ""
    if flag.takes_value:
        what = f"({' '.join(flag.choices)})" if flag.choices else "_files" if flag.takes_file else ""
        what = f"($({_CONTEXTS}))" if flag.takes_context else what
        value = f":value:{what}"
    return " ".join(_quote(f"{name}[{text}]{value}") for name in flag.names)


def _fish(commands: Mapping[str, str], flags: dict[str, tuple[Flag, ...]], of_app: tuple[Flag, ...]) -> str:
    names = " ".join(commands)
    lines = ["complete -c karptui -f"]
    lines += [
        f"complete -c karptui -n 'not __fish_seen_subcommand_from {names}' -a {name} -d {_quote(line)}"
        for name, line in commands.items()
    ]
    for name, group in (("", of_app), *flags.items()):
        seen = f"__fish_seen_subcommand_from {name}" if name else f"not __fish_seen_subcommand_from {names}"
        lines += [f"complete -c karptui -n '{seen}' {_fish_flag(flag)}" for flag in group]
        if name and _takes_files(name):
            lines.append(f"complete -c karptui -n '{seen}' -F")
    lines += [
        f"complete -c karptui -n '__fish_seen_subcommand_from {name}' -a '{' '.join(first_words(name))}'"
        for name in commands
        if first_words(name)
    ]
    return "\n".join(lines) + "\n"


def _fish_flag(flag: Flag) -> str:
    parts = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names]
    if flag.takes_value:
        parts.append("-r" if flag.takes_file else "-x")
    if flag.choices:
        parts.append(f"-a '{' '.join(flag.choices)}'")
    elif flag.takes_context:
        parts.append(f"-a '({_CONTEXTS})'")
    elif flag.takes_file:
        parts.append("-F")
    return f"{' '.join(parts)} -d {_quote(flag.help)}"


def _names(flags: Iterable[Flag]) -> list[str]:
    return list(dict.fromkeys(name for flag in flags for name in flag.names))


def _quote(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"
