from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from karptui.errors import RequestError
from karptui.provisioning.reporter import Cancelled
from karptui.session.sweeper import Sweeper, point_of
from karptui.whatif.edits import ObjectRef, SetField, SetSetting
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import WhatIfBase
from karptui.whatif.sweep import Sweep, parse_sweep, parse_values, proposed_values, sweep_point, typed
from karptui.workers.workers import packed, unpacked
from tests.builders import a_pod, an_instance_type
from tests.whatif.edits.test_apply import POOL
from tests.whatif.snapshots import base

TYPES = (an_instance_type(name="m5.large", cpu="2"), an_instance_type(name="m5.4xlarge", cpu="16", memory="64Gi"))


@pytest.mark.parametrize(("text", "values"), [
    ("1", ["1"]),
    ("1,5,10", ["1", "5", "10"]),
    ("1..10/3", ["1", "4", "7", "10"]),
    ("1..100/40", ["1", "41", "81", "100"]),
    ("0..1", ["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"]),
    ("0.02..0.08/0.02", ["0.02", "0.04", "0.06", "0.08"]),
    ("100Gi..200Gi/50Gi", ["100Gi", "150Gi", "200Gi"]),
    ("5..5/1", ["5"]),
    ("10%..30%/10", ["10%", "20%", "30%"]),
    ("30s..2m/30s", ["30s", "60s", "90s", "120s"]),
    ("1m..1h", ["60s", "414s", "768s", "1122s", "1476s", "1830s", "2184s", "2538s", "2892s", "3246s", "3600s"]),
    ("Never,30s", ["Never", "30s"]),
])  # fmt: skip
def test_sweep_values_are_parsed(text: str, values: list[str]) -> None:
    assert list(parse_values(text)) == values


@pytest.mark.parametrize(("text", "result"), [
    ("weight", "is not PARAMETER=VALUES"),
    ("A=", "is not PARAMETER=VALUES"),
    ("weight=1", "is neither a setting nor Kind/name:path.of.field"),
    ("NodePool:spec.weight=1", "is not Kind/name or Kind/namespace/name"),
    ("NodePool/a:spec..weight=1", "is not a path"),
    ("A=1,,2", "has an empty value"),
    ("A=x..y", "is not a range"),
    ("A=1Gi..2Mi", "mixes the units Gi, Mi"),
    ("A=5..1/1", "must rise"),
    ("A=1..5/0", "must rise"),
    ("A=1..1000/1", "has more than 200 values"),
    ("A=1..1000000000000/1", "has more than 200 values"),
    (f"A={','.join('1' * 201)}", "has more than 200 values"),
    ("A=1d..2h", "mixes the units d, h"),
    ("A=1s..99999999999999h", "duration"),
])  # fmt: skip
def test_invalid_sweeps_are_refused(text: str, result: str) -> None:
    with pytest.raises(RequestError, match=result):
        parse_sweep(text)


def test_fields_and_settings_are_parsed() -> None:
    field = parse_sweep("Deployment/team/web:spec.replicas=1,2")
    assert field.object == ObjectRef("Deployment", "web", "team")
    assert field.edits_for("2") == (SetField(ObjectRef("Deployment", "web", "team"), ("spec", "replicas"), 2),)
    assert field.name == "Deployment/team/web:spec.replicas"
    setting = parse_sweep("FEATURE_GATES.NodeOverlay=true,false")
    assert setting.edits_for("true") == (SetSetting("FEATURE_GATES.NodeOverlay", "true"),)
    assert setting.name == "FEATURE_GATES.NodeOverlay"
    assert [typed(text) for text in ("3", "0.5", "true", "false", "30s", "007", "1e3")] == [
        3, 0.5, True, False, "30s", "007", "1e3",
    ]  # fmt: skip


def cluster() -> WhatIfBase:
    return base(POOL, types=TYPES, pods=tuple(a_pod(name=f"p-{i}", cpu="1") for i in range(4)))


def points(start: WhatIfBase, sweep: Sweep, jobs: int) -> list[Any]:
    result = dict(Sweeper(start, sweep, Replay.PENDING, jobs).points())
    return [result[position] for position in sorted(result)]


LIMITS = parse_sweep("NodePool/general:spec.limits.cpu=0,2,16,many")


def test_the_result_of_each_value_with_one_or_several_processes() -> None:
    none, few, all_, wrong = points(cluster(), LIMITS, 1)
    assert (none.nodes, none.pending, none.price_per_hour) == (0, 4, 0.0)
    assert (few.launched, few.pending) == (1, 2)
    assert (all_.pending, all_.drifted, all_.unpriced) == (0, 0, 0)
    assert wrong.problem == "edit 1: NodePool general: spec.limits.cpu: 'many' is not a quantity"
    assert sweep_point(cluster(), LIMITS, "2", Replay.PENDING) == few
    start = cluster()
    assert points(start, LIMITS, 2) == points(start, LIMITS, 1)


@pytest.mark.parametrize(("parameter", "problem"), [
    ("spec.weight=1,200", "spec.weight: must be at most 100"),
    ("spec.weigth=1,2", "spec.weigth: unknown field weigth; did you mean weight?"),
])  # fmt: skip
def test_values_that_the_api_server_rejects_have_no_result(parameter: str, problem: str) -> None:
    sweep = parse_sweep(f"NodePool/general:{parameter}")
    point = sweep_point(cluster(), sweep, sweep.values[-1], Replay.PENDING)
    assert point.problem == f"the API server refuses NodePool general: {problem}"
    assert point.place == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_cancelled_sweep_yields_no_more_points(jobs: int) -> None:
    weights = parse_sweep("NodePool/general:spec.weight=1..100/1")
    sweeper, seen = Sweeper(cluster(), weights, Replay.PENDING, jobs), []
    for position, _ in sweeper.points():
        seen.append(position)
        sweeper.cancel()
    assert len(seen) < len(weights.values) / 2  # other processes may already have finished several
    unbegun = Sweeper(cluster(), LIMITS, Replay.PENDING, jobs)
    unbegun.cancel()
    assert list(unbegun.points()) == []


def test_worker_processes_compute_the_same_point() -> None:
    """Calls the workers' function in this process with pickled arguments."""
    common = unpacked(packed((cluster(), LIMITS, Replay.PENDING)))
    assert point_of(common, "2", lambda: False) == sweep_point(cluster(), LIMITS, "2", Replay.PENDING)
    with pytest.raises(Cancelled):
        point_of(common, "16", lambda: True)


UNDER_A_SCREEN = """
import io, sys
from karptui.provisioning.reporter import Cancelled
from karptui.session.sweeper import Sweeper
from karptui.whatif.scenario import Replay
from tests.whatif.test_sweep import LIMITS, cluster

class Captured(io.StringIO):
    def fileno(self):
        return -1

if __name__ == "__main__":
    sys.stderr = Captured()
    print(len(dict(Sweeper(cluster(), LIMITS, Replay.PENDING, 2).points())))
"""


def test_processes_start_while_the_app_uses_the_standard_streams(tmp_path: Path) -> None:
    script = tmp_path / "under_a_screen.py"
    script.write_text(UNDER_A_SCREEN)
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    ran = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == str(len(LIMITS.values)), ran.stderr


@pytest.mark.parametrize(("given", "expected"), [
    ({"current": "0.075", "stride": 0.005}, "0..0.1/0.0125"),
    ({"current": "0.0", "stride": 0.005}, "0..0.05/0.00625"),
    ({"current": "0", "stride": 1}, "0..4/1"),
    ({"current": "480"}, "240..960/120"),
    ({"current": "1600Gi"}, "800Gi..3200Gi/400Gi"),
    ({"current": "45", "most": 100}, "1,10,25,45,50,75,100"),
    ({"current": "", "most": 100}, "1,10,25,50,75,100"),
    ({"current": "5m", "is_duration": True}, "0s,30s,1m,5m,15m,30m,1h"),
    ({"current": "720h", "is_duration": True}, "1h,2h,4h,8h,12h,24h,720h"),
    ({"current": "Never", "is_duration": True}, "0s,30s,1m,5m,15m,30m,1h,Never"),
    ({"current": ""}, ""),
])  # fmt: skip
def test_values_are_proposed_around_the_current_one(given: dict[str, Any], expected: str) -> None:
    assert proposed_values(**given) == expected
    if expected:
        values = parse_values(expected)
        assert len(values) >= 5
        assert not given["current"] or any(typed(value) == typed(given["current"]) for value in values)
