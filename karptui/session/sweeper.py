"""Runs sweeps in processes of their own, so that neither the screen nor one core holds them up."""

from __future__ import annotations

import contextlib
import copyreg
import io
import multiprocessing
import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import resource_tracker
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from multiprocessing.synchronize import Event as EventType

    from karptui.whatif.scenario import Replay
    from karptui.whatif.situation import TypesResult, WhatIfBase
    from karptui.whatif.sweep import Sweep, SweepPoint

_POLL_SECONDS: Final = 0.05


class Sweeper:
    """One sweep at work: gives its points as they are ready, in any order.

    Args:
        base: The cluster as it is.
        sweep: The parameter and its values.
        mode: What is replayed.
        jobs: Processes; 1 works in this one.
        lock: Held while something is replayed on the base or worked out from it, where others use it too.
    """

    def __init__(
        self,
        base: WhatIfBase,
        sweep: Sweep,
        mode: Replay,
        jobs: int,
        lock: AbstractContextManager[object] | None = None,
    ) -> None:
        self._base = base
        self._lock = contextlib.nullcontext() if lock is None else lock
        self._sweep = sweep
        self._mode = mode
        self._jobs = min(jobs, len(sweep.values))
        self._is_cancelled = False
        self.done = 0
        """Points that are ready."""

    @property
    def total(self) -> int:
        """All points."""
        return len(self._sweep.values)

    def cancel(self) -> None:
        """End soon: the points that are not ready are never given. May be called from another thread."""
        self._is_cancelled = True

    def points(self) -> Iterator[tuple[int, SweepPoint]]:
        """Yield the position of each value and what it comes to, as they are ready."""
        for position, point in self._here() if self._jobs <= 1 else self._elsewhere():
            self.done += 1
            yield position, point

    def _here(self) -> Iterator[tuple[int, SweepPoint]]:
        from karptui.provisioning.reporter import Cancelled  # noqa: PLC0415 - the engines are slow to import
        from karptui.whatif.sweep import sweep_point  # noqa: PLC0415 - as above

        def stop(done: int, total: int) -> None:  # noqa: ARG001 - as reporters are called
            if self._is_cancelled:
                raise Cancelled

        for position, value in enumerate(self._sweep.values):
            try:
                stop(0, 0)
                with self._lock:
                    point = sweep_point(self._base, self._sweep, value, self._mode, stop)
            except Cancelled:
                return
            yield position, point

    def _elsewhere(self) -> Iterator[tuple[int, SweepPoint]]:
        context = multiprocessing.get_context("spawn")
        # A screen has put something without a descriptor in the place of stderr, which the first process would inherit.
        with contextlib.redirect_stderr(sys.__stderr__):
            resource_tracker.ensure_running()
        stop = context.Event()
        given = dumps(
            (self._base.inventory, self._base.settings, self._base.types, self._base.now_ns, self._base.prices)
        )
        with ProcessPoolExecutor(self._jobs, context, initializer=_begin, initargs=(given, stop)) as pool:
            try:
                sweep, futures = dumps(self._sweep), {}
                for position, value in enumerate(self._sweep.values):
                    if self._is_cancelled:
                        break
                    futures[pool.submit(_point, self._types_for(value), sweep, value, str(self._mode))] = position
                yield from self._collected(futures)
            finally:
                # Points that are being worked on end at their next report, so that nobody waits for them.
                stop.set()
                pool.shutdown(cancel_futures=True)

    def _collected(self, futures: dict[Future[SweepPoint], int]) -> Iterator[tuple[int, SweepPoint]]:
        waiting = set(futures)
        while waiting and not self._is_cancelled:
            ready, waiting = wait(waiting, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in ready:
                yield futures[future], future.result()

    def _types_for(self, value: str) -> bytes | None:
        """Return the instance types of a value where they are not the base's: only this process can work them out."""
        from karptui.whatif.edits import EditError, TakeOut  # noqa: PLC0415 - as above
        from karptui.whatif.edits.apply import apply  # noqa: PLC0415 - as above

        edits = [edit for edit in self._sweep.edits_for(value) if not isinstance(edit, TakeOut)]
        try:
            with self._lock:
                types = apply(self._base, edits).types
        except EditError:
            return None
        return None if types is self._base.types else dumps(types)


class _Pickler(pickle.Pickler):
    dispatch_table = copyreg.dispatch_table.copy()


def _proxied(mapping: Mapping[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(dict(mapping))


def _reduced(mapping: MappingProxyType[Any, Any]) -> tuple[Any, tuple[dict[Any, Any]]]:
    return _proxied, (dict(mapping),)


_Pickler.dispatch_table[MappingProxyType] = _reduced


def dumps(value: object) -> bytes:
    """Return a value for another process; read-only mappings, which pickle refuses, included."""
    target = io.BytesIO()
    _Pickler(target, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return target.getvalue()


# In the other processes

_STATE: dict[str, Any] = {}


def _begin(given: bytes, stop: EventType) -> None:
    from karptui.whatif.situation import WhatIfBase  # noqa: PLC0415 - as above

    inventory, settings, types, now_ns, prices = pickle.loads(given)  # noqa: S301 - made by this program
    _STATE["stop"] = stop
    _STATE["types"] = types
    _STATE["base"] = WhatIfBase(inventory, lambda *_: _current_types(), settings, now_ns, prices=prices)


def _current_types() -> TypesResult:
    types: TypesResult = _STATE["types"]
    return types


def _point(types: bytes | None, sweep: bytes, value: str, mode: str) -> SweepPoint:
    from karptui.whatif.scenario import Replay  # noqa: PLC0415 - as above
    from karptui.whatif.sweep import sweep_point  # noqa: PLC0415 - as above

    base: WhatIfBase = _STATE["base"]
    _STATE["types"] = base.types if types is None else pickle.loads(types)  # noqa: S301 - made by this program
    return sweep_point(base, pickle.loads(sweep), value, Replay(mode), _give_way)  # noqa: S301 - made by this program


def _give_way(done: int, total: int) -> None:  # noqa: ARG001 - as reporters are called
    from karptui.provisioning.reporter import Cancelled  # noqa: PLC0415 - as above

    if _STATE["stop"].is_set():
        raise Cancelled
