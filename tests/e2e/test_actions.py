"""Actions on a real API server: the documented Role, admission, conflicts, lost answers, and both audit logs."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import urllib3
import yaml

from karptui.actions.action import Operation, action_on
from karptui.actions.audit_record import Result
from karptui.cli.main import main
from karptui.sources.actions.audit import AuditFile
from karptui.sources.actions.writer import LiveServer, Writer
from karptui.sources.cluster.connection import Connection
from tests.builders import present
from tests.fake_api_server import Call, LoopbackServer
from tests.sources.actions.permits import permit
from tests.sources.cluster.live import TLS, server_tls

from .control_plane import TOKEN, Client, ControlPlane
from .definitions import install_definitions
from .test_permissions import POOL_SPEC, RULES

pytestmark = pytest.mark.apiserver

DOCS = Path(__file__).resolve().parents[2] / "docs"
ACTIONS: list[dict[str, Any]] = yaml.safe_load((DOCS / "actions-role.yaml").read_text())["rules"]
POLICY = "/apis/admissionregistration.k8s.io/v1"
NODE, CLAIMS = "/api/v1/nodes/n1", "/apis/karpenter.sh/v1/nodeclaims"
AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
WEBHOOK: list[Callable[[dict[str, Any]], bool]] = []
"""Functions that the webhook calls for each deletion of a NodeClaim; all must allow it."""


def review(call: Call) -> None:
    asked = json.loads(call.body)["request"]
    is_allowed = all(rule(asked) for rule in WEBHOOK)
    response = {"uid": asked["uid"], "allowed": is_allowed, "status": {"message": "not on Fridays", "code": 403}}
    call.json({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit")
    (folder / "policy.yaml").write_text(yaml.safe_dump(AUDIT))
    return folder / "log"


@pytest.fixture(scope="module")
def plane(start_plane: Callable[..., ControlPlane], log: Path) -> Iterator[ControlPlane]:
    plane = start_plane(
        f"--audit-policy-file={log.parent / 'policy.yaml'}",
        f"--audit-log-path={log}",
        "--audit-log-mode=blocking-strict",
    )
    with LoopbackServer(review, tls=server_tls()) as webhook:
        create_objects(Client(plane), webhook.port)
        yield plane


MAIN = [{"name": "main", "image": "x"}]
WEB = {"app": "web"}
DENIED = "!has(object.spec.unschedulable) || object.metadata.labels['kept'] != 'True'"
GENERAL = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"}}
OBJECTS: list[tuple[str, dict[str, Any]]] = [
    ("/api/v1/namespaces", {"metadata": {"name": "web"}}),
    *(("/api/v1/nodes", {"metadata": {"name": name, "labels": {"kept": str(name == "n2")}}}) for name in ("n1", "n2")),
    *(("/api/v1/namespaces/web/pods",
       {"metadata": {"name": name, "labels": {"app": name}},
        "spec": {"nodeName": "n1", "containers": MAIN, "terminationGracePeriodSeconds": 0}})
      for name in "abc"),
    ("/apis/policy/v1/namespaces/web/poddisruptionbudgets",
     {"metadata": {"name": "b"}, "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "b"}}}}),
    ("/apis/apps/v1/namespaces/web/deployments",
     {"metadata": {"name": "web"},
      "spec": {"replicas": 3, "selector": {"matchLabels": WEB},
               "template": {"metadata": {"labels": WEB}, "spec": {"containers": MAIN}}}}),
    ("/apis/karpenter.sh/v1/nodepools?fieldManager=flux", {**GENERAL, "spec": {**POOL_SPEC, "weight": 10}}),
    *((CLAIMS, {**GENERAL, "kind": "NodeClaim", "metadata": {"name": name}, "spec": POOL_SPEC["template"]["spec"]})
      for name in ("general-a", "general-b")),
    (f"{POLICY}/validatingadmissionpolicies",
     {"metadata": {"name": "kept"},
      "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                                                       "operations": ["UPDATE"], "resources": ["nodes"]}]},
               "failurePolicy": "Fail", "validations": [{"expression": DENIED, "message": "this node is kept"}]}}),
    (f"{POLICY}/validatingadmissionpolicybindings",
     {"metadata": {"name": "kept"}, "spec": {"policyName": "kept", "validationActions": ["Deny"]}}),
]  # fmt: skip
"""Paths of collections with the objects to create in them, an admission policy included."""


def create_objects(client: Client, webhook_port: int) -> None:
    """Create objects to act on, two users, an admission policy and a webhook."""
    install_definitions(client)
    client.allow("operator", [*RULES, *ACTIONS])
    client.allow("reader", RULES)
    for path, document in OBJECTS:
        client.request("POST", path, document)
    # The server evicts pods that do not run yet, whatever their budget says.
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    client.request("PATCH", "/api/v1/namespaces/web/pods/b/status", running)
    authority = base64.b64encode((TLS / "authority.pem").read_bytes()).decode()
    deletions = {"apiGroups": ["karpenter.sh"], "apiVersions": ["v1"], "operations": ["DELETE"]}
    hook = {
        "name": "fridays.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": f"https://127.0.0.1:{webhook_port}/", "caBundle": authority},
        "rules": [{**deletions, "resources": ["nodeclaims"]}],
    }
    hooks = {"metadata": {"name": "fridays"}, "webhooks": [hook]}
    client.request("POST", f"{POLICY}/validatingwebhookconfigurations", hooks)
    # A policy takes effect shortly after its creation.
    cordoned = {"spec": {"unschedulable": True}}
    while client.request("PATCH", "/api/v1/nodes/n2?dryRun=All", cordoned, expect=None).get("kind") == "Node":
        time.sleep(0.1)


class ActionCommand:
    """Runs `karptui do` as a user, and returns its exit status and output."""

    def __init__(self, plane: ControlPlane, capsys: pytest.CaptureFixture[str], audit: Path) -> None:
        self.plane, self.audit = plane, audit
        self._capsys = capsys

    def __call__(self, *words: str, user: str = "operator", yes: bool = True) -> tuple[int, str]:
        more = ["--as", user, "--no-aws", "--horizon", "1m"]
        more += ["--yes", "--reason", "a test", "--wait", "3s"] if yes else []
        status = main(["do", *words, *more, "--allow-actions", "--kubeconfig", self.plane.kubeconfig])
        output, error = self._capsys.readouterr()
        return status, output + error

    def recorded(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.audit.read_text().splitlines()] if self.audit.exists() else []


@pytest.fixture
def do(
    plane: ControlPlane,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> ActionCommand:
    monkeypatch.setattr("karptui.session.actions.audit_file", lambda: tmp_path / "audit.jsonl")
    monkeypatch.setenv("KARPTUI_CONFIG", str(tmp_path / "none.toml"))
    WEBHOOK.clear()
    return ActionCommand(plane, capsys, tmp_path / "audit.jsonl")


RELAYED_HEADERS = ("Accept", "Authorization", "Content-Type", "Impersonate-User")


def sent_changes(log: Path) -> list[tuple[str, str, str]]:
    """Return the user's real changes (no reads, reviews or dry runs), from the audit log of the API server."""
    entries = map(json.loads, log.read_text().splitlines())
    return [
        (entry["verb"], entry["requestURI"], "done" if entry["responseStatus"]["code"] < 300 else "refused")
        for entry in entries
        if entry.get("impersonatedUser", {}).get("username") == "operator"
        and entry["stage"] == "ResponseComplete"
        and entry["verb"] not in ("get", "list", "watch")
        and "reviews" not in entry["requestURI"]
        and "dryRun=All" not in entry["requestURI"]
    ]


VERBS = {"PATCH": "patch", "DELETE": "delete", "POST": "create"}


def test_every_action_works_with_the_documented_role_and_is_in_both_audit_logs(
    do: ActionCommand, log: Path, tmp_path: Path
) -> None:
    client = Client(do.plane)
    already = len(sent_changes(log))
    assert do("cordon", "n1")[0] == 0
    assert client.request("GET", NODE)["spec"]["unschedulable"] is True
    assert do("uncordon", "n1")[0] == 0
    assert "unschedulable" not in client.request("GET", NODE)["spec"]
    assert do("do-not-disrupt", "n1")[0] == do("do-not-repair", "n1")[0] == 0
    assert client.request("GET", NODE)["metadata"]["annotations"] == {
        "karpenter.sh/do-not-disrupt": "true",
        "karpenter.sh/do-not-repair": "true",
    }
    assert do("remove-do-not-disrupt", "n1")[0] == do("remove-do-not-repair", "n1")[0] == 0
    assert do("do-not-disrupt", "web/b", "--value", "30m")[0] == 0
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    autoscaler = {"metadata": {"name": "web"}, "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 9}}
    client.request("POST", "/apis/autoscaling/v2/namespaces/web/horizontalpodautoscalers", autoscaler)
    status, text = do("scale", "deploy/web/web", "--replicas", "5")
    assert status == 0
    assert "HorizontalPodAutoscaler web (2 to 9 replicas) scales it and may undo this" in text
    assert client.request("GET", "/apis/apps/v1/namespaces/web/deployments/web")["spec"]["replicas"] == 5
    assert do("evict", "web/a", "--confirm", "a")[0] == 0
    assert "web/a" not in client.keys("/api/v1/pods")
    assert do("delete", "general-a", "--confirm", "general-a")[0] == 0
    assert client.keys(CLAIMS) == {"general-b"}
    (tmp_path / "pool.yaml").write_text(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: general}\nspec: {limits: {cpu: 10}}\n"
    )
    status, text = do("apply", "-f", str(tmp_path / "pool.yaml"))
    assert status == 0, text
    pool = client.request("GET", "/apis/karpenter.sh/v1/nodepools/general")
    assert (pool["spec"]["limits"], pool["spec"]["weight"]) == ({"cpu": 10}, 10)
    ours = [line for line in do.recorded() if line["phase"] == "after"]
    assert {line["user"] for line in ours} == {"operator"}
    assert [(VERBS[line["method"]], line["path"], line["outcome"]) for line in ours] == sent_changes(log)[already:]
    assert len(ours) == 11


def test_without_confirmation_only_dry_runs_are_sent(do: ActionCommand, log: Path) -> None:
    client = Client(do.plane)
    before = client.request("GET", NODE), client.keys("/api/v1/pods"), client.keys(CLAIMS), sent_changes(log)
    for words in (("cordon", "n1"), ("evict", "web/c"), ("delete", "general-b"), ("do-not-repair", "n1")):
        status, text = do(*words, yes=False)
        assert status == 0, text
        assert "server's dry run: accepted" in text
    assert (client.request("GET", NODE), client.keys("/api/v1/pods"), client.keys(CLAIMS), sent_changes(log)) == before
    assert do.recorded() == []


@pytest.mark.parametrize(("words", "missing"), [
    (("cordon", "n1"), "patch nodes"),
    (("delete", "general-b"), "delete nodeclaims.karpenter.sh"),
    (("evict", "web/b"), "create pods/eviction in web"),
    (("scale", "deploy/web/web", "--replicas", "0"), "patch deployments.apps/scale in web"),
])  # fmt: skip
def test_with_the_role_of_a_reader_the_missing_permission_is_named(
    do: ActionCommand, words: tuple[str, ...], missing: str
) -> None:
    status, text = do(*words, user="reader")
    assert status == 1
    assert f"✖ not permitted: {missing}" in text
    assert do.recorded() == []


def test_rejections_by_a_policy_a_webhook_and_a_budget_are_quoted(do: ActionCommand) -> None:
    status, text = do("cordon", "n2")
    assert status == 1
    assert "ValidatingAdmissionPolicy 'kept' with binding 'kept' denied request: this node is kept" in text
    WEBHOOK.append(lambda _: False)
    status, text = do("delete", "general-b", "--confirm", "general-b")
    assert status == 1
    assert 'admission webhook "fridays.example.com" denied the request: not on Fridays' in text
    # No controller has processed the budget yet, so the server asks to retry later.
    status, text = do("evict", "web/b", "--confirm", "b")
    assert status == 1
    assert "(429): Cannot evict pod as it would violate the pod's disruption budget." in text
    assert do.recorded() == []


def test_a_webhook_that_denies_only_the_real_request_is_recorded(do: ActionCommand) -> None:
    WEBHOOK.append(lambda asked: bool(asked["dryRun"]))
    status, text = do("delete", "general-b", "--confirm", "general-b")
    assert status == 1
    assert "✖ refused by the server: delete NodeClaim general-b (403)" in text
    assert "not on Fridays" in text
    assert do.recorded()[1]["outcome"] == "refused"
    assert "general-b" in Client(do.plane).keys(CLAIMS)


def test_applying_a_field_of_another_manager_is_a_conflict(do: ActionCommand, tmp_path: Path) -> None:
    file = tmp_path / "pool.yaml"
    head = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: general}\n"
    file.write_text(f"{head}spec: {{weight: 20}}\n")
    status, text = do("apply", "-f", str(file))
    assert status == 1
    assert '(409): Apply failed with 1 conflict: conflict with "flux"' in text
    assert ".spec.weight: " in text
    file.write_text(f"{head}spec: {{weight: 900}}\n")
    status, text = do("apply", "-f", str(file))
    assert status == 1
    file.write_text(f"{head}spec: {{wieght: 9}}\n")
    status, text = do("apply", "-f", str(file))
    assert status == 1
    assert "wieght" in text
    assert do.recorded() == []


def test_an_action_is_reported_as_failed_if_the_server_dies_during_the_request(do: ActionCommand) -> None:
    def die(asked: dict[str, Any]) -> bool:
        if not asked["dryRun"]:
            do.plane.kill_server()
            threading.Thread(target=do.plane.start_server).start()
        return True

    WEBHOOK.append(die)
    status, text = do("delete", "general-b", "--confirm", "general-b")
    do.plane.await_server()
    assert status == 1
    assert "✖ not carried out: delete NodeClaim general-b" in text
    assert "a later read shows the object unchanged" in text
    assert do.recorded()[1]["outcome"] == "failed"
    assert "general-b" in Client(do.plane).keys(CLAIMS)


def test_the_outcome_is_looked_up_if_the_answer_is_lost(do: ActionCommand) -> None:
    pool = urllib3.PoolManager(ca_certs=str(do.plane.folder / "pki" / "apiserver.crt"), retries=False)

    def relay(call: Call) -> None:
        url = f"{do.plane.url}{call.path}?{urlencode(call.query)}"
        headers = {name: call.headers[name] for name in RELAYED_HEADERS if name in call.headers}
        answer = pool.request(call.method, url, headers=headers, body=call.body or None)
        if call.method == "PATCH" and "dryRun" not in call.query:
            call.cut()
        else:
            call.text(answer.data, answer.status, Content_Type="application/json")

    with LoopbackServer(relay) as server:
        reached = Connection(server=server.url, context="e2e", token=TOKEN)
        writer = Writer(permit(server.url), LiveServer(reached), AuditFile(do.audit))
        action = action_on(Operation.CORDON, "Node", "n1")
        live = present(writer.look(action))
        outcome = writer.carry_out(action, live, writer.try_out(action, live), reason="a test", diff=())
    assert (outcome.result, outcome.was_looked_up) == (Result.DONE, True)
    assert Client(do.plane).request("PATCH", NODE, {"spec": {"unschedulable": None}})
    assert (do.recorded()[1]["outcome"], do.recorded()[1]["user"]) == ("done", "admin")
