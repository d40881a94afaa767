"""Pictures of screens in every size and three themes, each screen from one app that is started once."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.ui.conftest import MakeApp
from tests.ui.pictures import pictured
from tests.ui.stage import settled

SCREENS = {"capacity": ("z",), "packing": ("p",)}


@pytest.mark.parametrize("name", SCREENS)
async def test_it_looks_as_it_did(make_app: MakeApp, snapshot: SnapshotAssertion, name: str) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        for key in SCREENS[name]:
            await pilot.press(key)
            await settled(pilot)
        assert await pictured(pilot, app, snapshot) == []
