"""The process that writes a history: takes messages from standard input until it ends, and prints what goes wrong.

Not a command for users: `karptui.sources.history.tap` starts it.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any, Final

import zstandard

from karptui import crash
from karptui.clock import SystemClock
from karptui.sources.history.recorder import Recorder

_NICENESS: Final = 19
"""Screens go before the history."""


def main() -> int:
    """Record the messages from standard input."""
    os.nice(_NICENESS)
    record(sys.stdin.buffer, sys.stdout.buffer)
    return 0


def record(messages: IO[bytes], answers: IO[bytes]) -> None:
    """Record until the messages end or nothing more can be recorded.

    Prints an empty line once the history is open, and a line with the reason if nothing is recorded (any more).
    """
    during = "opening the history"
    try:
        stream = _read(messages)
        opening = next(stream, None)
        if opening is None:
            return  # the sender was killed before it sent anything
        path, cluster, limits = opening[1]
        recorder = Recorder(path, cluster, SystemClock(), limits=limits)
        if recorder.open():
            _answer(answers, "")
            during = "recording the history"
            _follow(recorder, stream)
        trouble = recorder.trouble
    except Exception as error:  # noqa: BLE001  the reason belongs on the screen
        trouble = crash.message(error, during, crash.record(error, during))
    if trouble:
        _answer(answers, trouble)


def _follow(recorder: Recorder, stream: Iterator[tuple[str, tuple[Any, ...]]]) -> None:
    for name, args in stream:
        getattr(recorder, name)(*args)
        if recorder.is_full:
            recorder.step()
        if recorder.trouble:
            break
    else:
        recorder.step()
    recorder.close()


def _read(messages: IO[bytes]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield messages until they end; one that is cut off, because the sender was killed, does not count."""
    while True:
        try:
            message = pickle.load(messages)  # noqa: S301  from the process that started this one
        except (EOFError, pickle.UnpicklingError):
            return
        if isinstance(message, bytes):
            message = pickle.loads(zstandard.ZstdDecompressor().decompress(message))  # noqa: S301
        yield message


def _answer(answers: IO[bytes], trouble: str) -> None:
    with suppress(BrokenPipeError):  # the sender has ended; its messages are still written
        answers.write(" ".join(trouble.split()).encode() + b"\n")
        answers.flush()
