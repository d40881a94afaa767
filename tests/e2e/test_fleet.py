"""Two clusters on real API servers: one is killed and its row shows the error, the other stays live."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from karptui.cli.contexts import fleet_of
from karptui.cli.main import main
from karptui.cli.parser import build_parser
from karptui.clock import SystemClock
from karptui.screens.fleet import FleetScreen
from karptui.screens.frame import FrameScreen
from karptui.session.fleet import Fleet, FleetRow
from tests.builders import present
from tests.ui.fleet import lines_of
from tests.ui.stage import an_app, front

from .control_plane import TOKEN, Client, ControlPlane
from .definitions import install_definitions
from .test_live_cluster import NODES_PATH, PODS_PATH, a_node, a_pod
from .test_permissions import POOL_SPEC

pytestmark = pytest.mark.apiserver

SECONDS = 60.0
POOL = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"}, "spec": POOL_SPEC}


@pytest.fixture
def planes(karpenter_plane: ControlPlane, start_plane: Callable[..., ControlPlane]) -> dict[str, ControlPlane]:
    """Return two control planes with nodes and pending pods: ``a`` is shared, ``b`` can be killed."""
    result = {"a": karpenter_plane, "b": start_plane()}
    install_definitions(Client(result["b"]))
    for client in map(Client, result.values()):
        client.request("POST", "/apis/karpenter.sh/v1/nodepools", POOL, expect=None)
        client.create(NODES_PATH, [a_node(number) for number in range(2)])
        client.create(PODS_PATH, [a_pod(f"pod-{number}") for number in range(2)])
    return result


@pytest.fixture
def flags(planes: dict[str, ControlPlane], tmp_path: Path) -> list[str]:
    servers = {
        name: {"server": plane.url, "certificate-authority": str(plane.folder / "pki" / "apiserver.crt")}
        for name, plane in planes.items()
    }
    document = {
        "contexts": [{"name": name, "context": {"cluster": name, "user": "admin"}} for name in servers],
        "clusters": [{"name": name, "cluster": server} for name, server in servers.items()],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
    }
    (tmp_path / "config").write_text(yaml.safe_dump(document))
    return ["--contexts", "a,b", "--kubeconfig", str(tmp_path / "config"), "--no-aws", "--request-timeout", "5s"]


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KARPTUI_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def fleet(flags: list[str]) -> Iterator[Fleet]:
    fleet = fleet_of(build_parser().parse_args(flags))
    yield fleet
    fleet.stop()


async def test_if_one_of_two_clusters_is_killed_only_its_row_shows_an_error(
    fleet: Fleet, flags: list[str], planes: dict[str, ControlPlane], capfd: pytest.CaptureFixture[str]
) -> None:
    counts = {name: len(Client(plane).keys(NODES_PATH)) for name, plane in planes.items()}
    pending = {name: len(Client(plane).keys("/api/v1/pods")) for name, plane in planes.items()}
    app = an_app(None, clock=SystemClock(), fleet_of=lambda: fleet, begins_with_fleet=True)
    async with app.run_test(size=(140, 30)) as pilot:

        async def until(is_so: Callable[[], bool]) -> None:
            deadline = time.monotonic() + SECONDS
            while not is_so():
                assert time.monotonic() < deadline, "\n".join(lines_of(app))
                await asyncio.to_thread(time.sleep, 0.1)
                front(app, FrameScreen).refresh_view(is_forced=True)
                await pilot.pause()

        def rows() -> dict[str, FleetRow]:
            return {row.name: row for row in fleet.rows}

        def shown(name: str) -> str:
            """Return the row without its name."""
            rows = (line.partition(f" {name} ")[2] for line in lines_of(app) if name in line.split()[:2])
            return next(rows, "")

        def nodes_shown(name: str) -> str:
            return "".join(shown(name).split()[:1])

        def is_right(name: str, nodes: int) -> bool:
            row, figures = rows()[name], rows()[name].line.figures
            is_known = figures is not None and figures.worst is not None and figures.pending == pending[name]
            return is_known and figures is not None and figures.nodes == nodes and not row.trouble

        await until(lambda: isinstance(app.screen, FleetScreen))
        await until(lambda: all(is_right(*pair) for pair in counts.items()))
        await until(lambda: all(nodes_shown(name) == str(count) for name, count in counts.items()))

        planes["b"].kill_server()
        killed_ns = time.time_ns()
        await until(lambda: bool(rows()["b"].trouble))
        Client(planes["a"]).create(NODES_PATH, [a_node(90)])
        await until(lambda: is_right("a", counts["a"] + 1))
        await until(lambda: "refuses connections" in shown("b"))
        assert "refuses connections" in rows()["b"].trouble
        figures = present(rows()["b"].line.figures)
        assert (figures.nodes, figures.pending) == (2, 2), "the last known figures are kept"
        assert rows()["b"].line.read_ns <= killed_ns + 10**9, "its data has not been read since"
        assert time.time_ns() - rows()["a"].line.read_ns < 20 * 10**9
        await until(lambda: (nodes_shown("a"), nodes_shown("b")) == (str(counts["a"] + 1), "2"))
    status = main(["verdict", "-o", "json", *flags])
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert status == 1
    assert [line["name"] for line in lines] == ["a", "b"]
    assert "error" not in lines[0]
    assert "refuses connections" in lines[1]["error"]
