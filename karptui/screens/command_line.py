"""The command line: what can be typed after ``:`` and how it is completed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final


class CommandError(Exception):
    """A command that cannot be run; the text is a sentence."""


def _no_arguments() -> Sequence[str]:
    return ()


@dataclass(frozen=True)
class TypedCommand:
    """One command."""

    name: str
    help: str
    """One line for help and the palette."""
    run: Callable[[str], None]
    """Takes what stands behind the name; raises CommandError with a sentence."""
    aliases: tuple[str, ...] = ()
    arguments: Callable[[], Sequence[str]] = _no_arguments
    """What could stand behind the name."""
    placeholder: str = ""
    """What stands behind the name in help: ``NAME``, or ``[NAME]`` where it may be left out."""

    @property
    def needs_argument(self) -> bool:
        """Whether nothing can be done by the name alone."""
        return bool(self.placeholder) and not self.placeholder.startswith("[")

    @property
    def takes_words(self) -> bool:
        """Whether several words may stand behind the name: ``arguments`` are then not all that there could be."""
        return " " in self.placeholder


def find(commands: Sequence[TypedCommand], word: str) -> TypedCommand:
    """Return the command of a name or alias.

    Raises:
        CommandError: when there is none, with the nearest one.
    """
    by_name = {name: command for command in commands for name in (command.name, *command.aliases)}
    if word in by_name:
        return by_name[word]
    near = difflib.get_close_matches(word, by_name, n=1)
    advice = f"did you mean :{by_name[near[0]].name}?" if near else "? lists the commands"
    raise CommandError(f"there is no command :{word}; {advice}")


def complete(commands: Sequence[TypedCommand], line: str) -> tuple[str, ...]:
    """Return whole lines that what is typed could become, best first.

    Args:
        commands: what there is.
        line: what is typed so far, without the colon.
    """
    word, space, rest = line.partition(" ")
    if not space:
        names = [command.name for command in commands if command.name.startswith(word)]
        aliases = [alias for command in commands for alias in command.aliases if alias.startswith(word)]
        return tuple(dict.fromkeys(names + aliases))
    try:
        command = find(commands, word)
    except CommandError:
        return ()
    return tuple(f"{word} {value}" for value in _matching(command.arguments(), rest))


def _matching(values: Sequence[str], typed: str) -> list[str]:
    """Return values that have in them what is typed, first those that begin with it."""
    found = [value for value in values if typed in value]
    return sorted(found, key=lambda value: not value.startswith(typed))


_MOST_HINTS: Final = 40
"""So many completions have room."""


def hint(commands: Sequence[TypedCommand], line: str) -> str:
    """Return what a line could become in a line of words: what completes it, else what its command takes.

    Args:
        commands: what there is.
        line: what is typed so far, without the colon.
    """
    word, has_argument, rest = line.partition(" ")
    if not has_argument:
        options = complete(commands, line)
        words = [command.name for command in commands if command.name in options] or list(options)
        return "  ".join(words[:_MOST_HINTS]) or f"nothing called {word}"
    try:
        command = find(commands, word)
    except CommandError as error:
        return str(error)
    values = command.arguments()
    if found := _matching(values, rest):
        return "  ".join(found[:_MOST_HINTS])
    if values and not command.takes_words:
        return f"nothing called {rest.strip()}"
    return f":{' '.join(filter(None, (command.name, command.placeholder)))}  {command.help}"


def run(commands: Sequence[TypedCommand], line: str) -> None:
    """Run a command line.

    Raises:
        CommandError: a sentence saying what is wrong with it.
    """
    word, _, rest = line.strip().partition(" ")
    if word:
        find(commands, word).run(rest.strip())
