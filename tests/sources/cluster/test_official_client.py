from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from karptui.sources.cluster.connection import Impersonation
from karptui.sources.cluster.errors import ApiError, UnreachableError
from karptui.sources.cluster.official_client import review_access
from tests.cli.files import kubeconfig
from tests.fake_api_server import Call

from .live import Serve, transport_to

PATCH_NODES = {"verb": "patch", "resource": "nodes"}


def answer(status: dict[str, object]) -> dict[str, object]:
    """Return an access review as API servers return it: the request with a status."""
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {}}
    return {**asked, "spec": {"resourceAttributes": {"verb": "patch", "resource": "nodes"}}, "status": status}


@pytest.mark.parametrize(("status", "result"), [
    ({"allowed": True, "reason": "RBAC:\nallowed"}, (True, "RBAC: allowed")),
    ({"allowed": False, "reason": None}, (False, "")),
], ids=["allowed", "denied"])  # fmt: skip
def test_access_review_names_the_user_and_is_answered(
    serve: Serve, status: dict[str, object], result: tuple[bool, str]
) -> None:
    server = serve(lambda call: call.json(answer(status), 201))
    asked = {"verb": "create", "resource": "pods", "subresource": "eviction", "namespace": "web", "name": "a"}
    whom = Impersonation("dev", groups=("a", "b"))
    assert review_access(transport_to(server, token="secret", impersonation=whom), asked) == result
    (call,) = server.calls
    assert call.path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert json.loads(call.body) == {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    assert call.token == "secret"
    assert call.headers.get_all("Impersonate-Group") == ["a", "b"]


@pytest.mark.parametrize("text", ["?", "{}", '{"status": {"allowed": "banana"}}', "[]"])
def test_answer_that_is_no_review_is_an_error(serve: Serve, text: str) -> None:
    with pytest.raises(UnreachableError, match="did not answer with an access review"):
        review_access(transport_to(serve(lambda call: call.text(text))), PATCH_NODES)


def test_errors_of_reviews_are_api_errors(serve: Serve) -> None:
    status = {"kind": "Status", "reason": "Forbidden", "message": "no reviews for you"}
    with pytest.raises(ApiError, match="no reviews for you"):
        review_access(transport_to(serve(lambda call: call.json(status, 403))), PATCH_NODES)


FOLLOW = """
import sys, time
from karptui.cli.parser import build_parser
from karptui.cli.source import connect
from karptui.sources.source import Mailbox
args = build_parser(None).parse_args(["--kubeconfig", sys.argv[1]])
mailbox = Mailbox()
source = connect(args, None)
source.start(mailbox)
deadline = time.monotonic() + 20
phases = {}
while time.monotonic() < deadline and phases.get("Node") != "live":
    time.sleep(0.02)
    phases.update({str(kind): str(status.phase) for kind, status in mailbox.drain().statuses.items()})
print(phases.get("Node"), [name for name in ("kubernetes", "boto3", "botocore", "textual") if name in sys.modules])
"""


def test_no_large_library_is_imported_before_the_first_rows(serve: Serve, tmp_path: Path) -> None:
    empty = {"metadata": {"resourceVersion": "1"}, "items": []}

    def nothing_happens(call: Call) -> None:
        if call.is_stream_list:
            call.error(422)
        elif call.is_watch:
            call.lines()
            call.stall()
        else:
            call.json(empty)

    server = serve(nothing_happens)
    words = [sys.executable, "-c", FOLLOW, kubeconfig(tmp_path, server.url)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "live []"
