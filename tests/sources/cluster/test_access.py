from __future__ import annotations

import json

import pytest

from karptui.sources.cluster.access import Permission, may
from karptui.sources.cluster.connection import Impersonation
from karptui.sources.cluster.errors import ApiError, UnreachableError
from karptui.sources.cluster.resources import NODES, PODS

from .live import Serve, transport_to


def answer(status: dict[str, object]) -> dict[str, object]:
    """Return a review as API servers send it back: what was asked, and their answer."""
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {}}
    return {**asked, "spec": {"resourceAttributes": {"verb": "patch", "resource": "nodes"}}, "status": status}


def test_question_and_answer(serve: Serve) -> None:
    server = serve(lambda call: call.json(answer({"allowed": True, "reason": "RBAC:\nallowed"}), 201))
    permission = may(transport_to(server), "create", PODS, namespace="web", name="a", subresource="eviction")
    assert permission == Permission(is_allowed=True, reason="RBAC: allowed")
    call = server.calls[0]
    assert call.path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert json.loads(call.body) == {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {
            "resourceAttributes": {
                "verb": "create",
                "version": "v1",
                "resource": "pods",
                "subresource": "eviction",
                "namespace": "web",
                "name": "a",
            }
        },
    }


def test_denied(serve: Serve) -> None:
    server = serve(lambda call: call.json(answer({"allowed": False, "reason": None}), 201))
    assert may(transport_to(server), "patch", NODES) == Permission(is_allowed=False, reason="")


@pytest.mark.parametrize("text", ["?", "{}", '{"status": {"allowed": "banana"}}', "[]"])
def test_answer_that_is_none(serve: Serve, text: str) -> None:
    with pytest.raises(UnreachableError, match="did not answer with an access review"):
        may(transport_to(serve(lambda call: call.text(text))), "patch", NODES)


def test_errors_are_told_as_those_of_every_request(serve: Serve) -> None:
    status = {"kind": "Status", "reason": "Forbidden", "message": "no reviews for you"}
    with pytest.raises(ApiError, match="no reviews for you"):
        may(transport_to(serve(lambda call: call.json(status, 403))), "patch", NODES)


def test_questions_carry_who_asks(serve: Serve) -> None:
    server = serve(lambda call: call.json(answer({"allowed": True}), 201))
    whom = Impersonation("dev", groups=("a", "b"))
    assert may(transport_to(server, token="secret", impersonation=whom), "patch", NODES).is_allowed
    (call,) = server.calls
    assert call.token == "secret"
    assert call.headers.get_all("Impersonate-Group") == ["a", "b"]
