"""Scenarios in files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from karptui.paths import typed_path
from karptui.whatif.scenario import Scenario
from karptui.whatif.scenario_file import ScenarioError, read_scenarios, write_scenarios


class FileError(Exception):
    """A file that cannot be used; the text is a sentence."""


class FileIsThereError(FileError):
    """A file that was not to be replaced."""


def save_scenarios(target: str, scenarios: Sequence[Scenario], *, replaces: bool = False) -> Path:
    """Write scenarios to a file and return its path.

    Args:
        target: The path as it was typed.
        scenarios: What to write, one document each.
        replaces: Whether a file that is there may be replaced.

    Raises:
        FileIsThereError: when the file is there already.
        FileError: when it cannot be written.
    """
    path = typed_path(target)
    try:
        with path.open("w" if replaces else "x", encoding="utf-8") as file:
            file.write(write_scenarios(scenarios))
    except FileExistsError:
        raise FileIsThereError(f"{path} is there already") from None
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}") from error
    return path


def open_scenarios(target: str) -> tuple[Scenario, ...]:
    """Return the scenarios of a file.

    Raises:
        FileError: when it cannot be read, or does not hold scenarios.
    """
    path = typed_path(target)
    try:
        return read_scenarios(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise FileError(f"{path} is not text") from None
    except ScenarioError as error:
        raise FileError(str(error)) from None
