"""A scenario: what is changed and what is replayed."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from karptui.whatif.edits import AnyEdit


class Replay(StrEnum):
    """What is asked of Karpenter's model, before and after the edits."""

    PENDING = "pending"
    """What the provisioner does next with the pods that wait."""
    SCRATCH = "scratch"
    """Where every workload pod would land if none had a node."""
    REMOVE = "remove"
    """What happens to the pods of the nodes that the scenario removes."""
    NEXT = "next"
    """Which disruption Karpenter would carry out next."""


class Scenario(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Edits under a name."""

    name: str = "unnamed"
    replay: Replay = Replay.PENDING
    edits: tuple[AnyEdit, ...] = ()
    """In the order in which they take effect."""
