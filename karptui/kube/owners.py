"""Owner references."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class OwnerReference(msgspec.Struct, frozen=True, gc=False):
    """One entry of ``metadata.ownerReferences``."""

    api_version: str
    kind: str
    name: str
    uid: str = ""
    controller: bool = False


def is_owned_by(owners: Iterable[OwnerReference], api_version: str, kind: str) -> bool:
    """Whether any owner has exactly this apiVersion and kind; the controller flag does not matter.

    Rule: ``isOwnedBy`` in Karpenter's pkg/utils/pod/scheduling.go.
    """
    return any(owner.kind == kind and owner.api_version == api_version for owner in owners)


def controller_of(owners: Iterable[OwnerReference]) -> OwnerReference | None:
    """Return the owner that is the controller, None where none is."""
    return next((owner for owner in owners if owner.controller), None)
