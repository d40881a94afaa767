"""The output of commands and screens for a snapshot."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from karptui.cli.evidence import evidence_source
from karptui.cli.main import main
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.screens.registry import ENTRIES
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from tests.ui.fleet import screen_text
from tests.ui.stage import an_app, settled


def asked(capsys: pytest.CaptureFixture[str], path: str, *command: str) -> Any:
    main([*command, "-o", "json", "--snapshot", path])
    return json.loads(capsys.readouterr().out)


async def matches_on_screens(pattern: re.Pattern[str], path: str) -> dict[str, str]:
    """Return the text that matches the pattern on each screen, by screen name."""
    source = SnapshotSource(SnapshotReader().read([path], keeps_manifests=True))
    clock = FrozenClock(source.snapshot.captured_at_ns)
    app = an_app(source, clock=clock, evidence=evidence_source(source, Config()))
    result = {}
    async with app.run_test(size=(160, 44)) as pilot:
        await settled(pilot)
        for entry in ENTRIES:
            await pilot.press(entry.key)
            await settled(pilot)
            if match := pattern.search(screen_text(app)):
                result[entry.name] = match.group()
    return result
