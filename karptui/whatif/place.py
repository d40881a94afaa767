"""Where pods end up."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec


class PlaceKind(StrEnum):
    """Where a pod ends up."""

    NODE = "node"
    """On a node that exists."""
    CLAIM = "new node"
    """On a node that would be launched."""
    NONE = "no place"
    ABSENT = "absent"
    """The pod is not there on this side."""


class Place(msgspec.Struct, frozen=True, gc=False):
    """A place for a pod; equal places are equal values."""

    kind: PlaceKind
    pool_name: str = ""
    """NodePool of the node, empty for nodes that Karpenter did not make."""
    node_name: str = ""
    """Of a node that exists."""


NOWHERE: Final = Place(PlaceKind.NONE)
ABSENT: Final = Place(PlaceKind.ABSENT)
