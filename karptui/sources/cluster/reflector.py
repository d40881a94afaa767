"""Keeps one collection of the API up to date: lists it, watches it, and does so again whatever happens.

Three generators, one within the other: ``Reflector.attempts`` lists and watches for ever and never fails; ``_listed``
and ``_watched`` are one list and one watch; ``_followed`` is one stream of events. ``Collection`` makes the requests.
Source of the protocol: the Kubernetes document "API Concepts", sections on watches, bookmarks, streaming lists and
pages.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Any, Final, NamedTuple

from karptui import crash
from karptui.decode.stream import Page, StreamDecoder, WatchEvent
from karptui.sources.cluster.backoff import Backoff, Ceiling, SpacedTurns, Waits
from karptui.sources.cluster.body import TooLargeError, answers_counted
from karptui.sources.cluster.collection import Collection
from karptui.sources.cluster.errors import (
    FORBIDDEN_SECONDS,
    ApiError,
    BehindError,
    NoVersionError,
    Outage,
    UnreachableError,
    UnreadableEventError,
    one_line,
    reaction_to,
    rules_out_watch_list,
)
from karptui.sources.cluster.resource_versions import SeenKeys, StoragePast, version_number
from karptui.sources.cluster.resources import Resource
from karptui.sources.cluster.status_board import Board, ResourceStatus
from karptui.sources.cluster.stream import Line, LineStream
from karptui.sources.cluster.transport import Transport
from karptui.sources.source import Phase, SourceError


class Changes(NamedTuple):
    """Changed objects."""

    objects: dict[str, Any]
    """Current objects by key; None for a deleted one."""
    versions: dict[str, int]
    """Versions by key, if known."""
    lines: dict[str, bytes]
    """Lines of a watch by key; empty unless the history is recorded."""
    page: bytes = b""
    """The page of a list that they are on, if the history is recorded."""


PAGE_LIMIT: Final = 500
"""Objects per page: a page decodes in milliseconds, so that the screen never waits."""
LARGEST_PAGE_LIMIT: Final = 8000
SMALLER_PAGE: Final = 8
"""Factor by which the next page is smaller after a page that was too large."""
WATCH_SECONDS: Final = (300.0, 600.0)
"""Range of watch timeouts in seconds, random so that not all end at once."""
SILENCE_SECONDS: Final = 100.0
"""Bookmarks come about once a minute; after this long without a byte the connection counts as dead."""
INITIAL_SILENCE_SECONDS: Final = 15.0
"""Maximum pause of a streaming list; a server without streaming lists pauses longer."""
FAR_SECONDS: Final = 0.1
"""A first answer that takes longer comes from afar, where compressed pages are quicker than an uncompressed stream."""
SHORT_SECONDS: Final = 1.0
"""A watch that ends sooner without a word is a failure, however polite."""
STEADY_SECONDS: Final = 5.0
"""A stream of this duration was no failure, however it ended."""
STUBBORN_FAILURES: Final = 3
"""After this many consecutive errors, the position in the watch is dropped."""
ATTEMPTS: Final = (10.0, 1.0)
"""Burst and rate per second of lists and watches."""
PAGES: Final = (400.0, 5.0)
"""The same of pages: the pods of the largest clusters come at once."""
EMPTY_PAGES: Final = 10
"""After this many consecutive pages without news, a list is given up."""
MOST_OBJECTS: Final = 500_000
"""Of one kind: more than three times what Kubernetes supports."""
UNNAMED: Final = frozenset({"BOOKMARK", "ERROR"})
"""Events that are about no object."""
BROKEN_WATCH_LISTS: Final = 2
"""After this many broken streaming lists, plain lists are used: a proxy may not support streams."""


class Reflector:
    """Follows one collection; everything but ``resource`` and ``settled`` belongs to the thread that runs it."""

    def __init__(
        self,
        resource: Resource,
        transport: Transport,
        board: Board,
        waits: Waits,
        *,
        decoding: threading.Lock | None = None,
        recovered: Callable[[], None] = lambda: None,
        allowed: Callable[[], None] = lambda: None,
        restored: Callable[[], None] = lambda: None,
        turns: SpacedTurns | None = None,
    ) -> None:
        """Set up without connecting.

        Args:
            decoding: held while decoding; shared, it keeps many reflectors from crowding out the screen's thread.
            recovered: called when the server answers after it had not.
            allowed: called when the user may see the kind after they might not.
            restored: called when the server's storage turns out to have another past than it had.
            turns: when to ask again for what may not be seen; shared, many kinds ask no more often than one.
        """
        self.resource = resource
        """May be exchanged for another version of itself at any time; heeded from the next request on."""
        self.settled: Final = threading.Event()
        """Set once the kind is complete or the first attempt has failed."""
        self._transport = transport
        self._board = board
        self._waits = waits
        self._backoff = Backoff(waits)
        self._decoding = decoding or threading.Lock()
        self._recovered = recovered
        self._allowed = allowed
        self._restored = restored
        self._turns = turns or SpacedTurns(waits, FORBIDDEN_SECONDS)
        self._attempts = Ceiling(waits, *ATTEMPTS)
        self._pages = Ceiling(waits, *PAGES)
        self._decoder = StreamDecoder(resource.kind, api_version=resource.api_version, api_kind=resource.api_kind)
        self._seen = SeenKeys()
        self._past = StoragePast(self._seen, self._collection)
        self._status = ResourceStatus(resource, board, waits)
        self._version = ""
        """Where the watch goes on; empty while the kind is not completely known."""
        self._is_cut_short = False
        """Whether the last watch ended at once, without a word."""
        self._unreadable_at: str | None = None
        """Where the watch was when an event could not be read."""
        self._verb = "list"
        self._may_list = False
        self._uses_watch_list = True
        self._broken_watch_lists = 0
        self._page_limit = PAGE_LIMIT
        self._opened_at: float | None = None
        self._is_silent = True
        self._outage = Outage()

    def run(self, stopped: threading.Event) -> None:
        """Follow the collection until stopped."""
        self._report(Phase.CONNECTING)
        for seconds in self.attempts(stopped):
            if seconds > 0 and not stopped.is_set():
                self._waits.pause(seconds)

    @property
    def is_forbidden(self) -> bool:
        """Whether the user may not see the kind."""
        return self._status.phase is Phase.FORBIDDEN

    def shorten_waits(self) -> None:
        """Wait for a second again after the next failure; may be called by any thread."""
        self._backoff.shorten()

    def doubt_the_past(self) -> None:
        """List again instead of going on with a watch; may be called by any thread."""
        self._past.is_doubted = True

    def attempts(self, stopped: threading.Event) -> Iterator[float]:
        """List, then watch, for ever, whatever fails; yield after each how many seconds to wait before the next."""
        while not stopped.is_set():
            self._opened_at, self._is_silent = None, True
            try:
                with closing(self._watched() if self._version else self._listed()) as changed:
                    for changes in changed:
                        self._put(changes)
            except SourceError as error:
                # A stop looks like a failure, but is none.
                seconds = 0.0 if stopped.is_set() else self._failed(error)
            except Exception as error:  # noqa: BLE001  a thread that dies would leave a screen that looks alive
                during = f"following {self.resource.title}"
                crash.record(error, during)
                self._version = ""
                seconds = self._failed(SourceError(f"internal error while {during}: {crash.sentence(error)}"))
            else:
                seconds = self._ended()
            self.settled.set()
            yield max(seconds, self._attempts.wait_seconds())

    # One list, or one watch

    def _listed(self) -> Generator[Changes]:
        """Yield all there is, in a stream that goes on as a watch where the server can."""
        self._verb = "list"
        self._past.is_doubted = False
        self._status.total = self._seen.known_count or None
        if self.resource.is_large and self._uses_watch_list and not self._seen.known_count:
            self._look_ahead()
        # Pages bypass every cache, so their version is true.
        if self._uses_watch_list and not self._past.is_behind:
            try:
                yield from self._list_streamed()
            except ApiError as error:
                if self._version or not rules_out_watch_list(error):
                    raise
                self._uses_watch_list = False
            else:
                return
        yield from self._list_in_pages()

    def _look_ahead(self) -> None:
        """Learn about how many objects there are, and how far away the server is."""
        began = self._waits.monotonic()
        total = self._status.total = self._collection().peek()
        if total is not None:
            self._report(Phase.SYNCING)
        if total is not None and total > PAGE_LIMIT and self._waits.monotonic() - began > FAR_SECONDS:
            self._uses_watch_list = False

    def _list_in_pages(self) -> Generator[Changes]:
        self._begin_list()
        token, empty_pages = "", 0
        while True:
            if (seconds := self._pages.wait_seconds()) > 0:
                self._waits.pause(seconds)
            with answers_counted():
                data = self._page(token)
                page = self._decoded(data)
            self._past.check_list(page.resource_version)
            for problem in page.problems:
                self._status.note(problem)
            before = self._seen.count
            yield self._newer(page, data if self._board.tap is not None else b"")
            del data
            if page.remaining is not None:
                self._status.total = self._seen.count + page.remaining
            empty_pages = 0 if self._seen.count > before else empty_pages + 1
            self._check_size(is_endless=empty_pages > EMPTY_PAGES)
            token = page.continue_token
            if not token:
                self._finish_list(page.resource_version)
                return
            self._report(Phase.SYNCING)

    def _decoded(self, data: bytes) -> Page:
        self._note_answer()
        self._may_list = True
        try:
            with self._decoding:
                return self._decoder.page(data)
        except ValueError as error:
            why = one_line(str(error), 160)
        del data  # not kept by a traceback
        raise UnreachableError(f"{self._transport.server} did not answer with a list of {self.resource.title}: {why}")

    def _newer(self, page: Page, data: bytes) -> Changes:
        newer = Changes({}, {}, {}, data)
        for item, version in zip(page.items, map(version_number, page.versions), strict=True):
            if self._seen.is_older(item.key, version):
                self._seen.still(item.key)
            else:
                newer.objects[item.key], newer.versions[item.key] = item, version
        return newer

    def _check_size(self, *, is_endless: bool = False) -> None:
        if is_endless or self._seen.count > MOST_OBJECTS:
            what = f"{self._transport.server}'s list of {self.resource.title} has not ended"
            raise UnreachableError(f"{what} after {self._seen.count:,} objects")

    def _page(self, token: str) -> bytes:
        try:
            return self._collection().page(self._page_limit, token)
        except TooLargeError:
            if self._page_limit == 1:
                raise
            self._page_limit = max(1, self._page_limit // SMALLER_PAGE)
            return self._page(token)
        except ApiError as error:
            if token and error.status == 410:
                # The list took longer than the server keeps it: fewer, larger pages.
                self._page_limit = min(2 * self._page_limit, LARGEST_PAGE_LIMIT)
            raise

    def _list_streamed(self) -> Generator[Changes]:
        self._begin_list()
        try:
            with self._collection().stream_list(
                seconds=self._watch_seconds(), silence_seconds=INITIAL_SILENCE_SECONDS
            ) as stream:
                yield from self._followed(stream)
        except (UnreachableError, UnreadableEventError):
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

    def _watched(self) -> Generator[Changes]:
        """Yield changes until the server ends the watch."""
        if self._past.is_doubted:
            raise self._past.other()
        if self._past.must_confirm or self._board.is_doubted(self.resource):
            self._verb = "list"
            self._past.confirm(self._version, self._restored)
        self._verb = "watch"
        with self._collection().watch(
            self._version, seconds=self._watch_seconds(), silence_seconds=SILENCE_SECONDS
        ) as stream:
            self._note_answer()
            self._report(Phase.LIVE)
            yield from self._followed(stream)

    def _collection(self) -> Collection:
        return Collection(self.resource, self._transport)

    def _watch_seconds(self) -> int:
        return int(self._waits.between(*WATCH_SECONDS))

    # One stream

    def _followed(self, stream: LineStream) -> Generator[Changes]:
        """Yield the changes of a stream's events, in batches."""
        self._note_answer()
        self._opened_at = self._waits.monotonic()
        for lines in stream.batches():
            was_complete = bool(self._version)
            self._note_answer()
            events, problem = self._events(lines)
            yield from self._changed_by(events)
            self._check_size()
            if problem:
                raise self._unreadable(problem)
            if self._version and not was_complete:
                stream.allow_silence(SILENCE_SECONDS)
            phase = Phase.LIVE if self._version else Phase.SYNCING
            if self._status.is_due(phase, self._seen.count):
                self._report(phase, is_proven=any(event.type != "BOOKMARK" for event, _ in events))

    def _changed_by(self, events: Iterable[tuple[WatchEvent, Line]]) -> Generator[Changes]:
        """Yield the changes of events; the list among them is yielded separately."""
        changes, is_recorded = Changes({}, {}, {}), self._board.tap is not None
        for event, line in events:
            number = version_number(event.resource_version)
            if event.type == "ERROR":
                yield changes
                words = one_line(event.message) or "no reason given"
                raise ApiError(event.status_code, "", words, event.retry_after_seconds or None)
            if self._version and self._past.is_over(number):
                yield changes
                raise self._past.behind()
            self._is_silent = False
            if event.type != "BOOKMARK":
                if event.problem:
                    self._status.note(event.problem)
                if event.type == "DELETED":
                    self._past.gone(event.key, number)
                if self._seen.is_older(event.key, number):
                    self._seen.still(event.key)
                else:
                    # What cannot be read is not shown: its last readable state would be a lie.
                    changes.objects[event.key], changes.versions[event.key] = event.item, number
                    if is_recorded and event.item is not None:
                        changes.lines[event.key] = bytes(line)
            elif event.is_initial_events_end and not self._version:
                yield changes
                changes = Changes({}, {}, {})
                self._past.check_list(event.resource_version)
                self._finish_list(event.resource_version)
                self.settled.set()
            if self._version:
                self._version = event.resource_version or self._version
                self._past.reach(number)
        yield changes

    def _events(self, lines: list[Line]) -> tuple[list[tuple[WatchEvent, Line]], str]:
        """Return the events before the first unreadable line with their lines, and its error."""
        decode, events = self._decoder.line, list[tuple[WatchEvent, Line]]()
        with self._decoding:
            for line in lines:
                try:
                    event = decode(line)
                except ValueError as error:
                    return events, one_line(str(error), 120)
                if not event.key and event.type not in UNNAMED:
                    return events, f"{event.type} of an object without a name"
                events.append((event, line))
        return events, ""

    def _unreadable(self, problem: str) -> UnreadableEventError:
        """Return the error for an unreadable line; if an object was deleted or the line repeats, a new list helps."""
        relists = problem.startswith("DELETED") or self._unreadable_at == self._version
        self._unreadable_at = self._version
        what = f"{self._transport.server} sent a line about {self.resource.title} that is not a watch event"
        return UnreadableEventError(
            f"{what} ({problem}); {'listing again' if relists else 'asking again'}", relists=relists
        )

    # Known objects

    def _put(self, changes: Changes) -> None:
        self._seen.change(changes.objects, changes.versions)
        self._board.put(self.resource, changes.objects, changes.lines, changes.page)

    def _begin_list(self) -> None:
        self._seen.begin()
        self._status.clear_problems()

    def _finish_list(self, version: str) -> None:
        gone = self._seen.finish()
        if gone:
            self._board.put(self.resource, dict.fromkeys(gone))
        self._past.is_behind = self._past.must_confirm = False
        self._broken_watch_lists = 0
        if not version:
            what = f"{self._transport.server} lists {self.resource.title} without a resourceVersion"
            raise NoVersionError(f"{what}, so that changes cannot be followed")
        self._version, self._verb = version, "watch"
        self._past.reach(version_number(version))
        self._report(Phase.LIVE)

    def _note_answer(self) -> None:
        self._status.note_contact()
        self._outage.note_answer()
        if self._status.phase is Phase.DISCONNECTED:
            self._recovered()
        elif self._status.phase is Phase.FORBIDDEN:
            self._allowed()
        elif self._is_cut_short:
            self._is_cut_short = False
            self._recovered()

    # How an attempt ended

    def _ended(self) -> float:
        if self._opened_at is not None and self._is_silent and not self._is_steady(SHORT_SECONDS):
            # Nothing is followed meanwhile; a server whose etcd is away ends watches so.
            self._past.must_confirm = self._is_cut_short = True
            seconds = self._backoff.next_seconds()
            sentence = f"{self._transport.server} ends the watch of {self.resource.title} at once"
            self._report(Phase.STALE, sentence, retry_in_seconds=seconds)
            return seconds
        if self._opened_at is not None:
            self._backoff.reset()
        return 0.0

    def _failed(self, error: SourceError) -> float:
        self._seen.abandon()
        if self._verb == "watch" and (not self._is_silent or self._is_steady(STEADY_SECONDS)):
            self._backoff.reset()
        if isinstance(error, UnreachableError):
            self._past.must_confirm = True
        self._past.is_behind = self._past.is_behind or isinstance(error, BehindError)
        if not isinstance(error, ApiError):
            self._outage.lost(was_complete=bool(self._version))
        elif self._outage.refused(error):
            self._recovered()
        is_starting = self._outage.excuses(error)
        reaction = reaction_to(error, self.resource, verb=self._verb, may_list=self._may_list, is_starting=is_starting)
        if reaction.forgets and (gone := self._seen.forget()):
            self._board.put(self.resource, dict.fromkeys(gone))
        stubborn = isinstance(error, ApiError) and self._backoff.failures >= STUBBORN_FAILURES
        if reaction.relists or stubborn:
            self._version = ""
        if reaction.phase is Phase.FORBIDDEN:
            seconds = self._turns.next_seconds() * self._waits.between(1.0, 1.1)
        elif reaction.seconds is not None:
            seconds = reaction.seconds * self._waits.between(1.0, 1.1)
        else:
            seconds = max(self._backoff.next_seconds(), reaction.at_least_seconds)
        self._report(reaction.phase, reaction.sentence, retry_in_seconds=seconds)
        return seconds

    def _is_steady(self, seconds: float) -> bool:
        return self._opened_at is not None and self._waits.monotonic() - self._opened_at >= seconds

    def _report(self, phase: Phase, error: str = "", *, retry_in_seconds: float = 0.0, is_proven: bool = True) -> None:
        self._status.report(phase, self._seen.count, error, retry_in_seconds=retry_in_seconds, is_proven=is_proven)
