from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from karptui.actions.action import Action, Operation, action_on, applied, is_in_effect
from karptui.actions.audit_record import Result
from karptui.clock import SystemClock
from karptui.sources.actions.audit import AuditFile
from karptui.sources.actions.demo import DemoServer
from karptui.sources.actions.guard import permit_for
from karptui.sources.actions.writer import Writer
from karptui.sources.cluster.errors import ApiError
from karptui.sources.demo.source import DemoSource
from karptui.sources.source import Mailbox
from tests.builders import present

from .permits import ALLOWED


class Demo:
    def __init__(self, audit: Path) -> None:
        self.source = DemoSource(clock=SystemClock(), is_stepped=True)
        self.mailbox = Mailbox()
        self.source.start(self.mailbox)
        self.mailbox.drain()
        permit = permit_for(self.source, ALLOWED, most_objects=10, is_asked=False)
        self.writer = Writer(permit, DemoServer(self.source), AuditFile(audit))

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [manifest for manifest in self.source.manifests() if manifest["kind"] == kind]

    def carry_out(self, action: Action) -> Result:
        live = present(self.writer.look(action))
        after = self.writer.try_out(action, live)
        assert self.writer.look(action) == live, "the dry run changed the object"
        outcome = self.writer.carry_out(action, live, after, reason="", diff=())
        assert is_in_effect(action, self.writer.look(action), live["metadata"]["uid"], after)
        return outcome.result


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    result = Demo(tmp_path / "audit")
    yield result
    result.source.stop()


@pytest.mark.parametrize("operation", [Operation.CORDON, Operation.DO_NOT_DISRUPT, Operation.DO_NOT_REPAIR])
def test_changes_of_a_node_are_reported(demo: Demo, operation: Operation) -> None:
    name = demo.all("Node")[0]["metadata"]["name"]
    assert demo.carry_out(action_on(operation, "Node", name)) is Result.DONE
    [delta] = demo.mailbox.drain().batch.deltas.values()
    assert set(delta.objects) == {name}


def test_a_claim_that_is_deleted_drains_its_node(demo: Demo) -> None:
    claim = next(c for c in demo.all("NodeClaim") if c["status"].get("nodeName"))
    assert demo.carry_out(action_on(Operation.DELETE, "NodeClaim", claim["metadata"]["name"])) is Result.DONE
    node = next(n for n in demo.all("Node") if n["spec"]["providerID"] == claim["status"]["providerID"])
    assert "deletionTimestamp" in node["metadata"]


def test_an_eviction_that_a_pdb_forbids_is_refused(demo: Demo) -> None:
    results = {}
    for pod in demo.all("Pod"):
        if pod["status"]["phase"] != "Running":
            continue
        action = action_on(Operation.EVICT, "Pod", f"{pod['metadata']['namespace']}/{pod['metadata']['name']}")
        live = present(demo.writer.look(action))
        try:
            demo.writer.try_out(action, live)
        except ApiError as error:
            results[error.status] = action
        else:
            results[200] = action
    assert results.keys() == {200, 429}
    assert demo.carry_out(results[200]) is Result.DONE


@pytest.mark.parametrize("change", [-1, 2])
def test_a_deployment_is_scaled(demo: Demo, change: int) -> None:
    workload = next(d for d in demo.all("Deployment") if d["spec"]["replicas"] > 1)
    key = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
    app = workload["spec"]["selector"]["matchLabels"]["app"]
    count = workload["spec"]["replicas"] + change

    def pods() -> int:
        return sum(
            p["metadata"].get("labels", {}).get("app") == app and "deletionTimestamp" not in p["metadata"]
            for p in demo.all("Pod")
        )

    before = pods()
    assert demo.carry_out(action_on(Operation.SCALE, "Deployment", key, replicas=count)) is Result.DONE
    assert pods() == before + change


def test_a_nodepool_is_edited(demo: Demo) -> None:
    pool = demo.all("NodePool")[0]
    manifest = {key: pool[key] for key in ("apiVersion", "kind", "metadata")}
    assert demo.carry_out(applied({**manifest, "spec": {"weight": 77}})) is Result.DONE


def test_an_object_changed_since_it_was_read_is_not_overwritten(demo: Demo) -> None:
    action = action_on(Operation.CORDON, "Node", demo.all("Node")[0]["metadata"]["name"])
    live = present(demo.writer.look(action))
    demo.carry_out(action_on(Operation.DO_NOT_DISRUPT, "Node", action.target.name))
    assert demo.writer.carry_out(action, live, None, reason="", diff=()).status == 409
    gone = action_on(Operation.CORDON, "Node", "none")
    assert demo.writer.look(gone) is None
