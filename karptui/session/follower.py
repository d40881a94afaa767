"""Follows one cluster: its source, and the newest view of its state."""

from __future__ import annotations

import threading
from typing import Any, Final

import msgspec

from karptui import crash
from karptui.aws.evidence import decides_alike
from karptui.decode.kinds import Kind
from karptui.session.analyst import Analyst
from karptui.session.cluster_view import ClusterView
from karptui.session.readiness import out_of_reach, unready_because
from karptui.session.refusals import RefusalReader
from karptui.sources.evidence import EvidenceSource
from karptui.sources.history.tap import HistoryTap
from karptui.sources.source import Mailbox, Source, SourceError
from karptui.state.cluster import EMPTY, ClusterState
from karptui.state.reducer import Batch, KindDelta, reduce

LARGE_FROM_PODS: Final = 3_000


class ClusterFollower:
    """The state of one cluster, from the first connection to the last."""

    def __init__(
        self,
        source: Source | None,
        state: ClusterState = EMPTY,
        *,
        evidence: EvidenceSource | None = None,
        analyst: Analyst | None = None,
        tap: HistoryTap | None = None,
    ) -> None:
        self.source = source
        self.tap = tap
        """Records the history; None if it is not recorded."""
        self.evidence = evidence or EvidenceSource()
        self.view = ClusterView(state, {}, evidence=self.evidence.latest())
        """What screens show; replaced, never changed."""
        self.failure = ""
        """Why the source could not start; empty when it did."""
        self.trouble = ""
        """Error message if some changes could not be merged."""
        self._state = state
        """The newest state; newer than the view only if building its view failed."""
        self._is_behind = False
        """Whether the newest state has no view."""
        self._left_out: dict[tuple[Kind, str], str] = {}
        """Objects that could not be taken over, and why."""
        self.analyst = analyst or Analyst()
        """Works out why nodes are still here."""
        self._mailbox = Mailbox(shows_nodes_first=True, tap=tap)
        self._polling = threading.Lock()
        self._asks_for_evidence = False
        self._refusals = RefusalReader()
        self.priced_from = 0
        """The generation of the last change of prices, offerings or settings."""

    @property
    def title(self) -> str:
        """Name in the top bar."""
        return self.source.title if self.source is not None else "no cluster"

    @property
    def caution(self) -> str:
        """Warning about the connection, for the banner; usually empty."""
        return self.source.caution if self.source is not None else ""

    @property
    def is_large(self) -> bool:
        """Whether taking over a change takes longer than a key should wait."""
        return len(self.view.state.pods) + self._mailbox.waiting > LARGE_FROM_PODS

    @property
    def has_news(self) -> bool:
        """Whether a kind was completed or lost since the last merge."""
        return self._mailbox.has_news

    def start(self) -> None:
        """Let the source begin."""
        if self.source is not None:
            try:
                self.source.start(self._mailbox)
            except SourceError as error:
                self.failure = str(error)

    @property
    def knows_nodes(self) -> bool:
        """Whether listing nodes has finished, even with none or an error."""
        status = self.view.statuses.get(Kind.NODE)
        return status is not None and status.phase not in ("connecting", "syncing")

    def first_rows_shown(self) -> None:
        """Let the source read the other kinds, and request prices, metrics and Karpenter's settings."""
        self._mailbox.nodes_shown()
        if not self._asks_for_evidence:
            self._asks_for_evidence = True
            self.evidence.start()
            if self.tap is not None:
                self.tap.start(lambda: (self.view.evidence, self.view.live_usage))

    def stop(self) -> None:
        """End the source."""
        self.analyst.stop()
        self._asks_for_evidence = True  # whoever still means to ask comes too late
        self.evidence.stop()
        if self.source is not None:
            self.source.stop()
        if self.tap is not None:
            self.tap.stop()

    def poll(self, now_ns: int = 0) -> bool:
        """Merge the source's changes and return whether there were any. May be called in a thread.

        Args:
            now_ns: nanoseconds since the epoch, recorded for objects that are gone; nothing is recorded with 0.
        """
        with self._polling:
            return self._poll(now_ns)

    def _poll(self, now_ns: int) -> bool:
        mail, before = self._mailbox.drain(), self.view
        statuses = {**before.statuses, **{str(kind): status for kind, status in mail.statuses.items()}}
        analysis, pending, advice = self.analyst.latest, self.analyst.pending, self.analyst.advice
        if out_of_reach(statuses):
            # Kinds that can no longer be read look empty: earlier results are about another cluster.
            analysis = pending = advice = None
        if self.tap is not None:
            self.evidence.record_usage(is_recorded=self.tap.is_recording)
        usage = self.evidence.live_usage()
        is_same = analysis is before.analysis and pending is before.pending and advice is before.advice
        is_same = is_same and usage is before.live_usage
        if not self._is_behind:
            self._state = before.state
        state = self._state = self._reduced(mail.batch, now_ns) if mail.batch else self._state
        evidence = self._refusals.added(self.evidence.latest(), state, now_ns)
        if mail.is_empty and evidence is before.evidence and is_same:
            return False
        if not decides_alike(evidence, before.evidence):
            # As if the cluster had changed: results of other prices and settings are invalid.
            state = self._state = msgspec.structs.replace(
                state, generation=state.generation + 1, engines_from=state.generation + 1
            )
            self.priced_from = state.generation
        try:
            view = ClusterView(
                state,
                statuses,
                before,
                evidence=evidence,
                analysis=analysis,
                pending=pending,
                advice=advice,
                live_usage=usage,
            )
            _ = view.totals  # computed here, off the event loop
        except Exception as error:  # noqa: BLE001  the last view is still worth showing
            crash.record(error, "linking nodes, NodeClaims and pods")
            self._is_behind = True
            self._say_trouble(crash.sentence(error))
            return True
        self._is_behind = False
        self._say_trouble()
        self.view = view
        self.evidence.use_region(self.view.place.region)
        return True

    def _reduced(self, batch: Batch, now_ns: int) -> ClusterState:
        touched = {(kind, key) for kind, delta in batch.deltas.items() for key in delta.objects}
        for place in touched & self._left_out.keys():
            del self._left_out[place]
        try:
            return reduce(self._state, batch, now_ns)
        except Exception as error:  # noqa: BLE001  one object must not hide all others
            crash.record(error, "applying changes")
        state = reduce(self._state, Batch({}, batch.unread), now_ns)
        for kind, delta in batch.deltas.items():
            parts = [KindDelta({}, replaces=True)] if delta.replaces else []
            parts += [KindDelta({key: item}) for key, item in delta.objects.items()]
            for part in parts:
                try:
                    state = reduce(state, Batch({kind: part}), now_ns)
                except Exception as error:  # noqa: BLE001  as above
                    self._left_out.update(((kind, key), crash.sentence(error)) for key in part.objects)
        return state

    def _say_trouble(self, problem: str = "") -> None:
        if problem:
            self.trouble = f"changes cannot be shown: {problem}"
        elif self._left_out:
            (kind, key), why = next(iter(self._left_out.items()))
            more = f" and {len(self._left_out) - 1} more" if len(self._left_out) > 1 else ""
            self.trouble = f"{kind.value} {key}{more} cannot be shown: {why}"
        else:
            self.trouble = ""

    def refresh(self) -> None:
        """Have everything tried again at once, whatever it waits for."""
        if self.source is not None:
            self.source.refresh()
        self.evidence.refresh()

    def want_usage(self) -> None:
        """Announce that live usage is on the screen."""
        self.evidence.want_usage()

    def analyse(self, now_ns: int) -> None:
        """Have the nodes looked at, once enough is known of the cluster."""
        if not unready_because(self.view):
            self.analyst.submit(self.view, now_ns, prices_come=not self.evidence.is_settled)

    def fetch_raw(self, kind: str, key: str) -> str:
        """Return an object as YAML, or an error message as a comment; may take as long as a request."""
        from karptui.kube.yaml_text import to_yaml  # noqa: PLC0415 - slow to import, and only this needs it

        try:
            return to_yaml(self.fetch_object(kind, key))
        except SourceError as error:
            return f"# {error}\n"

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return an object as the API server has it; may take as long as a request."""
        if self.source is None:
            raise SourceError(f"{self.title} has no manifests of single objects; d describes them")
        return self.source.fetch_object(kind, key)

    def crds(self) -> tuple[dict[str, Any], ...]:
        """Return the CustomResourceDefinitions of Karpenter's kinds; none if the source has none."""
        return self.source.crds() if self.source is not None else ()
