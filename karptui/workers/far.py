"""A Dask cluster: the extra ``dask``, imported only if the user names a scheduler.

Answers are unpickled here, so a scheduler and its workers can run code on this machine: they must be trusted.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import logging
import platform
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from importlib import metadata
from typing import Any, Final

from karptui.crash import sentence
from karptui.workers.workers import MOST_LOST, Question, WorkersError, never, packed, unpacked

ANSWER_SECONDS: Final = 10.0
"""Longest wait for an answer of the scheduler, in seconds."""
FETCH_SECONDS: Final = 2.0
"""First timeout for fetching an answer, in seconds. Most answers are small. If a worker has just died, the scheduler
tries to reach it for 30 s (Dask's comm.timeouts.connect), while another worker has recomputed the answer.
"""
EMPTY_SECONDS: Final = 60.0
"""Longest time without any worker, in seconds."""
TLS: Final = "tls://"
TLS_FILES: Final = "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT and …__CLIENT__KEY"
"""Environment variables of Dask with the client's certificates."""
MOST_GIVEN_UP: Final = 20
"""Number of tasks a scheduler may cancel before submission stops."""
_POLL_SECONDS: Final = 0.02
_LOOK_SECONDS: Final = 2.0
"""Interval between checks for workers, in seconds."""
_AHEAD: Final = 2


def own_version() -> str:
    """Return the versions that must be equal on both sides: karptui's and Python's."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"karptui {metadata.version('karptui')} on Python {python}"


def _check_tls(security: Any) -> None:
    """Check that the certificates can be read which Dask's own configuration names."""
    try:
        context = security().get_connection_args("client").get("ssl_context")
    except OSError as error:
        raise WorkersError(f"a file of {TLS_FILES} cannot be used: {error.strerror or error}") from None
    if context is None:
        raise WorkersError(f"{TLS} needs certificates: name their files in {TLS_FILES}, or in Dask's configuration")


def _client(kind: Any, address: str) -> Any:
    """Connect to a scheduler; retry once if a busy one sends an unexpected greeting."""
    with contextlib.suppress(AssertionError):
        return kind(address, timeout=ANSWER_SECONDS, set_as_default=False)
    return kind(address, timeout=ANSWER_SECONDS, set_as_default=False)


class _NotThereError(Exception):
    """An answer is done and has not come: it is large, or was lost while it was fetched."""


class _Hope:
    """For how long answers may still come: as long as the scheduler is there and has workers now and then."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self.seconds = FETCH_SECONDS
        """Timeout of one attempt to fetch the next answer; grows for large answers."""
        self._looked_at = self._empty_since = time.monotonic()

    def check(self) -> None:
        """Do nothing while something may come."""
        if self._client.status not in ("running", "connecting"):
            raise WorkersError(f"the Dask scheduler at {self._address} is gone")
        now = time.monotonic()
        if now - self._looked_at > _LOOK_SECONDS:
            self._looked_at = now
            self._empty_since = now if _threads(self._client) else self._empty_since
        if now - self._empty_since > EMPTY_SECONDS + _LOOK_SECONDS:
            raise WorkersError(f"the Dask cluster at {self._address} has had no worker for {EMPTY_SECONDS:.0f} s")


def _threads(client: Any) -> int:
    """Return the number of questions that a cluster answers at the same time."""
    return sum(worker.get("nthreads", 1) for worker in client.scheduler_info(n_workers=-1)["workers"].values())


class FarWorkers:
    """The workers of a Dask cluster, however many it has at the moment.

    Args:
        address: the scheduler's, such as ``tcp://scheduler:8786``.

    Raises:
        WorkersError: when it does not answer, has no workers, or any of them has another version.
    """

    sees_files: Final = False

    def __init__(self, address: str) -> None:
        try:
            import distributed  # noqa: PLC0415 - see above
        except ImportError:
            raise WorkersError("a Dask cluster needs Dask here too: install karptui with the extra dask") from None
        self._address = address
        self._is_cancelled = threading.Event()
        # Errors are reported in our own messages.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        if address.startswith(TLS):
            _check_tls(distributed.Security)
        self._client: Any = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of versions that differ, which is looked into below
                self._client = _client(distributed.Client, address)
            self._check()
        except (OSError, TimeoutError):
            self.close()
            why = ", or the two do not accept each other's certificates" if address.startswith(TLS) else ""
            raise WorkersError(f"no Dask scheduler answers at {address} within {ANSWER_SECONDS:g} s{why}") from None
        except ValueError as error:
            self.close()
            raise WorkersError(f"{address} is not the address of a Dask scheduler: {error}") from None
        except BaseException:
            self.close()
            raise

    @property
    def count(self) -> int:
        """How many questions are answered at once."""
        return _threads(self._client)

    def cancel(self) -> None:
        """Cancel: running items finish, no others start. May be called from another thread."""
        self._is_cancelled.set()

    def close(self) -> None:
        """Let go of the cluster."""
        if self._client is not None:
            with contextlib.suppress(OSError, TimeoutError):
                self._client.close(timeout=1)

    def run(self, question: Question, common: object, items: Iterable[object]) -> Iterator[tuple[int, Any]]:
        """Yield positions and results as soon as they are ready."""
        try:
            yield from self._run(question, common, items)
        except OSError:  # TimeoutError included: no worker takes the common data, or the connection is lost
            raise WorkersError(f"no worker of the Dask cluster at {self._address} answers") from None

    def _run(self, question: Question, common: object, items: Iterable[object]) -> Iterator[tuple[int, Any]]:
        self._is_cancelled.clear()
        packed_common = packed(common)
        token = hashlib.sha256(packed_common).hexdigest()
        shared = self._client.scatter(packed_common, broadcast=True, hash=False)
        source, pending = enumerate(items), dict[Any, tuple[tuple[int, object], Any]]()
        given_up = 0
        again: list[tuple[int, object]] = []
        room = _AHEAD * max(1, self.count)
        hope = _Hope(self._client, self._address)
        try:
            while not self._is_cancelled.is_set():
                while len(pending) < room:
                    following = again.pop() if again else next(source, None)
                    if following is None:
                        break
                    future = self._client.submit(
                        answer, question, shared, token, packed(following[1]), own_version(), pure=False
                    )
                    pending[future] = following, shared
                if not pending:
                    return
                for future in self._ready(pending, hope):
                    following, used = pending.pop(future)
                    try:
                        result = self._result(future, hope.seconds)
                    except _NotThereError:
                        # Its worker may have died while it was fetched: it is made again, if any are left.
                        pending[future] = following, used
                        hope.seconds *= 2
                        continue
                    except concurrent.futures.CancelledError:
                        # The common data was lost with the last worker that had it.
                        given_up += 1
                        if given_up > MOST_GIVEN_UP:
                            raise WorkersError(
                                f"the Dask scheduler at {self._address} has cancelled the work"
                            ) from None
                        if used is shared:
                            shared = self._client.scatter(packed_common, broadcast=True, hash=False)
                        again.append(following)
                        continue
                    yield following[0], result
                    hope = _Hope(self._client, self._address)  # the cluster has answered
        finally:
            with contextlib.suppress(Exception):
                self._client.cancel([*pending, shared], force=True)

    def _ready(self, pending: Iterable[Any], hope: _Hope) -> list[Any]:
        """Return the finished items as soon as there are any, or after a cancellation."""
        while not self._is_cancelled.is_set():
            hope.check()
            # Lost with its worker before it was fetched: the scheduler has it made again, and it is done later.
            if ready := [future for future in pending if future.done() and future.status != "lost"]:
                return ready
            time.sleep(_POLL_SECONDS)
        return []

    def _result(self, future: Any, seconds: float) -> Any:
        """Fetch an answer."""
        try:
            answer = future.result(timeout=seconds)
        except Exception as error:
            if type(error).__name__ == "KilledWorker":
                text = f"{MOST_LOST} workers or more of {self._address} have died at the same work"
                raise WorkersError(text) from None
            if isinstance(error, TimeoutError) and future.status != "error":
                raise _NotThereError from None
            if isinstance(error, WorkersError | concurrent.futures.CancelledError):
                raise
            raise WorkersError(f"a worker of {self._address} failed: {sentence(error)}") from None
        return unpacked(answer)

    def _of_scheduler(self, function: Any, *arguments: str) -> Any:
        try:
            return self._client.run_on_scheduler(function, *arguments)
        except metadata.PackageNotFoundError as error:
            return error

    def _check(self) -> None:
        """Compare versions by standard library functions, because workers may lack karptui."""
        versions = self._client.run(metadata.version, "karptui", on_error="return")
        pythons = self._client.run(platform.python_version_tuple, on_error="return")
        # A worker that has left meanwhile gives an error of its connection, or nothing.
        attributes = {
            f"worker {worker}": (version, pythons[worker])
            for worker, version in versions.items()
            if isinstance(pythons.get(worker), tuple) and not isinstance(version, OSError)
        }
        if not attributes:
            raise WorkersError(f"the Dask cluster at {self._address} has no workers")
        attributes[f"the scheduler at {self._address}"] = (
            self._of_scheduler(metadata.version, "karptui"),
            self._of_scheduler(platform.python_version_tuple),
        )
        for name, (version, python) in attributes.items():
            if isinstance(version, BaseException):
                raise WorkersError(f"{name} has no karptui: install {own_version()} there")
            there = f"karptui {version} on Python {'.'.join(python[:2])}"
            if there != own_version():
                raise WorkersError(f"{name} has {there}, and this is {own_version()}: they must be the same")


# On the workers

_kept = threading.local()
"""The common data, unpacked once per thread: threads do not share intermediate results."""


def answer(question: Question, common: bytes, token: str, item: bytes, version: str) -> bytes:
    """Answer one question on a worker, which may have joined later than versions were compared."""
    if version != own_version():
        raise WorkersError(f"a worker has {own_version()}, the client {version}: they must be equal")
    if getattr(_kept, "token", "") != token:
        _kept.common, _kept.token = unpacked(common), token
    return packed(question(_kept.common, unpacked(item), never))
