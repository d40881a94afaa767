"""Added and removed nodes, NodeClaims and pods: folded by NodePool and by owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Protocol

import msgspec

from karptui.changes.row import ObjectChange, What
from karptui.decode.kinds import Kind
from karptui.karpenter.labels import NODEPOOL
from karptui.kube.generated_names import WRITTEN_KINDS, stem, written_owner

REQUESTS: Final = "requests"


class _Version(Protocol):
    @property
    def manifest(self) -> msgspec.Raw: ...


class _Owner(msgspec.Struct):
    kind: str = ""
    name: str = ""
    controller: bool | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None


class _Resources(msgspec.Struct):
    requests: dict[str, str | int | float] | None = None


class _Container(msgspec.Struct):
    name: str = ""
    resources: _Resources | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str | None = ""
    containers: list[_Container] | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec | None = None


_OBJECT: Final = msgspec.json.Decoder(_Object, strict=False)
_NOTHING: Final = _Object()


class _Fold:
    """Objects of one owner or NodePool."""

    def __init__(self) -> None:
        self.added = self.removed = self.moved = 0
        self.requests_before: dict[str, str] = {}
        self.requests_after: dict[str, str] = {}


Objects = Mapping[tuple[str, str], _Version]
_FOLDED: Final = (Kind.NODE, Kind.NODECLAIM, Kind.POD)


def folded_changes(before: Objects, after: Objects) -> Iterator[ObjectChange]:
    """Yield added and removed nodes and NodeClaims by NodePool, pods by owner, and changed requests."""
    folds: dict[tuple[str, str], _Fold] = {}
    for kind in _FOLDED:
        for ref in {ref for side in (before, after) for ref in side if ref[0] == kind}:
            _add(folds, str(kind), before.get(ref), after.get(ref))
    for (name_of_kind, name), fold in folds.items():
        if fold.added or fold.removed or fold.moved:
            what = What.CAME_AND_GONE
            yield ObjectChange(name_of_kind, name, what, added=fold.added, removed=fold.removed, moved=fold.moved)
        old, new = fold.requests_before, fold.requests_after
        # Pods of Jobs, and pods without an owner, need not be alike.
        if old and new and old != new and name.partition("/")[0] in WRITTEN_KINDS:
            yield ObjectChange(name_of_kind, name, What.CHANGED, REQUESTS, old, new)


def _add(folds: dict[tuple[str, str], _Fold], kind: str, before: _Version | None, after: _Version | None) -> None:
    if before is not None and after is not None and bytes(before.manifest) == bytes(after.manifest):
        return
    old, new = _decoded(before), _decoded(after)
    is_same = before is not None and after is not None and old.metadata.uid == new.metadata.uid
    fold = folds.setdefault((kind, _fold_of(kind, new if after is not None else old)), _Fold())
    is_pod = kind == Kind.POD
    if is_pod and before is not None and after is not None and _node(old) and _node(new) and _node(old) != _node(new):
        fold.moved += 1  # a StatefulSet's pod has the same name, but another identity
    elif not is_same:
        fold.added += after is not None
        fold.removed += before is not None
    if is_pod:
        if before is not None and (not is_same or _requests(old) != _requests(new)):
            fold.requests_before = fold.requests_before or _requests(old)
        if after is not None and (not is_same or _requests(old) != _requests(new)):
            fold.requests_after = fold.requests_after or _requests(new)


def _decoded(version: _Version | None) -> _Object:
    try:
        return _OBJECT.decode(version.manifest) if version is not None else _NOTHING
    except msgspec.MsgspecError:
        return _NOTHING


def _node(item: _Object) -> str:
    return (item.spec.node_name or "") if item.spec is not None else ""


def _requests(item: _Object) -> dict[str, str]:
    containers = (item.spec.containers or []) if item.spec is not None else []
    is_single = len(containers) == 1
    return {
        resource if is_single else f"{container.name}.{resource}": str(amount)
        for container in containers
        for resource, amount in sorted(((container.resources or _Resources()).requests or {}).items())
    }


def _fold_of(kind: str, item: _Object) -> str:
    """Return the NodePool of a node or NodeClaim, or the owner of a pod."""
    labels = item.metadata.labels or {}
    if kind != Kind.POD:
        return labels.get(NODEPOOL, "") or "(no NodePool)"
    owners = item.metadata.owner_references or []
    owner = next((owner for owner in owners if owner.controller), None)
    if owner is None:
        return f"Pod/{item.metadata.namespace}/-"
    owner_kind, name = written_owner(owner.kind, owner.name, labels)
    name = name if owner_kind in WRITTEN_KINDS else stem(name)
    return f"{owner_kind}/{item.metadata.namespace}/{name}"
