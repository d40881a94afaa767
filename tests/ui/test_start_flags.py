"""Flags that set the initial state of the app's screens."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import pytest

from karptui.app import KarptuiApp
from karptui.cli import open as opening
from karptui.cli.streams import UsageError
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.errors import RequestError
from karptui.remembered import remember
from karptui.screens.nodes import NodesScreen
from karptui.screens.pods import PodsScreen
from tests.builders import NOW_NS, a_cluster, a_pod
from tests.ui.stage import an_app


def begun_with(**settings: Any) -> KarptuiApp:
    pods = (a_pod(name="web", namespace="web", node="node-1"), a_pod(name="db", namespace="db", node="node-1"))
    state = a_cluster(nodes=1, pods=pods)
    return an_app(config=Config(**settings), clock=FrozenClock(NOW_NS), state=state)


async def test_the_namespace_filters_pods_until_escape() -> None:
    async with begun_with(namespace="db", screen="pods").run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, PodsScreen)
        assert list(screen.table.rows.keys) == ["db/db"]
        await pilot.press("escape")
        assert list(screen.table.rows.keys) == ["db/db", "web/web"]


async def test_resources_choose_columns_of_nodes() -> None:
    async with begun_with(resources=("memory", "gpu")).run_test(size=(160, 30)) as pilot:
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, NodesScreen)
        drawn = {heading.id for heading in screen.table.layout_columns}
    assert drawn & {"cpu", "mem", "pods", "gpu", "ephemeral"} == {"mem", "gpu"}


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    opening.configure(parser)
    return parser.parse_args(["--demo", *words])


@pytest.mark.parametrize(
    ("words", "namespace"), [(("-n", "web"), "web"), (("-n", "web", "-A"), ""), (("-A",), ""), ((), "team")]
)
def test_flags_reach_the_settings(monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], namespace: str) -> None:
    monkeypatch.setenv("KARPTUI_NAMESPACE", "team")
    config = opening.app_of(parsed(*words, "--resources", "cpu, gpu")).config
    assert config.namespace == namespace
    assert config.resources == ("cpu", "gpu")


@pytest.mark.parametrize(("words", "sentence"), [
    (("--screen", "nodez"), "screen: there is no screen nodez; did you mean nodes"),
    (("--node-sort", "size=asc"), "node_sort: there is no column size; there are name, why, "),
    (("--node-sort", "age=down"), "'age=down' is not"),
    (("-l", "a in"), "'a in' is not a label selector"),
    (("--config", "/none/karptui.toml"), "/none/karptui.toml: no such configuration file"),
])  # fmt: skip
def test_invalid_flags_are_refused(words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(RequestError, match=re.escape(sentence)):
        opening.app_of(parsed(*words))


@pytest.mark.parametrize(("chosen_last", "file", "flag", "order"), [
    ("", "", "", ("held", True)),
    ("cpu=asc", "", "", ("cpu", False)),
    ("cpu=asc", "held=dsc", "", ("held", True)),
    ("cpu=asc", "held=dsc", "age=dsc", ("age", True)),
    ("cpu=asc", "", "held=dsc", ("held", True)),
    ("gone=asc", "", "", ("held", True)),
])  # fmt: skip
def test_a_configured_sort_order_overrides_the_remembered_one(
    tmp_path: Path, chosen_last: str, file: str, flag: str, order: tuple[str, bool]
) -> None:
    remember("node_sort", chosen_last)
    config = tmp_path / "karptui.toml"
    config.write_text(f'node_sort = "{file}"\n' if file else "")
    words = ("--config", str(config), *(("--node-sort", flag) if flag else ()))
    assert opening.app_of(parsed(*words)).config.order() == order


def test_a_resource_without_a_column_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        parsed("--resources", "disk")
    monkeypatch.setenv("KARPTUI_RESOURCES", "disk")
    with pytest.raises(UsageError, match="resources: disk has no column; there are cpu, memory, pods"):
        opening.app_of(parsed())
