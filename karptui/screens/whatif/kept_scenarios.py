"""Scenarios in files: saved and opened by name, and kept unsaved for the next start."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from karptui.errors import RequestError
from karptui.files import check_allowed, read_file, write_file
from karptui.paths import state_dir, typed_path
from karptui.whatif.scenario import MOST_BYTES, Scenario, read_scenarios, write_scenarios

MOST_NAME: Final = 40
MOST_KEPT_BYTES: Final = 8 << 20
"""Maximum size of such a file; more is not kept."""
LOCK_SECONDS: Final = 2.0
"""How long to wait for another karptui to write; it takes milliseconds."""
UNREADABLE: Final = "unreadable"
"""Marks the name of an unreadable file, which another version or its owner may be able to read."""


class FileIsThereError(RequestError):
    """A file that was not to be replaced."""


def save_scenarios(target: str, scenarios: Sequence[Scenario], *, replaces: bool = False) -> Path:
    """Save scenarios to a file and return its path.

    Raises:
        FileIsThereError: if the file exists.
        RequestError: if it cannot be written.
    """
    path = typed_path(target)
    try:
        write_file(path, write_scenarios(scenarios).encode("utf-8", "replace"), may_replace=replaces)
    except FileExistsError:
        raise FileIsThereError(f"{path} already exists") from None
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}") from error
    return path


def open_scenarios(target: str) -> tuple[Scenario, ...]:
    """Return the scenarios of a file. Raises RequestError when it cannot be read, or does not hold scenarios."""
    path = typed_path(target)
    try:
        check_allowed()
        return read_scenarios(read_file(path, MOST_BYTES).decode(), str(path))
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise RequestError(f"{path} is not text") from None


class KeptScenarios:
    """The file of one cluster."""

    def __init__(self, cluster: str) -> None:
        readable = re.sub(r"[^a-zA-Z0-9]+", "-", cluster).strip("-")[:MOST_NAME]
        number = hashlib.sha256(cluster.encode()).hexdigest()[:12]
        self._name = f"{readable}-{number}.yaml"
        self._mine: frozenset[str] = frozenset()
        """What this process has read or written last; the rest of the file was written by another karptui since."""

    def read(self) -> tuple[Scenario, ...]:
        """Return the kept scenarios; empty if there are none. An unreadable file is set aside."""
        scenarios = self._read()
        self._mine = frozenset(map(_text, scenarios))
        return scenarios

    def _read(self) -> tuple[Scenario, ...]:
        with suppress(OSError):
            path = self._path()
            try:
                return read_scenarios(read_file(path, MOST_KEPT_BYTES, is_regular=True).decode(), str(path))
            except FileNotFoundError:
                return ()
            except (OSError, UnicodeDecodeError, RequestError):
                path.replace(_name_aside(path))
        return ()

    def write(self, scenarios: Sequence[Scenario]) -> bool:
        """Replace the scenarios that were read, and return whether it succeeded.

        Scenarios written by another instance meanwhile stay.
        """
        with _locked_folder():
            others = [scenario for scenario in self._read() if _text(scenario) not in self._mine]
            texts = {_text(scenario): scenario for scenario in (*others, *scenarios)}
            data = write_scenarios(tuple(texts.values())).encode() if texts else b""
            if len(data) > MOST_KEPT_BYTES:
                return False
            try:
                path = self._path()
                if data:
                    write_file(path, data, may_replace=True, is_private=True)
                else:
                    path.unlink(missing_ok=True)
            except OSError:
                return False
        self._mine = frozenset(map(_text, scenarios))
        return True

    def _path(self) -> Path:
        return _folder() / self._name


def _folder() -> Path:
    check_allowed()
    folder = state_dir() / "whatif"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@contextmanager
def _locked_folder() -> Iterator[None]:
    """Keep other karptuis from writing meanwhile; go on without where the folder cannot be locked in time."""
    descriptor = -1
    with suppress(OSError):
        descriptor = os.open(_folder(), os.O_RDONLY)
        until = time.monotonic() + LOCK_SECONDS
        while not _is_locked(descriptor) and time.monotonic() < until:
            time.sleep(0.01)
    try:
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _text(scenario: Scenario) -> str:
    return write_scenarios([scenario])


def _name_aside(path: Path) -> Path:
    """Return a name for a file to be set aside that no other has."""
    free_path, number = path.with_suffix(f".{UNREADABLE}{path.suffix}"), 2
    while os.path.lexists(free_path):
        free_path, number = path.with_suffix(f".{UNREADABLE}-{number}{path.suffix}"), number + 1
    return free_path
