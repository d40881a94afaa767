from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from karptui import files
from karptui.actions.action import Action, Operation, action_on, applied
from karptui.actions.audit_record import AuditDiff, Outcome, Result
from karptui.config import ContextSettings
from karptui.sources.actions.audit import LONGEST_LINE, AuditError, AuditFile, read_audit, shortened
from karptui.sources.actions.guard import permit_for
from karptui.sources.actions.permit import NotAllowedError, Permit
from karptui.sources.actions.writer import LiveServer, Writer
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.official_client import api_client
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.demo.source import DemoSource, LargeDemo
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from karptui.sources.source import Source
from tests.builders.files import written
from tests.fake_api_server import Call, LoopbackServer
from tests.sources.cluster.live import transport_to

from .permits import ALLOWED, connection, permit, writer_to

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "a", "uid": "u1", "resourceVersion": "7"},
    "spec": {},
}
CORDON = action_on(Operation.CORDON, "Node", "a")
CORDONED = {**NODE, "spec": {"unschedulable": True}}


def server_that(write: Callable[[Call], None], *, shows: Callable[[], Any] = lambda: NODE) -> LoopbackServer:
    def answer(call: Call) -> None:
        if call.method == "GET":
            live = shows()
            call.json(live) if live is not None else call.error(404, "not found", "NotFound")
        elif call.path.endswith("/selfsubjectreviews"):
            call.json({"status": {"userInfo": {"username": "jane\x1b[2J"}}})
        else:
            write(call)

    return LoopbackServer(answer)


def carry_out(server: LoopbackServer, audit: Path, action: Action = CORDON, **more: Any) -> Outcome:
    diff = (AuditDiff("spec.unschedulable", None, after=True),)
    after = more.pop("after", None)
    return writer_to(server.url, audit, **more).carry_out(action, NODE, after, reason="maintenance", diff=diff)


def lines(audit: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in audit.read_text().splitlines()]


def test_the_audit_file_gets_a_line_before_and_after_the_write(tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    seen: list[list[dict[str, Any]]] = []

    def write(call: Call) -> None:
        seen.append(lines(audit))
        call.json(CORDONED)

    with server_that(write) as server:
        assert carry_out(server, audit) == Outcome(result=Result.DONE)
    [[before]] = seen
    assert (before["phase"], before["action"], before["reason"]) == ("before", "cordon", "maintenance")
    assert before["user"] == "jane\x1b[2J"
    assert before["userFrom"] == "server"
    assert before["object"] == {"kind": "Node", "name": "a", "uid": "u1", "resourceVersion": "7"}
    assert (before["method"], before["path"]) == ("PATCH", "/api/v1/nodes/a?fieldManager=karptui")
    assert before["diff"] == [{"field": "spec.unschedulable", "before": None, "after": True}]
    first, after = lines(audit)
    assert first == before
    assert (after["phase"], after["outcome"], after["id"]) == ("after", "done", before["id"])
    assert stat.S_IMODE(audit.stat().st_mode) == 0o600


def test_a_dry_run_writes_no_audit_line(tmp_path: Path) -> None:
    with server_that(lambda call: call.json(CORDONED)) as server:
        assert writer_to(server.url, tmp_path / "audit").try_out(CORDON, NODE) == CORDONED
        assert server.calls[-1].query == {"fieldManager": "karptui", "dryRun": "All"}
    assert not (tmp_path / "audit").exists()


@pytest.mark.parametrize("place", ["folder", "link", "missing", "pipe"])
def test_nothing_is_sent_if_the_audit_file_cannot_be_written(tmp_path: Path, place: str) -> None:
    import os

    audit = tmp_path / "audit"
    match place:
        case "folder":
            audit.mkdir()
        case "link":
            audit.symlink_to(tmp_path / "elsewhere")
        case "missing":
            audit = tmp_path / "no" / "audit"
        case _:
            os.mkfifo(audit)
    with server_that(lambda call: call.json(CORDONED)) as server:
        with pytest.raises(AuditError, match="cannot be written"):
            carry_out(server, audit)
        assert {call.method for call in server.calls} <= {"GET", "POST"}
        assert not any(call.method == "PATCH" for call in server.calls)


def status(code: int, reason: str, message: str, **details: Any) -> Callable[[Call], None]:
    return lambda call: call.json(
        {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}, code
    )


@pytest.mark.parametrize(("code", "reason", "message", "causes"), [
    (403, "Forbidden", 'nodes "a" is forbidden: User "jane" cannot patch resource "nodes"', []),
    (409, "Conflict", "the object has been modified; please apply your changes to the latest version", []),
    (409, "Conflict", 'Apply failed with 1 conflict: conflict with "flux": .spec.weight',
     [{"field": ".spec.weight", "message": 'conflict with "flux"'}]),
    (422, "Invalid", 'NodePool.karpenter.sh "general" is invalid: spec.weight: Invalid value: 900',
     [{"field": "spec.weight", "message": "Invalid value: 900"}]),
    (429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.", []),
    (400, "", 'admission webhook "policy.example.com" denied the request: no cordons on Fridays', []),
])  # fmt: skip
def test_the_servers_refusal_is_quoted(tmp_path: Path, code: int, reason: str, message: str, causes: list[Any]) -> None:
    audit = tmp_path / "audit"
    with server_that(status(code, reason, message, causes=causes)) as server:
        outcome = carry_out(server, audit)
        assert sum(call.method == "PATCH" for call in server.calls) == 1
    expected = tuple((cause["field"], cause["message"]) for cause in causes)
    assert outcome == Outcome(result=Result.REFUSED, status=code, message=message, causes=expected)
    after = lines(audit)[1]
    assert (after["outcome"], after["status"], after["message"]) == ("refused", code, message)


@pytest.mark.parametrize("has_effect", [True, False])
@pytest.mark.parametrize("fault", ["cut", "stall", "500", "nonsense"])
def test_the_object_is_read_again_if_the_answer_is_lost(tmp_path: Path, fault: str, *, has_effect: bool) -> None:
    live = [NODE]

    def write(call: Call) -> None:
        if has_effect:
            live[0] = CORDONED
        match fault:
            case "cut":
                call.cut()
            case "stall":
                call.stall()
            case "500":
                call.error(500, "etcdserver: request timed out", "InternalError")
            case _:
                call.text("<html>")

    with server_that(write, shows=lambda: live[0]) as server:
        outcome = carry_out(server, tmp_path / "audit", request_seconds=0.2)
        assert sum(call.method == "PATCH" for call in server.calls) == 1
    assert outcome.result is (Result.DONE if has_effect else Result.FAILED)
    assert outcome.was_looked_up
    assert outcome.message
    assert lines(tmp_path / "audit")[1]["outcome"] == outcome.result


def test_the_outcome_is_unknown_if_the_object_cannot_be_read_again(tmp_path: Path) -> None:
    is_down = [False]

    def answer(call: Call) -> None:
        if call.path.endswith("/selfsubjectreviews"):
            call.error(404)
        else:
            is_down[0] = is_down[0] or call.method == "PATCH"
            call.cut() if is_down[0] else call.json(NODE)

    with LoopbackServer(answer) as server:
        outcome = carry_out(server, tmp_path / "audit")
    assert outcome.result is Result.UNKNOWN
    assert "cannot be read either" in outcome.message
    before, after = lines(tmp_path / "audit")
    assert (before["user"], before["userFrom"]) == ("dev", "kubeconfig")
    assert after["outcome"] == "unknown"


def test_a_lost_deletion_is_done_if_the_object_has_another_uid(tmp_path: Path) -> None:
    action = action_on(Operation.DELETE, "NodeClaim", "a")
    other = {**NODE, "metadata": {**NODE["metadata"], "uid": "new"}}
    with server_that(lambda call: call.cut(), shows=lambda: other) as server:
        assert carry_out(server, tmp_path / "audit", action).result is Result.DONE


def test_a_missing_permission_is_named(tmp_path: Path) -> None:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}}
    denied = {**review, "status": {"allowed": False, "reason": "no RBAC policy matched"}}
    with server_that(lambda call: call.json(denied, 201)) as server:
        writer = writer_to(server.url, tmp_path / "audit")
        scale = action_on(Operation.SCALE, "Deployment", "web/a", replicas=2)
        assert writer.missing(scale) == "patch deployments.apps/scale in web (no RBAC policy matched)"
        asked = json.loads(server.calls[-1].body)["spec"]["resourceAttributes"]
    assert asked == {
        "verb": "patch", "group": "apps", "version": "v1", "resource": "deployments", "subresource": "scale",
        "namespace": "web", "name": "a",
    }  # fmt: skip


def test_a_manifest_is_sent_as_a_server_side_apply_patch(tmp_path: Path) -> None:
    document = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "a"}, "spec": {"weight": 1}}
    with server_that(lambda call: call.json(document)) as server:
        writer_to(server.url, tmp_path / "audit").try_out(applied(document), NODE)
        call = server.calls[-1]
    assert call.headers["Content-Type"] == "application/apply-patch+yaml"
    assert "force" not in call.query
    assert json.loads(call.body)["metadata"] == {"name": "a", "uid": "u1", "resourceVersion": "7"}


def test_an_error_while_reading_the_object_is_raised(tmp_path: Path) -> None:
    with LoopbackServer(lambda call: call.error(403, "no", "Forbidden")) as server, pytest.raises(ApiError):
        writer_to(server.url, tmp_path / "audit").look(CORDON)


def test_unreadable_audit_lines_are_counted_and_long_diffs_shortened(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    AuditFile(path).begin(
        context="c", server="s", user="u", user_from="server", action="cordon", object={"name": "a"}, method="PATCH",
        path="/", diff=shortened(iter([("x" * 9_000, "y" * 9_000, {"a": "z" * 9_000})] * 900)),
    )  # fmt: skip
    with path.open("ab") as file:
        file.write(b"[" * 100_000 + b"\n\xff\xfe\n{}\n\n" + b'{"time": 1}\n' + b"x" * (LONGEST_LINE + 1) + b"\n")
    records, unreadable = read_audit(path)
    assert [(record.action, record.diff) for record in records] == [
        ("cordon", (AuditDiff("201 fields, too long to keep"),))
    ]
    assert unreadable == 5


def refusal(source: Source, settings: ContextSettings = ALLOWED, *, is_asked: bool = True, **more: Any) -> str:
    with pytest.raises(NotAllowedError) as refused:
        permit_for(source, settings, most_objects=10, is_asked=is_asked, **more)
    return str(refused.value)


LIVE = ClusterSource(connection("https://a"))


OFF, READ_ONLY = ContextSettings(), ContextSettings(allow_actions=True, read_only=True)


def test_actions_need_a_flag_and_a_live_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for source in (LIVE, DemoSource()):
        assert "start with --allow-actions" in refusal(source, OFF, is_asked=False)
    assert "marks the context test as read_only" in refusal(LIVE, READ_ONLY)
    path = written(tmp_path / "a.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    for still in (SnapshotSource(SnapshotReader(karpenter_version="").read([path])), LargeDemo()):
        assert "is not a live cluster" in refusal(still)
    assert "at a past moment" in refusal(LIVE, is_past=True)
    monkeypatch.setattr(files, "_forbidden", True)
    assert "served to a browser" in refusal(LIVE)


def test_only_the_guard_can_create_a_permit(tmp_path: Path) -> None:
    with pytest.raises(NotAllowedError):
        Permit(object(), "https://a", 10)
    server = LiveServer(connection("https://a"))
    for other in (cast("Any", None), cast("Any", object()), permit("https://b")):
        with pytest.raises(NotAllowedError):
            Writer(other, server, AuditFile(tmp_path / "audit"))


def test_a_write_without_a_permit_sends_no_bytes() -> None:
    with LoopbackServer(lambda call: call.json({})) as server:
        transport = transport_to(server)
        for given in (cast("Any", None), permit("https://elsewhere")):
            with pytest.raises(NotAllowedError):
                transport.write(given, "PATCH", "/api/v1/nodes/a", b"{}")
        with pytest.raises(NotAllowedError):
            transport.review("/api/v1/nodes", b"{}")
        with pytest.raises(NotAllowedError):
            api_client(transport).rest_client.request("DELETE", f"{server.url}/api/v1/nodes/a", headers={}, body={})
        assert server.calls == []


def test_only_the_permit_and_guard_modules_use_the_guard_object() -> None:
    package = Path(files.__file__).parent
    users = {str(path.relative_to(package)) for path in package.rglob("*.py") if "GUARD" in path.read_text()}
    assert users == {"sources/actions/permit.py", "sources/actions/guard.py"}
