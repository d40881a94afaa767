"""Everything about the pending pods of one generation of a cluster: values, never changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from karptui.pending.detail import PodDetail
from karptui.pending.groups import PendingGroup


class PendingReport:
    """One generation; compared by identity.

    Args:
        generation: Of the cluster.
        now_ns: The instant that it holds for: nanoseconds since the epoch.
        groups: The pods, folded.
        detail: The pod that somebody looks at; it may be of a generation before.
        notes: What was assumed about instance types, in sentences.
        problem: Why nothing can be said; empty where something can.
    """

    def __init__(
        self,
        generation: int,
        now_ns: int,
        groups: tuple[PendingGroup, ...] = (),
        *,
        detail: PodDetail | None = None,
        notes: tuple[str, ...] = (),
        problem: str = "",
    ) -> None:
        self.generation = generation
        self.now_ns = now_ns
        self.groups = groups
        self.detail = detail
        self.notes = notes
        self.problem = problem

    @cached_property
    def by_pod(self) -> Mapping[str, PendingGroup]:
        """The group of each pod, by ``namespace/name``."""
        return {pod.key: group for group in self.groups for pod in group.pods}

    @property
    def explained(self) -> int:
        """Groups whose explanation has been worked out, or that need none."""
        return sum(group.explanation is not None or group.standing.error is None for group in self.groups)
