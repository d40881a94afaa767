"""Keeps one collection of the API up to date: lists it, watches it, and does so again whatever happens.

Three levels: ``Reflector.run`` never ends and never fails; ``step`` is one list or one watch with its failure judged;
``Collection`` makes the single requests. Source of the protocol: the Kubernetes document "API Concepts", sections on
watches, bookmarks, streaming lists and pages.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from karptui.decode.stream import StreamDecoder, WatchEvent
from karptui.sources.base import Phase, SourceError
from karptui.sources.cluster.board import Board, Standing
from karptui.sources.cluster.collection import Collection
from karptui.sources.cluster.errors import ApiError, UnreachableError, one_line
from karptui.sources.cluster.inventory import Inventory
from karptui.sources.cluster.resources import Resource
from karptui.sources.cluster.rhythm import Backoff, Rhythm
from karptui.sources.cluster.stream import Line, LineStream
from karptui.sources.cluster.transport import Transport
from karptui.sources.cluster.trouble import Outage, judge, rules_out_watch_list

PAGE_LIMIT: Final = 500
"""Objects per page: a page decodes in milliseconds, so that the screen never waits."""
LARGEST_PAGE_LIMIT: Final = 8000
WATCH_SECONDS: Final = (300.0, 600.0)
"""After how long the server ends a watch, chosen at random so that not all end at once."""
SILENCE_SECONDS: Final = 100.0
"""Bookmarks come about once a minute; after this long without a byte the connection counts as dead."""
INITIAL_SILENCE_SECONDS: Final = 15.0
"""A streaming list never pauses for so long; a server that does not know of streaming lists does."""
FAR_SECONDS: Final = 0.1
"""A first answer that takes longer comes from afar, where compressed pages are quicker than an uncompressed stream."""
SHORT_SECONDS: Final = 1.0
"""A watch that ends sooner without a word is a failure, however polite."""
STEADY_SECONDS: Final = 5.0
"""A stream that lasted so long was no failure, whatever ended it."""
STUBBORN_FAILURES: Final = 3
"""After so many error answers in a row the place in the watch is given up."""
BROKEN_WATCH_LISTS: Final = 2
"""After so many streaming lists that broke off, plain lists are used: something in between may not pass streams on."""


class Reflector:
    """Follows one collection; everything but ``resource`` and ``settled`` belongs to the thread that runs it."""

    def __init__(
        self,
        resource: Resource,
        transport: Transport,
        board: Board,
        rhythm: Rhythm,
        *,
        decoding: threading.Lock | None = None,
        recovered: Callable[[], None] = lambda: None,
    ) -> None:
        """Set up without connecting.

        Args:
            resource: what to follow.
            transport: the connection.
            board: where changes and statuses go.
            rhythm: clocks and waiting.
            decoding: held while decoding; shared, it keeps many reflectors from crowding out the screen's thread.
            recovered: called when the server answers after it had not.
        """
        self.resource = resource
        """May be exchanged for another version of itself at any time; heeded from the next request on."""
        self.settled: Final = threading.Event()
        """Set once the kind is complete or the first attempt has failed."""
        self._transport = transport
        self._board = board
        self._rhythm = rhythm
        self._backoff = Backoff(rhythm)
        self._decoding = decoding or threading.Lock()
        self._recovered = recovered
        self._decoder = StreamDecoder(resource.kind, api_version=resource.api_version, api_kind=resource.api_kind)
        self._inventory = Inventory()
        self._standing = Standing(resource, board, rhythm)
        self._version = ""
        """Where the watch goes on; empty while the kind is not completely known."""
        self._verb = "list"
        self._may_list = False
        self._uses_watch_list = True
        self._broken_watch_lists = 0
        self._page_limit = PAGE_LIMIT
        self._opened_at: float | None = None
        self._is_silent = True
        self._outage = Outage()

    def run(self, stopped: threading.Event) -> None:
        """Follow the collection until told to stop."""
        self._report(Phase.CONNECTING)
        while not stopped.is_set():
            seconds = self.step(stopped)
            if seconds > 0 and not stopped.is_set():
                self._rhythm.pause(seconds)

    def shorten_waits(self) -> None:
        """Wait for a second again after the next failure; may be called by any thread."""
        self._backoff.shorten()

    def step(self, stopped: threading.Event | None = None) -> float:
        """List, or watch until the stream ends; return how many seconds to wait before the next step."""
        self._opened_at, self._is_silent = None, True
        try:
            if self._version:
                self._watch()
            else:
                self._sync()
        except SourceError as error:
            # Being told to stop looks like a failure, which is nobody's business.
            return 0.0 if stopped is not None and stopped.is_set() else self._failed(error)
        except Exception as error:  # noqa: BLE001  a thread that dies would leave a screen that looks alive
            what = f"{type(error).__name__}: {one_line(str(error))}"
            return self._failed(SourceError(f"internal error while following {self.resource.title}: {what}"))
        finally:
            self.settled.set()
        return self._ended()

    def _sync(self) -> None:
        self._verb = "list"
        self._standing.total = self._inventory.known_count or None
        if self.resource.is_large and self._uses_watch_list and not self._inventory.known_count:
            self._look_ahead()
        if self._uses_watch_list:
            try:
                self._stream_list()
            except ApiError as error:
                if self._version or not rules_out_watch_list(error):
                    raise
                self._uses_watch_list = False
            else:
                return
        self._list()

    def _look_ahead(self) -> None:
        """Learn about how many objects there are, and how far away the server is."""
        began = self._rhythm.monotonic()
        total = self._standing.total = self._collection().peek()
        if total is not None:
            self._report(Phase.SYNCING)
        if total is not None and total > PAGE_LIMIT and self._rhythm.monotonic() - began > FAR_SECONDS:
            self._uses_watch_list = False

    def _list(self) -> None:
        self._begin_list()
        token = ""
        while True:
            data = self._page(token)
            self._heard()
            self._may_list = True
            try:
                with self._decoding:
                    page = self._decoder.page(data)
            except ValueError as error:
                what = f"{self._transport.server} did not answer with a list of {self.resource.title}"
                raise UnreachableError(f"{what}: {one_line(str(error), 160)}") from error
            changes = {item.key: item for item in page.items}
            for problem in page.problems:
                self._standing.note(problem)
            self._put(changes)
            if page.remaining is not None:
                self._standing.total = self._inventory.count + page.remaining
            token = page.continue_token
            if not token:
                self._finish_list(page.resource_version)
                return
            self._report(Phase.SYNCING)

    def _page(self, token: str) -> bytes:
        try:
            return self._collection().page(self._page_limit, token)
        except ApiError as error:
            if token and error.status == 410:
                # The list took longer than the server keeps it: fewer, larger pages.
                self._page_limit = min(2 * self._page_limit, LARGEST_PAGE_LIMIT)
            raise

    def _stream_list(self) -> None:
        self._begin_list()
        try:
            with self._collection().stream_list(
                seconds=self._watch_seconds(), silence_seconds=INITIAL_SILENCE_SECONDS
            ) as stream:
                self._follow(stream)
        except UnreachableError:
            self._count_broken_watch_list()
            raise
        if not self._version:
            self._count_broken_watch_list()
            what = f"{self._transport.server} ended the list of {self.resource.title}"
            raise UnreachableError(f"{what} before it was complete")

    def _count_broken_watch_list(self) -> None:
        if not self._version and self._opened_at is not None:
            self._broken_watch_lists += 1
            self._uses_watch_list = self._broken_watch_lists < BROKEN_WATCH_LISTS

    def _watch(self) -> None:
        self._verb = "watch"
        with self._collection().watch(
            self._version, seconds=self._watch_seconds(), silence_seconds=SILENCE_SECONDS
        ) as stream:
            self._heard()
            self._report(Phase.LIVE)
            self._follow(stream)

    def _collection(self) -> Collection:
        return Collection(self.resource, self._transport)

    def _watch_seconds(self) -> int:
        return int(self._rhythm.between(*WATCH_SECONDS))

    def _follow(self, stream: LineStream) -> None:
        self._heard()
        self._opened_at = self._rhythm.monotonic()
        for lines in stream.batches():
            was_complete = bool(self._version)
            self._heard()
            self._take(lines)
            if self._version and not was_complete:
                stream.allow_silence(SILENCE_SECONDS)
            phase = Phase.LIVE if self._version else Phase.SYNCING
            if self._standing.is_due(phase, self._inventory.count):
                self._report(phase)

    def _take(self, lines: list[Line]) -> None:
        changes: dict[str, Any] = {}
        try:
            for event in self._events(lines):
                type_ = event.type
                if type_ == "ERROR":
                    words = one_line(event.message) or "no reason given"
                    raise ApiError(event.status_code, "", words, event.retry_after_seconds or None)
                self._is_silent = False
                if type_ != "BOOKMARK":
                    if event.problem:
                        self._standing.note(event.problem)
                    # What cannot be read is not shown: its last readable state would be a lie.
                    changes[event.key] = event.item
                elif event.is_initial_events_end and not self._version:
                    self._put(changes)
                    changes = {}
                    self._finish_list(event.resource_version)
                    self.settled.set()
                if self._version:
                    self._version = event.resource_version or self._version
        finally:
            self._put(changes)

    def _put(self, changes: dict[str, Any]) -> None:
        self._inventory.change(changes)
        self._board.put(self.resource, changes)

    def _events(self, lines: list[Line]) -> list[WatchEvent]:
        decode, events = self._decoder.line, []
        with self._decoding:
            for line in lines:
                try:
                    events.append(decode(line))
                except ValueError as error:
                    self._standing.note(f"a line that is not a watch event ({one_line(str(error), 120)})")
        return events

    def _begin_list(self) -> None:
        self._inventory.begin()
        self._standing.clear_problems()

    def _finish_list(self, version: str) -> None:
        gone = self._inventory.finish()
        if gone:
            self._board.put(self.resource, dict.fromkeys(gone))
        self._version, self._verb = version, "watch"
        self._broken_watch_lists = 0
        self._report(Phase.LIVE)

    def _heard(self) -> None:
        self._standing.heard()
        self._outage.heard()
        if self._standing.phase is Phase.DISCONNECTED:
            self._recovered()

    def _ended(self) -> float:
        if self._opened_at is not None and self._is_silent and not self._is_steady(SHORT_SECONDS):
            return self._backoff.next_seconds()
        if self._opened_at is not None:
            self._backoff.reset()
        return 0.0

    def _failed(self, error: SourceError) -> float:
        self._inventory.abandon()
        if self._verb == "watch" and (not self._is_silent or self._is_steady(STEADY_SECONDS)):
            self._backoff.reset()
        if not isinstance(error, ApiError):
            self._outage.lost(was_complete=bool(self._version))
        elif self._outage.refused(error):
            self._recovered()
        is_starting = self._outage.excuses(error)
        verdict = judge(error, self.resource, verb=self._verb, may_list=self._may_list, is_starting=is_starting)
        if verdict.forgets and (gone := self._inventory.forget()):
            self._board.put(self.resource, dict.fromkeys(gone))
        stubborn = isinstance(error, ApiError) and self._backoff.failures >= STUBBORN_FAILURES
        if verdict.relists or stubborn:
            self._version = ""
        if verdict.seconds is not None:
            seconds = verdict.seconds * self._rhythm.between(1.0, 1.1)
        else:
            seconds = max(self._backoff.next_seconds(), verdict.at_least_seconds)
        self._report(verdict.phase, verdict.sentence, retry_in_seconds=seconds)
        return seconds

    def _is_steady(self, seconds: float) -> bool:
        return self._opened_at is not None and self._rhythm.monotonic() - self._opened_at >= seconds

    def _report(self, phase: Phase, error: str = "", *, retry_in_seconds: float = 0.0) -> None:
        self._standing.report(phase, self._inventory.count, error, retry_in_seconds=retry_in_seconds)
