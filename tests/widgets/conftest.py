"""Pilots wait only as long as needed."""

from __future__ import annotations

import pytest

from tests.event_loop import step_textual


@pytest.fixture(autouse=True)
def _stepped(monkeypatch: pytest.MonkeyPatch) -> None:
    step_textual(monkeypatch)
