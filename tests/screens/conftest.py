"""Pilots that wait no longer than they must."""

from __future__ import annotations

import pytest

from tests.idleness import shorten_waits


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)
