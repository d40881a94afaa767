"""The demo as a server of actions: they change its own world, by the rules of an API server."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from zlib import crc32

import msgspec

from karptui.actions.action import API_KINDS, Document
from karptui.actions.request import Access, Request, merge_patched
from karptui.sources.actions.permit import NotAllowedError, Permit, covers
from karptui.sources.cluster.errors import ApiError
from karptui.sources.demo.machines import drain
from karptui.sources.demo.pods import arrive, evict, successor
from karptui.sources.demo.source import DemoSource
from karptui.sources.demo.world import DemoPlay, Manifest, is_owned_by, key_of, terminating

_KINDS: Final = {kind.plural: name for name, kind in API_KINDS.items()}


class DemoServer:
    """Answers requests from the world of a demo."""

    def __init__(self, demo: DemoSource) -> None:
        self._demo = demo

    @property
    def context(self) -> str:
        """Name of the context."""
        return self._demo.title

    @property
    def url(self) -> str:
        """Address of the server, as in the permit."""
        return self._demo.title

    def may(self, access: Access) -> tuple[bool, str]:  # noqa: ARG002 - everyone may do everything
        """Return that the user has a permission."""
        return True, ""

    def user(self) -> tuple[str, str]:
        """Return the user's name."""
        return "demo", "kubeconfig"

    def get(self, path: str) -> Document:
        """Return an object, or the HorizontalPodAutoscalers, of which there are none; raises ApiError."""
        if path.endswith("/horizontalpodautoscalers"):
            return {"items": []}
        return self._demo.act(lambda play: _versioned(_manifest_at(play, path)))

    def write(self, permit: Permit, request: Request) -> Document:
        """Carry out a request, and return the answer; raises ApiError."""
        if not covers(permit, self.url):
            raise NotAllowedError("actions are not allowed on this server")
        return self._demo.act(partial(_written, request=request))

    def close(self) -> None:
        """Do nothing: there is no connection."""


def _parts(path: str) -> tuple[str, str, str]:
    """Return kind, key and subresource of a path."""
    words = path.strip("/").split("/")
    words = words[2:] if words[0] == "api" else words[3:]
    namespace = ""
    if words[0] == "namespaces" and len(words) > 3:
        namespace, words = f"{words[1]}/", words[2:]
    return _KINDS[words[0]], f"{namespace}{words[1]}", words[2] if len(words) > 2 else ""


def _manifest_at(play: DemoPlay, path: str) -> Manifest:
    kind, key, _ = _parts(path)
    manifest = play.world.get(kind, key)
    if manifest is None:
        raise ApiError(404, "NotFound", f'{kind} "{key}" not found')
    return manifest


def _versioned(manifest: Manifest) -> Manifest:
    """Return an object with a resourceVersion that tells its content."""
    bare = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": ""}}
    version = str(crc32(msgspec.json.encode(bare)))
    return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}


def _written(play: DemoPlay, *, request: Request) -> Document:
    *_, part = _parts(request.path)
    manifest = _manifest_at(play, request.path)
    body = dict(request.body)
    options = body if request.method == "DELETE" else body.get("deleteOptions") or {}
    _check_seen(manifest, options.get("preconditions") or body.get("metadata") or {})
    if request.method == "DELETE":
        return manifest if request.is_dry_run else _deleted(play, manifest)
    if part == "eviction":
        if play.world.is_held(manifest):
            raise ApiError(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")
        if not request.is_dry_run:
            evict(play, manifest)
        return {"kind": "Status", "status": "Success"}
    patch = {key: value for key, value in body.items() if key not in ("metadata", "apiVersion", "kind")}
    metadata = body.get("metadata") or {}
    patch["metadata"] = {key: value for key, value in metadata.items() if key in ("annotations", "labels")}
    after = merge_patched(manifest, patch)
    if not request.is_dry_run:
        play.world.put(after)
        if part == "scale":
            _scale(play, after)
    return {"kind": "Scale", "spec": {"replicas": after["spec"]["replicas"]}} if part == "scale" else after


def _check_seen(manifest: Manifest, seen: Mapping[str, Any]) -> None:
    present = _versioned(manifest)["metadata"]
    name = present["name"]
    for field in ("uid", "resourceVersion"):
        if seen.get(field, present[field]) != present[field]:
            raise ApiError(409, "Conflict", f'Operation cannot be fulfilled on "{name}": the object has been modified')


def _deleted(play: DemoPlay, claim: Manifest) -> Document:
    world = play.world
    node = next((m for m in world.of("Node") if m["spec"].get("providerID") == claim["status"].get("providerID")), None)
    if "deletionTimestamp" in claim["metadata"]:
        return claim
    after = world.put(terminating(claim, play.now_ns, grace_seconds=0))
    if node is None or not claim["status"].get("providerID"):
        world.remove(after)
    else:
        world.put(terminating(node, play.now_ns, grace_seconds=0))
        play.after(2.0, partial(drain, node=node))
    return after


def _scale(play: DemoPlay, workload: Manifest) -> None:
    """Bring the pods of a workload to its number, at once; a workload without pods stays without."""
    world = play.world
    owners = {workload["metadata"]["uid"]}
    for replicaset in world.of("ReplicaSet"):
        if _is_owned(replicaset, owners):
            world.put({**replicaset, "spec": {**replicaset["spec"], "replicas": workload["spec"]["replicas"]}})
            owners.add(replicaset["metadata"]["uid"])
    pods = [m for m in world.of("Pod") if _is_owned(m, owners) and "deletionTimestamp" not in m["metadata"]]
    pods.sort(key=key_of)
    missing = workload["spec"]["replicas"] - len(pods)
    for pod in pods[workload["spec"]["replicas"] :]:
        world.remove(pod)
    if pods and not is_owned_by(pods[0], "StatefulSet"):
        for _ in range(missing):
            arrive(play, successor(play, pods[0]))


def _is_owned(manifest: Manifest, uids: set[str]) -> bool:
    return any(owner["uid"] in uids for owner in manifest["metadata"].get("ownerReferences", ()))
