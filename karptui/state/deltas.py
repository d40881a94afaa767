"""Changes on their way into the state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from karptui.decode.kinds import Kind


class KindDelta(msgspec.Struct, frozen=True):
    """What changed in one kind since the last batch."""

    objects: Mapping[str, Any]
    """Objects by key; None stands for one that is gone."""
    replaces: bool = False
    """The objects are all there are: whatever else the state holds of this kind is gone."""


class Batch(msgspec.Struct, frozen=True):
    """What a source has told since the mailbox was last emptied."""

    deltas: Mapping[Kind, KindDelta]
