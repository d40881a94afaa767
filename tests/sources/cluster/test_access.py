from __future__ import annotations

import json

import pytest

from karptui.sources.cluster.access import Permission, may
from karptui.sources.cluster.errors import UnreachableError
from karptui.sources.cluster.resources import NODES, PODS

from .live import Serve, transport_to


def test_question_and_answer(serve: Serve) -> None:
    server = serve(lambda call: call.json({"status": {"allowed": True, "reason": "RBAC:\nallowed"}}, 201))
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
    server = serve(lambda call: call.json({"status": {"allowed": False, "reason": None}}))
    assert may(transport_to(server), "patch", NODES) == Permission(is_allowed=False, reason="")


def test_answer_that_is_none(serve: Serve) -> None:
    with pytest.raises(UnreachableError, match="did not answer with an access review"):
        may(transport_to(serve(lambda call: call.text("?"))), "patch", NODES)
