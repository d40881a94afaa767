"""An API server on loopback whose every answer a test decides: lists, pages, watches, errors, cut lines, stalls.

``LoopbackServer`` is the plumbing: it hands each request to a function as a ``Call``. ``Script`` is such a function
that gives prepared answers in turn; ``FakeApi`` is another, which keeps objects and behaves as an API server does.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

Document = dict[str, Any]


class Closing:
    """Says that a server closes, also to whoever waits for something else meanwhile."""

    def __init__(self) -> None:
        self._has_begun = threading.Event()
        self._woken: set[threading.Condition] = set()

    def has_begun(self) -> bool:
        """Whether the server closes."""
        return self._has_begun.is_set()

    def wait(self) -> None:
        """Wait until the server closes."""
        self._has_begun.wait()

    def wakes(self, condition: threading.Condition) -> None:
        """Have a condition notified when the server closes."""
        self._woken.add(condition)

    def begin(self) -> None:
        """Let nobody wait any longer."""
        self._has_begun.set()
        for condition in tuple(self._woken):
            with condition:
                condition.notify_all()


class Call:
    """One request, and the means to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes, closing: Closing) -> None:
        parts = urlsplit(handler.path)
        self.method = handler.command
        self.path = parts.path
        self.query = dict(parse_qsl(parts.query))
        self.headers = handler.headers
        self.body = body
        self.closing = closing
        self._handler = handler
        self._is_streaming = False

    @property
    def is_watch(self) -> bool:
        """Whether a watch is asked for, with or without a list before it."""
        return self.query.get("watch") == "true"

    @property
    def is_stream_list(self) -> bool:
        """Whether a watch is asked for that begins with everything there is."""
        return self.query.get("sendInitialEvents") == "true"

    @property
    def token(self) -> str:
        return (self.headers.get("Authorization") or "").removeprefix("Bearer ")

    def json(self, document: Any, status: int = 200, **headers: str) -> None:
        self.text(json.dumps(document), status, **{"Content-Type": "application/json", **headers})

    def text(self, text: str | bytes, status: int = 200, **headers: str) -> None:
        data = text.encode() if isinstance(text, str) else text
        self._handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()
        self._handler.wfile.write(data)

    def error(self, code: int, message: str = "no", reason: str = "", **headers: str) -> None:
        self.json(failure(code, message, reason), code, **headers)

    def lines(self, *events: Document | bytes) -> None:
        """Begin a stream if need be, and send each event as a line in a chunk of its own."""
        self.chunks(*((event if isinstance(event, bytes) else json.dumps(event).encode()) + b"\n" for event in events))

    def chunks(self, *chunks: bytes) -> None:
        """Begin a stream if need be, and send bytes as they are."""
        if not self._is_streaming:
            self._is_streaming = True
            self._handler.send_response(200)
            self._handler.send_header("Content-Type", "application/json")
            self._handler.send_header("Transfer-Encoding", "chunked")
            self._handler.end_headers()
        for chunk in chunks:
            self._handler.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        self._handler.wfile.flush()

    def end(self) -> None:
        """End a stream as a server does whose time limit is up."""
        self.chunks()
        self._handler.wfile.write(b"0\r\n\r\n")

    def cut(self) -> None:
        """Tear the connection down in the middle of whatever it carries."""
        with contextlib.suppress(OSError):
            self._handler.connection.shutdown(socket.SHUT_RDWR)
        self._handler.close_connection = True

    def stall(self) -> None:
        """Say nothing more, and keep the connection open until the server closes."""
        self.closing.wait()
        self._handler.close_connection = True


Answer = Callable[[Call], None]


class LoopbackServer:
    """Serves on 127.0.0.1 until closed; ``calls`` holds every request in the order of arrival."""

    def __init__(self, answer: Answer, *, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.calls: list[Call] = []
        self._closing = Closing()
        self._sockets: set[socket.socket] = set()
        self._handlers: set[threading.Thread] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each answer waits 40 ms until the one before is acknowledged

            def setup(self) -> None:
                super().setup()
                outer._sockets.add(self.connection)
                outer._handlers.add(threading.current_thread())

            def finish(self) -> None:
                outer._sockets.discard(self.connection)
                outer._handlers.discard(threading.current_thread())
                with contextlib.suppress(OSError, ValueError):
                    super().finish()

            def handle(self) -> None:
                with contextlib.suppress(OSError, ValueError):
                    super().handle()

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                call = Call(self, body, outer._closing)
                outer.calls.append(call)
                answer(call)

            do_GET = do_POST = do_PATCH = do_CONNECT = handle_any  # noqa: N815

            def log_message(self, *args: object) -> None:
                """Stay silent."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *args: object) -> None:
                """Stay silent about clients that hang up."""

        self._server = Server(("127.0.0.1", port), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving, and tear every connection down as a killed server's kernel does.

        An answer that is still being made would count as memory of the next test.
        """
        self._closing.begin()
        self._server.shutdown()
        self._server.server_close()
        for connection in tuple(self._sockets):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in (self._thread, *self._handlers):
            thread.join(5)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Script:
    """Prepared answers, given in turn; a request beyond the last is answered 599 so that a test notices."""

    def __init__(self, *answers: Answer) -> None:
        self._answers: Iterator[Answer] = iter(answers)
        self._lock = threading.Lock()

    def __call__(self, call: Call) -> None:
        with self._lock:
            answer = next(self._answers, None)
        if answer is None:
            call.error(599, "the script is over")
        else:
            answer(call)


_NAMESPACED = re.compile(r"(.*)/namespaces/([^/]+)/([^/]+)")


class FakeApi:
    """Keeps objects by collection path and lists and watches them as an API server does."""

    def __init__(self) -> None:
        self.fault: Answer | None = None
        """Called before each list or watch; having answered, it raises ``Answered``."""
        self.streams_lists = True
        self._changed = threading.Condition()
        self._version = 100
        self._compacted = 0
        self._objects: dict[str, dict[str, Document]] = {}
        self._log: list[tuple[int, str, str, Document]] = []
        self._generation = 0

    def put(self, path: str, document: Document) -> None:
        """Create or replace an object."""
        with self._changed:
            collection = self._objects.setdefault(path, {})
            kind = "MODIFIED" if _key(document) in collection else "ADDED"
            self._record(kind, path, document)
            collection[_key(document)] = self._log[-1][3]
            self._changed.notify_all()

    def delete(self, path: str, key: str) -> None:
        with self._changed:
            self._record("DELETED", path, self._objects[path].pop(key))
            self._changed.notify_all()

    def keys(self, path: str) -> set[str]:
        with self._changed:
            return set(self._objects.get(path, {}))

    def compact(self) -> None:
        """Forget what has changed: older resourceVersions are answered 410."""
        with self._changed:
            self._compacted = self._version

    def restore(self, version: int) -> None:
        """Put everything back to how it was at a version, and go on from there."""
        with self._changed:
            self._log = [entry for entry in self._log if entry[0] <= version]
            self._objects = {path: self._at(path, version) for path in self._objects}
            self._version = version

    def cut_streams(self) -> None:
        """Tear down every watch under way."""
        with self._changed:
            self._generation += 1
            self._changed.notify_all()

    def answer_at(self, path: str | tuple[str, ...], answer: Answer, when: Callable[[], object] = lambda: True) -> None:
        """Give another answer where the path ends so, while a condition holds."""

        def fault(call: Call) -> None:
            if call.path.endswith(path) and when():
                answer(call)
                raise Answered

        self.fault = fault

    def forbid(self, *paths: str) -> None:
        """Refuse to list the objects at these paths."""

        def refuse(call: Call) -> None:
            plural = call.path.rpartition("/")[2]
            call.error(403, f'{plural} is forbidden: User "u" cannot list resource "{plural}"', "Forbidden")

        self.answer_at(paths, refuse)

    def __call__(self, call: Call) -> None:
        try:
            if self.fault is not None:
                self.fault(call)
            self.answer(call)
        except Answered:
            return

    def answer(self, call: Call) -> None:
        if call.path in self._objects:
            (self._watch if call.is_watch else self._list)(call)
        elif (within := _NAMESPACED.fullmatch(call.path)) and (path := f"{within[1]}/{within[3]}") in self._objects:
            with self._changed:
                items = list(self._at(path, self._asked_version(call)).values())
            items = [item for item in items if item["metadata"].get("namespace") == within[2]]
            call.json({"items": self._chosen(call, items)})
        elif call.path == "/version":
            call.json({"gitVersion": "v1.36.3"})
        elif call.path == "/readyz":
            call.text("ok")
        else:
            call.error(404, "the server could not find the requested resource", "NotFound")

    def _record(self, kind: str, path: str, document: Document) -> None:
        self._version += 1
        metadata = {**document["metadata"], "resourceVersion": str(self._version)}
        self._log.append((self._version, path, kind, {**document, "metadata": metadata}))

    def _asked_version(self, call: Call) -> int:
        """Return the version that a list is to be of, where one is asked for exactly."""
        is_exact = call.query.get("resourceVersionMatch") == "Exact"
        return int(call.query["resourceVersion"]) if is_exact else self._version

    @staticmethod
    def _chosen(call: Call, items: Iterable[Document]) -> list[Document]:
        """Return objects by the name that is asked for, or all."""
        name = re.search(r"metadata\.name=([^,]+)", call.query.get("fieldSelector", ""))
        return [item for item in items if name is None or item["metadata"]["name"] == name[1]]

    def _list(self, call: Call) -> None:
        limit = int(call.query.get("limit", "0")) or 10_000
        with self._changed:
            version, _, after = call.query.get("continue", f"{self._asked_version(call)}//").partition("//")
            if int(version) < self._compacted:
                call.error(410, "The provided continue parameter is too old", "Expired")
                return
            # As the page's version promises, later pages show the collection as it was.
            snapshot = self._at(call.path, int(version))
        keys = [key for key in sorted(snapshot) if key > after]
        metadata: Document = {"resourceVersion": version}
        if len(keys) > limit:
            metadata |= {"continue": f"{version}//{keys[limit - 1]}", "remainingItemCount": len(keys) - limit}
        chosen = self._chosen(call, (snapshot[key] for key in keys[:limit]))
        call.json({"kind": "List", "metadata": metadata, "items": chosen})

    def _at(self, path: str, version: int) -> dict[str, Document]:
        snapshot: dict[str, Document] = {}
        for changed_at, where, kind, document in self._log:
            if where == path and changed_at <= version:
                if kind == "DELETED":
                    snapshot.pop(_key(document), None)
                else:
                    snapshot[_key(document)] = document
        return snapshot

    def _watch(self, call: Call) -> None:
        if call.is_stream_list and not self.streams_lists:
            call.error(422, "sendInitialEvents is forbidden for watch", "Invalid")
            return
        with self._changed:
            generation = self._generation
            if call.is_stream_list:
                version = self._version
                initial = [event("ADDED", item) for item in self._at(call.path, version).values()]
                initial.append(bookmark(version, ends_list=True))
            else:
                version, initial = int(call.query["resourceVersion"]), []
                if version < self._compacted:
                    call.lines(expired())
                    call.end()
                    return
        call.lines(*initial)
        call.closing.wakes(self._changed)
        while True:
            with self._changed:
                while self._generation == generation and self._version <= version and not call.closing.has_begun():
                    self._changed.wait()
                if self._generation != generation or call.closing.has_begun():
                    break
                news = [event(kind, item) for at, path, kind, item in self._log if at > version and path == call.path]
                version = self._version
            call.lines(*news)
        call.cut()


class Answered(Exception):  # noqa: N818
    """A fault has answered the call."""


def event(kind: str, document: Document) -> Document:
    return {"type": kind, "object": document}


def bookmark(version: int | str, *, ends_list: bool = False) -> Document:
    """Return a bookmark, as real servers send it with nulls."""
    metadata: Document = {"resourceVersion": str(version), "creationTimestamp": None}
    if ends_list:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return event("BOOKMARK", {"kind": "Any", "apiVersion": "v1", "metadata": metadata})


def failure(code: int, message: str, reason: str = "") -> Document:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "message": message,
        "reason": reason,
    }


def expired() -> Document:
    """Return the event with which a server says that a resourceVersion is too old."""
    return event("ERROR", failure(410, "too old resource version: 1 (2)", "Expired"))


def listing(
    items: Iterable[Document], *, version: str = "1", token: str = "", remaining: int | None = None
) -> Document:
    metadata: Document = {"resourceVersion": version}
    if token:
        metadata["continue"] = token
    if remaining is not None:
        metadata["remainingItemCount"] = remaining
    return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": list(items)}


def named(name: str, namespace: str = "", version: str = "1", **fields: Any) -> Document:
    metadata = {"name": name, "resourceVersion": version, **({"namespace": namespace} if namespace else {})}
    return {"metadata": metadata, **fields}


def _key(document: Document) -> str:
    metadata = document["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])
