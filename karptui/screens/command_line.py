"""The command line: commands after ``:`` and their completion."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from karptui.errors import RequestError


class CommandError(RequestError):
    """A command that cannot run; the message is for the user."""


@dataclass(frozen=True)
class TypedCommand:
    """One command."""

    name: str
    help: str
    """One line for help and the palette."""
    run: Callable[[str], None]
    """Receives the text after the name; raises CommandError with a message for the user."""
    aliases: tuple[str, ...] = ()
    arguments: Callable[[], Sequence[str]] = tuple
    placeholder: str = ""
    """Argument in the help: ``NAME``, or ``[NAME]`` if optional."""

    @property
    def needs_argument(self) -> bool:
        return bool(self.placeholder) and not self.placeholder.startswith("[")

    @property
    def takes_words(self) -> bool:
        """Whether the argument may have several words, so that ``arguments`` is incomplete."""
        return " " in self.placeholder


def find(commands: Sequence[TypedCommand], word: str) -> TypedCommand:
    """Return the command of a name or alias. Raises CommandError when there is none, with the nearest one."""
    by_name = {name: command for command in commands for name in (command.name, *command.aliases)}
    if word in by_name:
        return by_name[word]
    near = difflib.get_close_matches(word, by_name, n=1)
    advice = f"did you mean :{by_name[near[0]].name}?" if near else "? lists the commands"
    raise CommandError(f"there is no command :{word}; {advice}")


def complete(commands: Sequence[TypedCommand], line: str) -> tuple[str, ...]:
    """Return complete command lines for a partial one, best first."""
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
    """Return the values with the typed text, first those with it at the beginning."""
    matches = [value for value in values if typed in value]
    return sorted(matches, key=lambda value: not value.startswith(typed))


_MOST_HINTS: Final = 40
"""Maximum number of completions shown."""


def hint(commands: Sequence[TypedCommand], line: str) -> str:
    """Return the completions of a line as one text, or else the argument of its command."""
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
    if matches := _matching(values, rest):
        return "  ".join(matches[:_MOST_HINTS])
    if values and not command.takes_words:
        return f"nothing called {rest.strip()}"
    return f":{' '.join(filter(None, (command.name, command.placeholder)))}  {command.help}"


def run(commands: Sequence[TypedCommand], line: str) -> None:
    """Run a command line. Raises RequestError with a message for the user."""
    word, _, rest = line.strip().partition(" ")
    if word:
        find(commands, word).run(rest.strip())
