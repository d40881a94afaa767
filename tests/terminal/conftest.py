"""Sources of programs under test: the demo, a recording of it, and an API server that serves the recording."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.files import a_file
from tests.fake_api_server import Call, FakeApi, LoopbackServer
from tests.terminal.program import Program, View, karptui, run_karptui

NAMESPACED: Final = {
    "Pod", "DaemonSet", "PodDisruptionBudget", "Event", "ReplicaSet", "Deployment", "StatefulSet", "Job",
}  # fmt: skip
CLUSTER: Final = "every"
"""Name of the context."""


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment without the settings and credentials of the user."""
    home = tmp_path_factory.mktemp("home")
    return {
        "HOME": str(home),
        "KUBECONFIG": str(home / "no-kubeconfig"),
        "KARPTUI_CONFIG": str(home / "no-config.toml"),
        **{f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "STATE", "CACHE")},
        **{f"AWS_{name}": "" for name in ("PROFILE", "ACCESS_KEY_ID", "REGION", "DEFAULT_REGION")},
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), ""),
    }


@pytest.fixture(autouse=True)
def _no_crash_report(environment: dict[str, str]) -> Iterator[None]:
    """Fail if a program reports a fault inside karptui."""
    yield
    reports = [*Path(environment["XDG_STATE_HOME"]).rglob("crashes/*")]
    texts = [report.read_text() for report in reports]
    for report in reports:
        report.unlink()
    assert not texts, "\n".join(texts)


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    path = tmp_path_factory.mktemp("recording") / "demo.json"
    run_karptui("record", "--demo", str(path), environment=environment)
    return path


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a recording of two nodes and four pods, for programs whose screens do not matter."""
    return a_file(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def kubeconfig(recording: Path, environment: dict[str, str]) -> Iterator[Path]:
    """Return the kubeconfig of a local API server with the objects of the recording."""
    api = FakeApi()
    versions: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for number, document in enumerate(json.loads(recording.read_text())["objects"]):
        group, _, version = document["apiVersion"].rpartition("/")
        kind = document["kind"]
        plural = f"{kind.lower()}{'es' if kind.endswith('s') else 's'}"
        document["metadata"].setdefault("uid", f"uid-{number}")
        api.put(f"/apis/{group}/{version}/{plural}" if group else f"/api/{version}/{plural}", document)
        versions[group][version][plural] = {
            "resource": plural,
            "responseKind": {"kind": kind},
            "scope": "Namespaced" if "namespace" in document["metadata"] else "Cluster",
            "verbs": ["list", "watch"],
        }
    groups = [
        {
            "metadata": {"name": group},
            "versions": [{"version": name, "resources": [*plurals.values()]} for name, plurals in result.items()],
        }
        for group, result in versions.items()
        if group
    ]

    def answer(call: Call) -> None:
        if call.path == "/apis":
            call.json({"kind": "APIGroupDiscoveryList", "items": groups})
        else:
            api(call)

    with LoopbackServer(answer) as server:
        path = recording.with_name("kubeconfig")
        cluster = {"name": CLUSTER, "cluster": {"server": server.url}}
        user = {"name": CLUSTER, "user": {"token": "of-nobody"}}
        context = {"name": CLUSTER, "context": {"cluster": CLUSTER, "user": CLUSTER}}
        document = {"clusters": [cluster], "users": [user], "contexts": [context], "current-context": CLUSTER}
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **document}))
        yield path


@pytest.fixture
def arguments(request: pytest.FixtureRequest) -> list[str]:
    """Return the flags that open a source: demo, snapshot or live."""
    if request.param == "demo":
        return ["--demo"]
    if request.param == "snapshot":
        return ["--snapshot", str(request.getfixturevalue("recording"))]
    return ["--kubeconfig", str(request.getfixturevalue("kubeconfig"))]


def is_nodes(view: View) -> bool:
    """Whether the first screen is shown, with its cursor on the first row."""
    return view.title == "Nodes" and view.cursor == 0 and not view.has_dialog


@pytest.fixture(scope="module")
def programs() -> Iterator[list[Program]]:
    """Return the list with the program that the tests of a module share; empty before the first test."""
    running: list[Program] = []
    yield running
    for program in running:
        program.close()


@pytest.fixture
def program(programs: list[Program], recording: Path, environment: dict[str, str]) -> Iterator[Program]:
    """Return a program that shows the nodes of the recording. It ends after a test that leaves another screen open."""
    if not programs:
        programs.append(karptui("--snapshot", str(recording), environment=environment))
        programs[0].wait("the nodes", is_nodes)
        # Until every removal is simulated, rows may be sorted again: then the cursor leaves the first row.
        programs[0].wait("the savings", lambda view: "held up to" in view.text)
    yield programs[0]
    programs[0].press("1")
    try:
        programs[0].wait("the nodes", is_nodes, seconds=5)
    except AssertionError:
        programs.pop().close()
