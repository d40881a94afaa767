"""One connection to a cluster: its source, the state made of what the source says, and what screens ask of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from karptui.decode.kinds import Kind
from karptui.karpenter import labels as karpenter_labels
from karptui.sources.base import Source, SourceError, SourceStatus
from karptui.sources.mailbox import Mailbox
from karptui.state.cluster import EMPTY, ClusterState
from karptui.state.reducer import reduce
from karptui.views.describe import describe_node, describe_pod
from karptui.views.nodes.entries import node_entries
from karptui.views.nodes.entry import NodeEntry
from karptui.views.nodes.totals import cluster_facts
from karptui.views.pods.entries import pod_entries
from karptui.views.pods.entry import PodEntry
from karptui.views.top_bar import Fact


@runtime_checkable
class RawReader(Protocol):
    """A source that can give single objects as they are."""

    def fetch_raw(self, kind: str, key: str) -> str:
        """Return an object as YAML; may take as long as a request, and raises SourceError with a sentence."""
        ...


class Session:
    """What is known of one cluster, from the first connection to the last.

    Lists made for screens are kept until the state changes, so that a screen can tell by identity whether to build its
    rows again.
    """

    def __init__(self, source: Source | None, state: ClusterState = EMPTY) -> None:
        """Make a session that has not begun.

        Args:
            source: where objects come from; None shows the state as it is.
            state: what is known already.
        """
        self.source = source
        self.state = state
        self.statuses: Mapping[str, SourceStatus] = {}
        self.failure = ""
        """Why the source could not start; empty when it did."""
        self._mailbox = Mailbox()
        self._made: dict[str, object] = {}
        self._pods_on: dict[str, tuple[PodEntry, ...]] = {}

    @property
    def title(self) -> str:
        """What the top bar calls it."""
        return self.source.title if self.source is not None else "no cluster"

    def start(self) -> None:
        """Let the source begin."""
        if self.source is not None:
            try:
                self.source.start(self._mailbox)
            except SourceError as error:
                self.failure = str(error)

    def stop(self) -> None:
        """End the source."""
        if self.source is not None:
            self.source.stop()

    def poll(self) -> bool:
        """Take over what the source has said and return whether it said anything."""
        mail = self._mailbox.drain()
        if mail.is_empty:
            return False
        if mail.batch.deltas:
            self.state = reduce(self.state, mail.batch)
        if mail.statuses:
            self.statuses = {**self.statuses, **{str(kind): status for kind, status in mail.statuses.items()}}
        self._made = {}
        self._pods_on = {}
        return True

    def node_entries(self) -> tuple[NodeEntry, ...]:
        """Return nodes and claims."""
        made = self._made.get("nodes")
        if not isinstance(made, tuple):
            self._made["nodes"] = made = node_entries(self.state, self.statuses)
        return made

    def pod_entries(self) -> tuple[PodEntry, ...]:
        """Return pods that have not ended."""
        made = self._made.get("pods")
        if not isinstance(made, tuple):
            self._made["pods"] = made = pod_entries(self.state)
        return made

    def pods_on(self, node_name: str) -> tuple[PodEntry, ...]:
        """Return the pods of one node."""
        if node_name not in self._pods_on:
            node = self.state.nodes.get(node_name)
            pool = node.labels.get(karpenter_labels.NODEPOOL, "") if node is not None else ""
            self._pods_on[node_name] = tuple(PodEntry(pod, pool) for pod in self.state.pods_on(node_name).values())
        return self._pods_on[node_name]

    def facts(self) -> Sequence[Fact]:
        """Return the figures of the top bar."""
        made = self._made.get("facts")
        if not isinstance(made, tuple):
            self._made["facts"] = made = cluster_facts(self.node_entries(), len(self.state.pods))
        return made

    def describe(self, kind: str, key: str, now_ns: int) -> str:
        """Return what is known of an object as text; a sentence when it is not there any more."""
        if kind == Kind.POD:
            pods = [entry for entry in self.pod_entries() if entry.pod.key == key]
            if pods:
                return describe_pod(pods[0], self.state, now_ns)
        else:
            nodes = [entry for entry in self.node_entries() if entry.name == key]
            if nodes:
                return describe_node(nodes[0], self.state, now_ns)
        return f"{kind} {key} is not there any more"

    def fetch_raw(self, kind: str, key: str) -> str:
        """Return an object as YAML, or a comment that says why not; may take as long as a request."""
        reader: object = self.source
        if not isinstance(reader, RawReader):
            return f"# {self.title} cannot give single objects as YAML; d describes what karptui knows of them\n"
        try:
            return reader.fetch_raw(kind, key)
        except SourceError as error:
            return f"# {error}\n"
