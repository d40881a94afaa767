"""Several clusters at once, each followed by a separate process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.decode.kinds import KindStatus
from karptui.session.cluster_view import ClusterView
from karptui.session.status import age_ns
from karptui.session.watch import OUTDATED_NS
from karptui.workers.children import Children

MOST_CLUSTERS: Final = 40
"""Clusters that are followed at once: each is a process."""


class WorstFinding(msgspec.Struct, frozen=True):
    """The first line of a verdict."""

    severity: str
    code: str
    text: str


class ClusterFigures(msgspec.Struct, frozen=True):
    """Figures of one cluster; None for those that are unknown."""

    nodes: int | None
    per_hour: float | None
    unpriced: int
    """Nodes whose price is unknown."""
    held: float | None
    pending: int | None
    version: str
    """Of Karpenter; empty if unknown."""
    worst: WorstFinding | None = None
    """None before the first verdict."""
    is_fine: bool = False
    """Whether the verdict has no problems; the worst finding is then the line that reports it."""


class MemberLine(msgspec.Struct, frozen=True):
    """State of one cluster at an instant, as printed by its process."""

    figures: ClusterFigures | None = None
    """None until nodes have been read."""
    read_ns: int = 0
    """When the oldest of its data was known to be current; 0 if something has not been read."""
    trouble: str = ""


class FleetRow(msgspec.Struct, frozen=True):
    """A cluster, as far as its process has told."""

    name: str
    """The context."""
    line: MemberLine = MemberLine()
    ended: str = ""
    """Why its process ended, if it does not run."""

    @property
    def trouble(self) -> str:
        """Why its data is not current; empty if that is unknown or it is."""
        return self.ended or self.line.trouble

    def is_current(self, now_ns: int) -> bool:
        """Return whether its figures can be relied on."""
        return self.line.figures is not None and bool(self.line.read_ns) and now_ns - self.line.read_ns < OUTDATED_NS


def figures_of(view: ClusterView, worst: WorstFinding | None, *, is_fine: bool) -> ClusterFigures:
    """Return the figures of a view."""
    totals, statuses, cost = view.totals, view.statuses, view.totals.cost
    held = totals.held if view.analysis is not None else None
    is_held_known = held is not None and not (held.waiting or held.unpriced)
    has_nodes = _is_read(statuses.get("Node"))
    is_priced = has_nodes and cost is not None and bool(cost.priced or not cost.unpriced)
    return ClusterFigures(
        nodes=len(view.state.nodes) if has_nodes else None,
        per_hour=cost.per_hour if cost is not None and is_priced else None,
        unpriced=cost.unpriced if cost is not None else 0,
        held=held.per_hour if held is not None and is_held_known else None,
        pending=len(view.state.pending_pods) if _is_read(statuses.get("Pod")) else None,
        version=view.evidence.karpenter_version,
        worst=worst,
        is_fine=is_fine,
    )


def _is_read(status: KindStatus | None) -> bool:
    """Return whether a kind has been read completely, even if the connection is lost now."""
    if status is None or status.phase in ("connecting", "syncing", "forbidden"):
        return False
    return status.phase in ("offline", "not installed") or bool(status.last_contact_ns)


def oldest_ns(view: ClusterView, merged_ns: int, now_ns: int) -> int:
    """Return when the oldest data of the cluster was current; 0 if a kind has not been read."""
    statuses = [status for status in view.statuses.values() if status.phase not in ("forbidden", "not installed")]
    ages = [age_ns(status, merged_ns, now_ns) for status in statuses]
    return min((now_ns - age if age is not None else 0 for age in ages), default=0)


class Fleet:
    """The clusters; their processes run between ``start`` and ``stop``."""

    def __init__(self, commands: Mapping[str, Sequence[str]], changed: Callable[[], None] = lambda: None) -> None:
        """Prepare.

        Args:
            commands: The command line of each context's process.
            changed: Called in threads when a row has changed.
        """
        self._lock = threading.Lock()
        self.rows = tuple(map(FleetRow, commands))
        """All clusters; the same object while nothing has changed."""
        self._changed = changed
        self._reads = msgspec.json.Decoder(MemberLine)
        self.children = Children(commands, self._heard, self._ended)

    def start(self) -> None:
        """Start the processes."""
        self.children.start()

    def stop(self) -> None:
        """End the processes."""
        self.children.stop()

    def _heard(self, name: str, text: bytes) -> bool:
        try:
            line = self._reads.decode(text)
        except (msgspec.DecodeError, ValueError):
            return False
        self._put(name, lambda row: FleetRow(name, line if line.figures else replace(line, figures=row.line.figures)))
        return True

    def _ended(self, name: str, why: str, seconds: float) -> None:
        self._put(name, lambda row: replace(row, ended=f"{why}; it is started again after {seconds:.0f} s"))

    def _put(self, name: str, change: Callable[[FleetRow], FleetRow]) -> None:
        with self._lock:
            self.rows = tuple(change(row) if row.name == name else row for row in self.rows)
        self._changed()
