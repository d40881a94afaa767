"""What is relied upon of the official client, which must hold for every version that pyproject.toml allows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from kubernetes.client.api.core_v1_api import CoreV1Api

from karptui.sources.cluster.official_client import api_client

from .live import Serve, transport_to


def test_writes_go_out_over_the_own_transport(serve: Serve) -> None:
    server = serve(lambda call: call.json({"metadata": {"name": "n"}}))
    api = CoreV1Api(api_client(transport_to(server, token="secret")))
    api.patch_node("n", {"spec": {"unschedulable": True}}, dry_run="All", field_manager="karptui")
    (call,) = server.calls
    assert call.method == "PATCH"
    assert call.path == "/api/v1/nodes/n"
    assert call.query == {"dryRun": "All", "fieldManager": "karptui"}
    assert json.loads(call.body) == {"spec": {"unschedulable": True}}
    assert "patch+json" in call.headers["Content-Type"]
    assert call.token == "secret"


FOLLOW = """
import sys, time
from karptui.cli.main import build_parser
from karptui.cli.source import connect
from karptui.sources.mailbox import Mailbox
args = build_parser(None).parse_args(["--kubeconfig", sys.argv[1]])
mailbox = Mailbox()
source = connect(args, None)
source.start(mailbox)
deadline = time.monotonic() + 20
phases = {}
while time.monotonic() < deadline and phases.get("Node") != "live":
    time.sleep(0.02)
    phases.update({str(kind): str(status.phase) for kind, status in mailbox.drain().statuses.items()})
print(phases.get("Node"), [name for name in ("kubernetes", "boto3", "botocore") if name in sys.modules])
"""


@pytest.mark.parametrize("has_token", [False, True])
def test_neither_client_is_imported_before_the_first_rows(serve: Serve, tmp_path: Path, *, has_token: bool) -> None:
    empty = {"metadata": {"resourceVersion": "1"}, "items": []}
    server = serve(lambda call: call.error(422) if call.is_watch else call.json(empty))
    kubeconfig = tmp_path / "config"
    config = {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": server.url}}],
        "users": [{"name": "a", "user": {"token": "secret"} if has_token else {}}],
    }
    kubeconfig.write_text(json.dumps(config))
    done = subprocess.run(
        [sys.executable, "-c", FOLLOW, str(kubeconfig)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "live []"
