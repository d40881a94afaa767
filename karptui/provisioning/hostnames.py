"""Host names of the nodes that a run would make, and pods by host name as messages show them.

Rules: ``NewNodeClaim`` in ``pkg/controllers/provisioning/scheduling/nodeclaim.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

from karptui.provisioning.topology_group import TopologyGroup


class Hostnames:
    """Host names of one run."""

    __slots__ = ("_given", "_known", "_shown")

    def __init__(self) -> None:
        self._given = 0
        self._known: Iterable[str] = ()
        """Every host name there is at the end of the run; walked through only once a message shows them."""
        self._shown: dict[TopologyGroup, dict[str, int]] = {}

    def next(self) -> str:
        """Return a host name that stands for a node that will come."""
        self._given += 1
        return f"hostname-placeholder-{self._given:04d}"

    def shown_counts(self, group: TopologyGroup) -> dict[str, int]:
        """Return the counts of a rule for its message, which shows those at the end of the run."""
        if not group.is_hostname:
            return group.counts
        counts = self._shown.get(group)
        if counts is None:
            counts = self._shown[group] = {}
            self._fill(group, counts)
        return counts

    def finish(self, known: Iterable[str]) -> None:
        """Fill in the counts that messages show, which name hosts without pods too.

        Args:
            known: Host names of the nodes that exist and of the claims.
        """
        self._known = known
        for group, counts in self._shown.items():
            self._fill(group, counts)

    def _fill(self, group: TopologyGroup, counts: dict[str, int]) -> None:
        self._known = tuple(self._known)
        counts.update(dict.fromkeys(self._known, 0))
        counts.update(group.counts)
