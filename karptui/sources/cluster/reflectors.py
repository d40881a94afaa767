"""Follows a whole cluster: a thread for each resource, and one for discovery and health checks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from karptui import crash
from karptui.decode.kinds import Kind
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.cluster.backoff import Bell, SpacedTurns, Waits
from karptui.sources.cluster.connection import Connection
from karptui.sources.cluster.credentials import credentials_for
from karptui.sources.cluster.discovery import discover
from karptui.sources.cluster.errors import FORBIDDEN_SECONDS, ApiError
from karptui.sources.cluster.reflector import Reflector
from karptui.sources.cluster.resources import AUTO_MODE_EVENTS, KARPENTER_KINDS, LATER, NODES, Resource
from karptui.sources.cluster.status_board import Board
from karptui.sources.cluster.transport import READ_SECONDS, Transport
from karptui.sources.source import Mailbox, Phase, SourceError, SourceStatus

FIRST_SECONDS: Final = 2.0
"""How long everything else waits until the nodes and Karpenter's own kinds are there, and the app shows the nodes."""
CHECK_SECONDS: Final = 10.0
RECHECK_SECONDS: Final = 2.0
HEALTH: Final = "/readyz"
"""Everybody who may talk to the server may ask; it is answered with an error while etcd is not there."""
QUIET_SECONDS: Final = 20.0
"""Time without a byte from any stream that triggers a health check."""
ANSWER_SECONDS: Final = 5.0
MISSED_ANSWERS: Final = 2
"""Unanswered health checks that cause every stream to be reopened; one may be due to a single dead connection."""
RECOVERY_SECONDS: Final = 10.0
"""Minimum interval between retries of everything after a recovery."""
REDISCOVER_SECONDS: Final = 300.0
REDISCOVER_SOON_SECONDS: Final = 30.0
"""Interval of discovery while some Karpenter resources are missing."""
OPTIONAL: Final = (Kind.NODEPOOL, Kind.NODECLAIM, Kind.NODECLASS, Kind.NODEOVERLAY)
AUTO_MODE: Final = "eks.amazonaws.com"
"""API group of the NodeClasses of EKS Auto Mode."""
EXPECTED: Final = frozenset({Kind.NODEPOOL, Kind.NODECLAIM, Kind.NODECLASS})


def connect(connection: Connection, mailbox: Mailbox, *, request_seconds: float | None = None) -> Reflectors:
    """Return reflectors that have not begun; ``request_seconds`` is the timeout of answers."""
    transport = Transport(connection, credentials_for(connection), read_seconds=request_seconds or READ_SECONDS)
    return Reflectors(transport, Board(mailbox))


class Reflectors:
    """The threads that follow a cluster; ``run`` is the body of the first of them."""

    def __init__(self, transport: Transport, board: Board, waits: Callable[[Bell], Waits] | None = None) -> None:
        """Set up without connecting.

        Args:
            waits: makes the clocks and waiting of a loop that a bell can wake.
        """
        self.transport = transport
        self._board = board
        self._make_waits = waits or (lambda bell: Waits(pause=bell.wait))
        self._bell = Bell()
        self._waits = self._make_waits(self._bell)
        self._stopped = threading.Event()
        self._decoding = threading.Lock()
        self._lock = threading.Lock()
        self._followed: dict[str, tuple[Reflector, threading.Thread, Bell]] = {}
        self._missed = 0
        self._discover_at = 0.0
        self._recovered_at = self._restored_at = float("-inf")
        self._turns = SpacedTurns(self._waits, FORBIDDEN_SECONDS)

    def run(self) -> None:
        """Follow until stopped."""
        self._announce(Phase.CONNECTING, *(resource.kind for resource in LATER), *OPTIONAL)
        self._follow(NODES)
        self.rediscover()
        self._await_first()
        for resource in LATER:
            self._follow(resource)
        while not self._stopped.is_set():
            self._waits.pause(RECHECK_SECONDS if self._missed else CHECK_SECONDS)
            if not self._stopped.is_set():
                self._look_after()

    def _look_after(self) -> None:
        """Check the server's health and Karpenter's resources; failures are retried soon."""
        try:
            self.check_contact()
            if self._waits.monotonic() >= self._discover_at:
                self.rediscover()
        except Exception as error:  # noqa: BLE001  otherwise a dead server would go unnoticed
            crash.record(error, "checking the API server")
            self._missed += 1
            sentence = f"internal error while checking the API server: {crash.sentence(error)}"
            self._board.doubt(sentence, self.transport.last_contact_ns)

    def stop(self, seconds: float) -> None:
        """Stop every thread; slow threads end with the process."""
        self._stopped.set()
        self._bell.ring()
        followed = self._all_followed()
        for _, _, bell in followed:
            bell.ring()
        self.transport.close()
        deadline = self._waits.monotonic() + seconds
        for _, thread, _ in followed:
            thread.join(max(0.0, deadline - self._waits.monotonic()))

    def refresh(self) -> None:
        """Retry everything at once: delayed attempts, missing resources, and doubtful streams."""
        self._discover_at = float("-inf")
        if self._missed:
            self.transport.shut_streams()
        self.wake()
        self._bell.ring()

    def wake(self) -> None:
        """Let whatever waits for its next attempt have it now."""
        for reflector, _, bell in self._all_followed():
            # A server that starts may refuse once more: whoever is woken must not wait for long after that.
            reflector.shorten_waits()
            bell.ring()

    def resources_of(self, kind: Kind) -> tuple[Resource, ...]:
        """Return the resources that a kind is followed by."""
        resources = (reflector.resource for reflector, _, _ in self._all_followed())
        return tuple(resource for resource in resources if resource.kind is kind)

    def _all_followed(self) -> tuple[tuple[Reflector, threading.Thread, Bell], ...]:
        with self._lock:
            return tuple(self._followed.values())

    def rediscover(self) -> None:
        """Discover Karpenter's resources, and follow new ones."""
        try:
            resources = discover(self.transport)
        except SourceError as error:
            # Karpenter's own kinds then speak for themselves; of NodeClasses not even the names are known.
            resources = () if self.resources_of(Kind.NODEPOOL) else KARPENTER_KINDS
            self._announce(Phase.DISCONNECTED, Kind.NODECLASS, error=f"NodeClass kinds cannot be discovered: {error}")
            self._discover_at = self._waits.monotonic() + REDISCOVER_SOON_SECONDS
        else:
            kinds = {resource.kind for resource in resources}
            for kind in OPTIONAL:
                if kind not in kinds:
                    self._announce(Phase.NOT_INSTALLED, kind, error=f"the API server has no {kind.value} kind")
            seconds = REDISCOVER_SECONDS if kinds >= EXPECTED else REDISCOVER_SOON_SECONDS
            self._discover_at = self._waits.monotonic() + seconds
        for resource in resources:
            self._follow(resource)
        if any(resource.group == AUTO_MODE for resource in resources):
            self._follow(AUTO_MODE_EVENTS)

    def check_contact(self) -> None:
        """Ask whether the server is there when nothing has been heard of it for a while."""
        last_ns = self.transport.last_contact_ns
        quiet_seconds = (self._waits.now_ns() - last_ns) / NS_PER_SECOND
        if (self._missed or quiet_seconds >= QUIET_SECONDS) and (problem := self._ask()):
            self._missed += 1
            self._board.doubt(problem, last_ns)
            if self._missed == MISSED_ANSWERS:
                self.transport.shut_streams()
            return
        if self._missed:
            self._missed = 0
            self._board.trust()
            # Some of the threads woken before were refused by a server that was not ready.
            self.wake()

    def _ask(self) -> str:
        """Ask the server for its health; return an error, empty if it answers, even with forbidden."""
        try:
            self.transport.get(HEALTH, read_seconds=ANSWER_SECONDS)
        except ApiError as error:
            return f"the API server is not ready ({error.status}): {error.message}" if error.status >= 500 else ""
        except SourceError as error:
            return str(error)
        return ""

    def _allowed(self) -> None:
        """Retry every forbidden resource at once: permissions rarely change for one kind alone."""
        for reflector, _, bell in self._all_followed():
            if reflector.is_forbidden:
                bell.ring()

    def _recovered(self) -> None:
        with self._lock:
            now = self._waits.monotonic()
            if now - self._recovered_at < RECOVERY_SECONDS:
                return
            self._recovered_at = now
        self.wake()

    def _list_again(self) -> None:
        """List everything again: rarely changing resources cannot detect a restored backup alone."""
        with self._lock:
            now = self._waits.monotonic()
            if now - self._restored_at < RECOVERY_SECONDS:
                return
            self._restored_at = now
        for reflector, _, _ in self._all_followed():
            reflector.doubt_the_past()
        self.transport.shut_streams()
        self.wake()

    def _announce(self, phase: Phase, *kinds: Kind, error: str = "") -> None:
        now_ns = self._waits.now_ns()
        for kind in kinds:
            self._board.announce(SourceStatus(kind=kind, phase=phase, since_ns=now_ns, last_error=error))

    def _follow(self, resource: Resource) -> None:
        with self._lock:
            if self._stopped.is_set():
                return
            followed = self._followed.get(resource.identity)
            if followed is not None:
                reflector, _, bell = followed
                if reflector.resource != resource:
                    reflector.resource = resource
                    bell.ring()
                return
            bell = Bell()
            reflector = Reflector(
                resource,
                self.transport,
                self._board,
                self._make_waits(bell),
                decoding=self._decoding,
                recovered=self._recovered,
                allowed=self._allowed,
                restored=self._list_again,
                turns=self._turns,
            )
            name = f"karptui {resource.title}"
            thread = threading.Thread(target=reflector.run, args=(self._stopped,), name=name, daemon=True)
            self._followed[resource.identity] = (reflector, thread, bell)
            thread.start()

    def _await_first(self) -> None:
        deadline = self._waits.monotonic() + FIRST_SECONDS
        for reflector, _, _ in self._all_followed():
            reflector.settled.wait(max(0.0, deadline - self._waits.monotonic()))
        # Decoding thousands of pods would delay the first rows.
        self._board.wait_until_nodes_shown(max(0.0, deadline - self._waits.monotonic()))
