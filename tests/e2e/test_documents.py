"""The what-if editor and a real kube-apiserver must agree on which objects are valid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.sources.cluster.connection import load_connection
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.source import Phase
from karptui.whatif.export import strategic_patch
from karptui.whatif.schema.schema import KindSchema, Origin, schemas_from_crds, shipped_schemas
from karptui.whatif.schema.validation import object_violations
from karptui.whatif.yaml.tree import ProblemSeverity
from tests.builders import present
from tests.sources.cluster.live import WatchedMailbox
from tests.whatif.schema.mutations import mutate
from tests.whatif.schema.objects import DEPLOYMENT, OBJECTS, PDB

from .control_plane import Client, ControlPlane
from .definitions import collection

pytestmark = pytest.mark.apiserver

MUTATIONS = 70
"""Number of mutations per kind."""

UNIQUELY_NAMED = [
    {**manifest, "metadata": {**manifest["metadata"], "name": f"documents-{manifest['metadata']['name']}"}}
    for manifest in OBJECTS
]
"""Objects with unique names: other modules leave a NodePool `general` on the shared control plane."""


@pytest.fixture(scope="module", name="plane")
def plane_with_karpenter(karpenter_plane: ControlPlane) -> ControlPlane:
    return karpenter_plane


def server_errors(client: Client, method: str, path: str, body: Any) -> str:
    """Return the error of the API server; empty if it accepts the object."""
    reply = client.request(method, f"{path}?dryRun=All&fieldValidation=Strict", body, expect=None)
    if isinstance(reply, dict) and reply.get("kind") == body["kind"]:
        return ""
    return str(reply["message"]) if isinstance(reply, dict) else str(reply)


def editor_errors(body: dict[str, Any], old: dict[str, Any] | None = None) -> str:
    """Return the errors of the editor; empty if it accepts the object."""
    kind = present(shipped_schemas().get(body["apiVersion"], body["kind"]))
    violations, unchecked = object_violations(body, kind, old)
    assert not unchecked
    return "; ".join(f"{item.path}: {item.message}" for item in violations if item.severity is ProblemSeverity.ERROR)


def differences(client: Client, base: dict[str, Any], *, is_update: bool) -> Iterator[str]:
    """Yield the mutations that only one of the two accepts."""
    kind = present(shipped_schemas().get(base["apiVersion"], base["kind"]))
    path = collection(kind)
    for seed in range(MUTATIONS):
        body, done = mutate(base, seed)
        if is_update:
            theirs = server_errors(client, "PUT", f"{path}/{base['metadata']['name']}", body)
            ours = editor_errors(body, base)
        else:
            theirs = server_errors(client, "POST", path, body)
            ours = editor_errors(body)
        if bool(theirs) != bool(ours):
            yield f"seed {seed}: {done}\n  server: {theirs or 'takes it'}\n  editor: {ours or 'takes it'}"


@contextmanager
def stored(client: Client, kind: KindSchema, base: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Create an object and delete it after the context, because other tests create it too."""
    yield client.request("POST", collection(kind), json.loads(json.dumps(base)))
    client.request("DELETE", f"{collection(kind)}/{base['metadata']['name']}")


@pytest.mark.parametrize("base", UNIQUELY_NAMED, ids=lambda base: base["kind"])
def test_editor_and_server_agree_on_new_objects(client: Client, base: dict[str, Any]) -> None:
    texts = list(differences(client, base, is_update=False))
    assert not texts, "\n".join(texts)


@pytest.mark.parametrize("base", UNIQUELY_NAMED, ids=lambda base: base["kind"])
def test_editor_and_server_agree_on_changes(client: Client, base: dict[str, Any]) -> None:
    kind = present(shipped_schemas().get(base["apiVersion"], base["kind"]))
    with stored(client, kind, base) as there:
        version = there["metadata"].get("resourceVersion", "")
        base = {**base, "metadata": {**base["metadata"], "resourceVersion": version}}
        texts = list(differences(client, base, is_update=True))
    assert not texts, "\n".join(texts)


@pytest.mark.parametrize("base", [DEPLOYMENT, PDB], ids=lambda base: base["kind"])
def test_the_editor_rejects_kubernetes_objects_only_if_the_server_does(client: Client, base: dict[str, Any]) -> None:
    kind = present(shipped_schemas().get(base["apiVersion"], base["kind"]))
    refused, result = 0, []
    for seed in range(2 * MUTATIONS):
        body, done = mutate(base, seed)
        ours = editor_errors(body)
        refused += bool(ours)
        if ours and not server_errors(client, "POST", collection(kind), body):
            result.append(f"seed {seed}: {done}\n  editor: {ours}")
    assert refused > MUTATIONS / 2
    assert not result, "\n".join(result)


def test_strategic_patches_produce_the_edited_object(client: Client) -> None:
    kind = present(shipped_schemas().get(DEPLOYMENT["apiVersion"], DEPLOYMENT["kind"]))
    path = f"{collection(kind)}/{DEPLOYMENT['metadata']['name']}"
    taken, result = 0, []
    with stored(client, kind, DEPLOYMENT):
        for seed in range(3 * MUTATIONS):
            body, done = mutate(DEPLOYMENT, seed)
            if server_errors(client, "PUT", path, body):
                continue
            taken += 1
            wanted = client.request("PUT", f"{path}?dryRun=All", body)["spec"]
            patch = strategic_patch(DEPLOYMENT, body, kind.schema)
            reply = client.request("PATCH", f"{path}?dryRun=All", patch, patch="strategic-merge", expect=None)
            if not isinstance(reply, dict) or reply.get("spec") != wanted:
                result.append(f"seed {seed}: {done}\n  patch: {json.dumps(patch)}\n  answer: {str(reply)[:300]}")
    assert taken > MUTATIONS / 4
    assert not result, "\n".join(result)


def test_documents_are_validated_against_the_crds_of_the_cluster(plane: ControlPlane, client: Client) -> None:
    source, mailbox = ClusterSource(load_connection(kubeconfig=plane.kubeconfig, environ={})), WatchedMailbox()
    source.start(mailbox)
    try:
        kinds = (Kind.NODEPOOL, Kind.NODECLASS)
        mailbox.until(
            lambda: all(getattr(mailbox.statuses.get(kind), "phase", None) is Phase.LIVE for kind in kinds), 60.0
        )
        schemas = schemas_from_crds(source.crds())
    finally:
        source.stop()
    pool = present(schemas.get("karpenter.sh/v1", "NodePool"))
    assert pool.origin is Origin.CLUSTER
    assert schemas.origin.startswith("the cluster's CRDs")
