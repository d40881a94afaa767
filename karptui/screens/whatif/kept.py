"""Scenarios that are not saved, kept for the next start: a private file in the state folder for each cluster."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from karptui.files import check_allowed, read_file, write_file
from karptui.paths import state_dir
from karptui.whatif.scenario import Scenario, ScenarioError, read_scenarios, write_scenarios

MOST_BYTES: Final = 8 << 20
"""What such a file holds at most; more is not kept."""
MOST_NAME: Final = 40
UNREADABLE: Final = "unreadable"
"""Stands in the name of a file that could not be read from then on: another version, or its owner, may be able to."""


class KeptScenarios:
    """The file of one cluster."""

    def __init__(self, cluster: str) -> None:
        """Name the file.

        Args:
            cluster: how the cluster is called; names that differ have files that differ.
        """
        readable = re.sub(r"[^a-zA-Z0-9]+", "-", cluster).strip("-")[:MOST_NAME]
        number = hashlib.sha256(cluster.encode()).hexdigest()[:12]
        self._name = f"{readable}-{number}.yaml"

    def read(self) -> tuple[Scenario, ...]:
        """Return what was kept; nothing where there is nothing, or nothing that can be read, which is set aside."""
        with suppress(OSError):
            path = self._path()
            try:
                return read_scenarios(read_file(path, MOST_BYTES, is_regular=True).decode(), str(path))
            except FileNotFoundError:
                return ()
            except (OSError, UnicodeDecodeError, ScenarioError):
                path.replace(_name_aside(path))
        return ()

    def write(self, scenarios: Sequence[Scenario]) -> bool:
        """Keep scenarios in the place of those before, and return whether that could be done."""
        text = write_scenarios(scenarios).encode() if scenarios else b""
        if len(text) > MOST_BYTES:
            return False
        try:
            path = self._path()
            if not text:
                path.unlink(missing_ok=True)
                return True
            write_file(path, text, may_replace=True, is_private=True)
        except OSError:
            return False
        return True

    def _path(self) -> Path:
        check_allowed()
        folder = state_dir() / "whatif"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / self._name


def _name_aside(path: Path) -> Path:
    """Return a name for a file to be set aside that no other has."""
    found, number = path.with_suffix(f".{UNREADABLE}{path.suffix}"), 2
    while os.path.lexists(found):
        found, number = path.with_suffix(f".{UNREADABLE}-{number}{path.suffix}"), number + 1
    return found
