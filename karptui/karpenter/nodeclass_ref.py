"""References from NodePools and NodeClaims to their NodeClass."""

from __future__ import annotations

import msgspec


class NodeClassRef(msgspec.Struct, frozen=True, gc=False):
    """Which NodeClass of which provider."""

    group: str = ""
    kind: str = ""
    name: str = ""
