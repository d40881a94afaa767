"""NodeClasses of any provider, with their spec unchanged, and references to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karptui.karpenter.labels import AUTO_MODE_GROUP, AWS_GROUP
from karptui.kube.objects import EMPTY, Condition, KubeObject, true_condition

EC2_KIND: Final = "EC2NodeClass"
"""The AWS provider's kind."""
METADATA_ENDPOINT: Final = "metadataOptions.httpEndpoint"
"""Field of an EC2NodeClass that switches off the service from which an instance reads its user data."""


class NodeClassRef(msgspec.Struct, frozen=True, gc=False):
    """A reference to a NodeClass."""

    group: str = ""
    kind: str = ""
    name: str = ""

    @property
    def key(self) -> str:
        """Key of the referenced NodeClass."""
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
    """The original object, for editing and hashing."""

    @property
    def key(self) -> str:
        """``kind/name``, because NodeClasses of two providers may share a name."""
        return nodeclass_key(self.kind, self.name)

    @property
    def is_ready(self) -> bool:
        """Whether its Ready condition is True."""
        return true_condition(self.conditions, "Ready") is not None


def nodeclass_key(kind: str, name: str) -> str:
    """Return a NodeClass's key, unique among all providers."""
    return f"{kind}/{name}"


def is_ec2(nodeclass: NodeClass | NodeClassRef) -> bool:
    """Return whether a NodeClass or reference is the AWS provider's; a reference's group may be missing."""
    return nodeclass.kind == EC2_KIND and nodeclass.group in ("", AWS_GROUP)


def is_auto_mode(nodeclass: NodeClass | NodeClassRef) -> bool:
    """Return whether a NodeClass or reference is EKS Auto Mode's."""
    return nodeclass.group == AUTO_MODE_GROUP
