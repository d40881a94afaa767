"""A cluster for a command that looks once: read until all it needs has arrived, and made ready for the engines."""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from karptui.cli.evidence import await_prices, evidence_for, evidence_source, measured_once
from karptui.cli.options import MOST_SIMULATED
from karptui.cli.source import open_source
from karptui.cli.streams import UsageError
from karptui.decode.kinds import Kind
from karptui.sources.source import COMPLETE, Mailbox, Phase
from karptui.state.cluster import EMPTY
from karptui.state.reducer import reduce

if TYPE_CHECKING:
    from karptui.aws.evidence import Evidence
    from karptui.config import Config
    from karptui.session.cluster_view import ClusterView
    from karptui.sources.snapshot.reader import Snapshot
    from karptui.sources.source import Source, SourceStatus
    from karptui.state.cluster import ClusterState
    from karptui.whatif.situation import WhatIfBase


_CLUSTERS: Final = count(1)
_COLLECTED_EVERY: Final = 16


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Keep the garbage collector from scanning a cluster while it is read, and afterwards.

    Objects that exist at the end are frozen until another cluster is read; later ones are collected as usual.
    """
    gc.unfreeze()
    if next(_CLUSTERS) % _COLLECTED_EVERY == 0:
        # Garbage of earlier clusters was frozen with them, and would stay.
        gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


PATIENCE_SECONDS: Final = 60.0
_GRACE_SECONDS: Final = 20.0
"""How long, once the needed kinds are there, to wait for the others that answers rest on."""
_LOOK_SECONDS: Final = 0.05
"""Longest interval between updates."""


class Loaded(msgspec.Struct, frozen=True):
    """A loaded cluster."""

    view: ClusterView
    now_ns: int
    complaints: tuple[str, ...]
    """Messages about missing objects; with any, the exit status is 1."""
    notes: tuple[str, ...] = ()
    """Messages about assumptions and skipped objects."""


def load(
    args: argparse.Namespace,
    needed: Sequence[Kind],
    *,
    is_listed: bool = False,
    asks: Callable[[Source], object] | None = None,
) -> Loaded:
    """Read the cluster that the flags name.

    Args:
        args: the flags of ``add_cluster_flags``.
        needed: the kinds that must have arrived.
        is_listed: whether objects are only listed, so that no other source is needed.
        asks: called once while the source still answers.

    Raises:
        RequestError: The cluster cannot be read.
    """
    from karptui.session.cluster_view import ClusterView
    from karptui.session.readiness import ASKED_BY_ENGINES
    from karptui.session.refusals import with_refusals

    source, clock = open_source(args)
    evidence = evidence_for(args, source)
    awaited = () if is_listed else (*ASKED_BY_ENGINES, Kind.EVENT)
    try:
        following = Following(source)
        following.settle(needed, PATIENCE_SECONDS, awaited=awaited)
        state, statuses = following.state, following.statuses
        await_prices(evidence, state.nodes.values(), state.nodeclasses.values())
        usage = measured_once(args, source)
        if asks is not None:
            asks(source)
    finally:
        source.stop()
    by_kind = {str(kind): status for kind, status in statuses.items()}
    refusals = with_refusals(evidence.latest(), state, clock.now_ns())
    view = ClusterView(state, by_kind, evidence=refusals, live_usage=usage)
    snapshot = getattr(source, "snapshot", None)
    # A snapshot's problems say all that its kinds do, each once.
    missing = () if snapshot is not None else (status for status in statuses.values() if _is_missing(status, needed))
    complaints = [status.last_error for status in missing]
    complaints += [_late_text(kind, statuses.get(kind)) for kind in awaited if not _is_settled(statuses.get(kind))]
    notes = [usage.sentence] if usage.sentence else []
    if snapshot is not None:
        complaints += snapshot.problems
        complaints += [_unlisted_text(statuses[kind], snapshot.name) for kind in needed if statuses[kind].is_unread]
        notes += snapshot.notes
        # Other unknown kinds do not influence the answers.
        skipped = [(kind, count) for kind, count in sorted(snapshot.unknown_kinds.items()) if ".karpenter." in kind]
        if skipped:
            counts = ", ".join(f"{count} {kind}" for kind, count in skipped)
            notes.append(f"skipped: {counts}: karptui does not know these kinds of Karpenter")
    return Loaded(view, clock.now_ns(), tuple(complaints), tuple(notes))


def with_notes(loaded: Loaded, notes: Iterable[str]) -> Loaded:
    """Return the cluster with more messages, each once."""
    return replace(loaded, notes=tuple(dict.fromkeys((*loaded.notes, *notes))))


class Following:
    """A source that is being read; the state of its cluster so far, and the status of every kind."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.state: ClusterState = EMPTY
        self.statuses: dict[Kind, SourceStatus] = {}
        self._mailbox = Mailbox()
        source.start(self._mailbox)

    def update(self, seconds: float = 0.0) -> None:
        """Wait for new objects, up to a time limit, and apply those that have arrived."""
        if seconds:
            self._mailbox.wait_for_news(seconds)
        mail = self._mailbox.drain()
        self.state = reduce(self.state, mail.batch)
        self.statuses |= mail.statuses

    def settle(self, needed: Sequence[Kind], patience_seconds: float, *, awaited: Sequence[Kind] = ()) -> None:
        """Read until the needed kinds are complete.

        Args:
            awaited: optional kinds with a short timeout.

        Raises:
            UsageError: The source cannot connect, or takes too long.
        """
        deadline = time.monotonic() + patience_seconds
        until: float | None = None
        while True:
            self.update()
            statuses = self.statuses
            if all(_is_settled(statuses.get(kind)) for kind in needed):
                until = time.monotonic() + _GRACE_SECONDS if until is None else until
                if time.monotonic() > until or all(_is_settled(statuses.get(kind)) for kind in awaited):
                    return
                self._mailbox.wait_for_news(_LOOK_SECONDS)
                continue
            gone = next((s for s in statuses.values() if s.kind in needed and s.phase is Phase.DISCONNECTED), None)
            if gone is not None:
                raise UsageError(gone.last_error or f"{self.source.title} cannot be reached")
            if time.monotonic() > deadline:
                late = ", ".join(kind for kind in needed if not _is_settled(statuses.get(kind)))
                raise UsageError(f"{self.source.title} did not send everything within {patience_seconds:.0f} s: {late}")
            self._mailbox.wait_for_news(_LOOK_SECONDS)


def _is_settled(status: SourceStatus | None) -> bool:
    return status is not None and (status.phase in COMPLETE or status.is_unread)


def _late_text(kind: Kind, status: SourceStatus | None) -> str:
    from karptui.session.status import plural

    why = f": {status.last_error}" if status is not None and status.last_error else ""
    return f"{plural(kind)} did not arrive within {_GRACE_SECONDS:.0f} s{why}; the answer ignores them"


def _unlisted_text(status: SourceStatus, name: str) -> str:
    from karptui.session.status import plural

    if status.count:
        return f"{name} has the {plural(status.kind)} of one namespace only: list them with --all-namespaces"
    return f"{name} has no {plural(status.kind)}: it was made without them, or they could not be listed"


def _is_missing(status: SourceStatus, needed: Sequence[Kind]) -> bool:
    return status.kind in needed and (status.phase is Phase.FORBIDDEN or bool(status.last_error))


def open_snapshot(snapshot: Snapshot, config: Config) -> tuple[WhatIfBase, Evidence]:
    from karptui.aws.launch_refusals import unavailable_now
    from karptui.session.prepare import open_cluster
    from karptui.sources.snapshot.source import SnapshotSource

    refused = unavailable_now(snapshot.inventory, snapshot.captured_at_ns)
    evidence = replace(evidence_source(SnapshotSource(snapshot), config).latest(), refused=refused)
    return open_cluster(snapshot.inventory, evidence, snapshot.captured_at_ns), evidence


def analysed(
    loaded: Loaded,
    *,
    simulates: bool | None,
    nodes: Sequence[str] = (),
    asks_next: bool | None = None,
    forecasts: bool = True,
) -> Loaded:
    """Return the cluster with the blockers of its nodes, and their assumptions.

    Args:
        simulates: Whether to simulate removals; None decides by the size of the cluster.
        nodes: Keys of the nodes whose removal is simulated if not all are; not more than `MOST_SIMULATED`.
        asks_next: Whether to simulate Karpenter's next command; None if removals are simulated.
        forecasts: Whether to forecast the savings of several nodes together.
    """
    from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
    from karptui.disruption.joint_saving import MOST_FORECAST_NODES
    from karptui.session.prepare import prepare_view, removal_forecasts
    from karptui.session.readiness import unready_because

    view = loaded.view
    if reason := unready_because(view):
        return replace(loaded, notes=(*loaded.notes, f"why nodes are still here is left out: {reason}"))
    prepared, notes = prepare_view(view, loaded.now_ns)
    chosen = len(view.state.nodes) <= MOST_SIMULATED if simulates is None else simulates
    steps = AnalysisSteps(prepared, view.state.generation, prices=view.evidence.price_settings)
    analysis = analyse_all(steps, None if chosen else nodes[:MOST_SIMULATED])
    if chosen if asks_next is None else asks_next:
        steps.simulate_next_pass()
        analysis = steps.analysis
    if forecasts and len(view.state.nodes) <= MOST_FORECAST_NODES:
        steps.simulate_joint_at_once(removal_forecasts(view, analysis.findings, loaded.now_ns).of)
    if simulates is None and not chosen:
        notes = (*notes, "removals are not simulated in clusters of this size: --simulate does it")
    return replace(loaded, view=view.with_answers(analysis=analysis), notes=(*loaded.notes, *notes))
