"""A what-if without a screen."""

from __future__ import annotations

import pytest

from karptui.screens.whatif import controller
from karptui.screens.whatif.controller import WhatIf
from tests.screens.whatif.hand import Cluster, Keys, Listener


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Keys:
    made = Keys()
    monkeypatch.setattr(controller, "KEYBOARD", made)
    return made


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def whatif(cluster: Cluster, listener: Listener, keys: Keys) -> WhatIf:
    made = WhatIf(cluster, cluster.session)
    made.show_to(listener)
    return made
