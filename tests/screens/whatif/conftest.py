"""Fixtures for the what-if controller, which run without a screen."""

from __future__ import annotations

import pytest

from karptui.screens.whatif import controller
from karptui.screens.whatif.controller import WhatIf
from tests.screens.whatif.hand import Cluster, FakeKeyboard, Listener


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> FakeKeyboard:
    result = FakeKeyboard()
    monkeypatch.setattr(controller, "KEYBOARD", result)
    return result


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def whatif(cluster: Cluster, listener: Listener, keys: FakeKeyboard) -> WhatIf:
    what_if = WhatIf(cluster, cluster.session)
    what_if.show_to(listener)
    return what_if
