from __future__ import annotations

import os

import pytest

from karptui.forward.durations import INSTANT, Durations
from karptui.forward.observation import Observation
from karptui.forward.play import Play
from karptui.forward.result import Played
from karptui.provisioning.prepared import Prepared
from karptui.views.column import plain
from karptui.views.forward.columns import PLAYED
from tests.disruption.fleet_generator import FleetGenerator
from tests.goldens_loading import load

HORIZON_NS = 6 * 3600 * 10**9
FLEETS = int(os.environ.get("KARPTUI_PLAYED_FLEETS", "6"))


class ForgetfulObservation(Observation):
    """Discards everything that it would carry over from one step to the next."""

    def prepared(self) -> Prepared:
        self.forget()
        return super().prepared()


class FreshPlay(Play):
    """Computes every step from scratch."""

    def run(self) -> Played:
        self.observation.__class__ = ForgetfulObservation
        return super().run()


def played(kind: type[Play], prepared: Prepared, durations: Durations) -> Played:
    return kind(
        prepared.inventory,
        prepared.given_types,
        prepared.settings,
        prepared.now_ns,
        until_ns=prepared.now_ns + HORIZON_NS,
        durations=durations,
    ).run()


@pytest.mark.parametrize("number", range(FLEETS))
@pytest.mark.parametrize("durations", [INSTANT, Durations()], ids=["instant", "timed"])
def test_carrying_results_over_does_not_change_a_forecast(number: int, durations: Durations) -> None:
    name = f"carried-{number}"
    prepared = load(FleetGenerator(name, "").snapshot(name))
    carried, fresh = (plain(PLAYED, played(kind, prepared, durations)) for kind in (Play, FreshPlay))
    assert carried == fresh
