"""The exact request of an action, the permission that it needs, and who wrote the fields that it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from karptui.actions.action import ANNOTATIONS, API_KINDS, Action, Document, Operation, Target, joined

FIELD_MANAGER: Final = "karptui"
MERGE_PATCH: Final = "application/merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
JSON: Final = "application/json"


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """A permission, by the names of RBAC."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def title(self) -> str:
        """Verb and resource, as in ``create pods/eviction in web``."""
        group = f".{self.group}" if self.group else ""
        part = f"/{self.subresource}" if self.subresource else ""
        return f"{self.verb} {self.resource}{group}{part}{f' in {self.namespace}' if self.namespace else ''}"


class Autoscaler(msgspec.Struct, frozen=True):
    """A HorizontalPodAutoscaler, with the bounds of its replicas."""

    name: str
    least: int
    most: int


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request that changes an object, except as a dry run."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    content_type: str
    body: Mapping[str, Any]

    @property
    def is_dry_run(self) -> bool:
        """Whether it changes nothing."""
        return ("dryRun", "All") in self.query

    @property
    def url(self) -> str:
        """Path and query."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


def path_of(target: Target, version: str = "") -> str:
    """Return the path of an object.

    Args:
        version: of its API; empty for the usual one.
    """
    kind = API_KINDS[target.kind]
    root = f"/apis/{kind.group}/{version or kind.version}" if kind.group else f"/api/{kind.version}"
    within = f"/namespaces/{quote(target.namespace, safe='')}" if target.namespace else ""
    return f"{root}{within}/{kind.plural}/{quote(target.name, safe='')}"


def version_of(action: Action) -> str:
    """Return the API version of an action's object."""
    manifest = action.manifest or {}
    return str(manifest.get("apiVersion", "")).rpartition("/")[2] or API_KINDS[action.target.kind].version


def autoscalers_path(target: Target) -> str:
    """Return the path of the HorizontalPodAutoscalers in an object's namespace."""
    return f"/apis/autoscaling/v2/namespaces/{quote(target.namespace, safe='')}/horizontalpodautoscalers"


def autoscalers_of(target: Target, listed: Document) -> tuple[Autoscaler, ...]:
    """Return the HorizontalPodAutoscalers of a list that scale an object."""
    specs = [(str(item["metadata"]["name"]), item.get("spec") or {}) for item in listed.get("items") or ()]
    refs = [(name, spec, spec.get("scaleTargetRef") or {}) for name, spec in specs]
    return tuple(
        Autoscaler(name, spec.get("minReplicas", 1), spec.get("maxReplicas", 0))
        for name, spec, ref in refs
        if (ref.get("kind"), ref.get("name")) == (target.kind, target.name)
    )


_PARTS: Final = {Operation.EVICT: "eviction", Operation.SCALE: "scale"}
_VERBS: Final = {Operation.EVICT: "create", Operation.DELETE: "delete"}


def access_of(action: Action) -> Access:
    """Return the permission that an action needs."""
    target, kind = action.target, API_KINDS[action.target.kind]
    return Access(
        verb=_VERBS.get(action.operation, "patch"),
        group=kind.group,
        version=version_of(action),
        resource=kind.plural,
        subresource=_PARTS.get(action.operation, ""),
        namespace=target.namespace,
        name=target.name,
    )


def request_of(action: Action, live: Document, *, is_dry_run: bool) -> Request:
    """Return the request of an action; it fails if the object has changed since.

    Args:
        live: the current object.
    """
    target = action.target
    path = path_of(target, version_of(action))
    metadata = live.get("metadata") or {}
    preconditions = {field: metadata[field] for field in ("uid", "resourceVersion") if metadata.get(field)}
    dry: dict[str, Any] = {"dryRun": ["All"]} if is_dry_run else {}
    query = (("dryRun", "All"),) if is_dry_run else ()
    match action.operation:
        case Operation.DELETE:
            # With a body the server does not read dryRun from the query.
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions, **dry}
            return Request(method="DELETE", path=path, query=query, content_type=JSON, body=options)
        case Operation.EVICT:
            eviction = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": target.name, "namespace": target.namespace},
                "deleteOptions": {"preconditions": preconditions, **dry},
            }
            return Request(method="POST", path=f"{path}/eviction", query=query, content_type=JSON, body=eviction)
        case Operation.APPLY:
            manifest = dict(action.manifest or {})
            manifest["metadata"] = {**manifest["metadata"], **preconditions}
            query = (("fieldManager", FIELD_MANAGER), ("fieldValidation", "Strict"), *query)
            return Request(method="PATCH", path=path, query=query, content_type=APPLY_PATCH, body=manifest)
    query = (("fieldManager", FIELD_MANAGER), *query)
    body = joined({"metadata": preconditions}, _patch_of(action))
    part = _PARTS.get(action.operation)
    path = f"{path}/{part}" if part else path
    return Request(method="PATCH", path=path, query=query, content_type=MERGE_PATCH, body=body)


def _patch_of(action: Action) -> dict[str, Any]:
    match action.operation:
        case Operation.CORDON:
            return {"spec": {"unschedulable": True}}
        case Operation.UNCORDON:
            return {"spec": {"unschedulable": None}}
        case Operation.SCALE:
            return {"spec": {"replicas": action.replicas}}
        case Operation.DO_NOT_DISRUPT | Operation.DO_NOT_REPAIR:
            return {"metadata": {"annotations": {ANNOTATIONS[action.operation]: action.value}}}
        case _:
            return {"metadata": {"annotations": {ANNOTATIONS[action.operation]: None}}}


def merge_patched(document: Document, patch: Document) -> dict[str, Any]:
    """Return a document with a JSON merge patch applied (RFC 7386)."""
    merged = dict(document)
    for key, part in patch.items():
        if part is None:
            merged.pop(key, None)
        elif isinstance(part, Mapping):
            before = merged.get(key)
            merged[key] = merge_patched(before if isinstance(before, Mapping) else {}, part)
        else:
            merged[key] = part
    return merged


def managers_of(action: Action, live: Document) -> tuple[str, ...]:
    """Return the field managers, other than karptui, of the fields that a patch changes."""
    metadata = live.get("metadata") or {}
    paths = list(_field_paths(_patch_of(action))) if action.operation in _PATCHED else []
    return tuple(
        dict.fromkeys(
            str(entry.get("manager"))
            for entry in metadata.get("managedFields") or ()
            if isinstance(entry, Mapping) and entry.get("manager") != FIELD_MANAGER
            if any(_has(entry.get("fieldsV1"), path) for path in paths)
        )
    )


_PATCHED: Final = frozenset(Operation) - {Operation.DELETE, Operation.EVICT, Operation.APPLY}


def _field_paths(patch: Document, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, part in patch.items():
        path = (*above, f"f:{key}")
        if isinstance(part, Mapping):
            yield from _field_paths(part, path)
        else:
            yield path


def _has(fields: object, path: tuple[str, ...]) -> bool:
    for step in path:
        if not isinstance(fields, Mapping) or step not in fields:
            return False
        fields = fields[step]
    return True
