"""NodeClasses of any provider, and references to them; the spec stays as the provider wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karptui.karpenter.labels import AUTO_MODE_GROUP, AWS_GROUP
from karptui.kube.objects import EMPTY, Condition, KubeObject, condition_of

EC2_KIND: Final = "EC2NodeClass"
"""The kind of the AWS provider."""


class NodeClassRef(msgspec.Struct, frozen=True, gc=False):
    """Which NodeClass of which provider."""

    group: str = ""
    kind: str = ""
    name: str = ""

    @property
    def key(self) -> str:
        """Of the NodeClass it refers to."""
        return nodeclass_key(self.kind, self.name)


class NodeClass(KubeObject, frozen=True, kw_only=True, gc=False):
    """An EC2NodeClass, KWOKNodeClass, AKSNodeClass or any other."""

    group: str
    kind: str
    version: str = ""
    spec: Mapping[str, Any] = EMPTY
    status: Mapping[str, Any] = EMPTY
    conditions: tuple[Condition, ...] = ()
    raw: Mapping[str, Any] = EMPTY
    """The object as it was given, for editing and hashing."""

    @property
    def key(self) -> str:
        """``kind/name``: NodeClasses of two providers may share a name."""
        return nodeclass_key(self.kind, self.name)

    @property
    def is_ready(self) -> bool:
        """Whether its Ready condition is True."""
        ready = condition_of(self.conditions, "Ready")
        return ready is not None and ready.status == "True"


def nodeclass_key(kind: str, name: str) -> str:
    """Return the key of a NodeClass among those of every provider."""
    return f"{kind}/{name}"


def is_aws_group(ref: NodeClassRef) -> bool:
    """Tell whether what refers to a NodeClass may mean the AWS provider's: a reference may leave the group out."""
    return ref.group in ("", AWS_GROUP)


def is_ec2(nodeclass: NodeClass | NodeClassRef) -> bool:
    """Tell whether a NodeClass, or what refers to one, is the AWS provider's; a reference may leave the group out."""
    return nodeclass.kind == EC2_KIND and nodeclass.group in ("", AWS_GROUP)


def is_auto_mode(nodeclass: NodeClass | NodeClassRef) -> bool:
    """Tell whether a NodeClass, or what refers to one, is EKS Auto Mode's."""
    return nodeclass.group == AUTO_MODE_GROUP
