"""Everything about the pending pods of one generation of a cluster: values, never changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec

from karptui.pending.groups import PendingGroup


class PendingReport(msgspec.Struct, frozen=True, eq=False, dict=True):
    """One generation; compared by identity."""

    generation: int
    """Of the cluster."""
    now_ns: int
    """The instant that it holds for: nanoseconds since the epoch."""
    groups: tuple[PendingGroup, ...] = ()
    """The pods, folded."""
    notes: tuple[str, ...] = ()
    """What was assumed about instance types, in sentences."""

    @cached_property
    def by_pod(self) -> Mapping[str, PendingGroup]:
        """The group of each pod, by ``namespace/name``."""
        return {pod.key: group for group in self.groups for pod in group.pods}

    @property
    def explained(self) -> int:
        """Groups whose explanation has been worked out, or that need none."""
        return sum(group.explanation is not None or group.diagnosis.error is None for group in self.groups)
