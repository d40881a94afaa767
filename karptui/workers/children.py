"""Processes that print lines: each is watched by a thread, and started again when it ends.

A child ends as soon as this process is gone, even by SIGKILL: its standard input is a pipe that ends then.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

MOST_LINE: Final = 64 << 10
"""Longest line of a child, in bytes."""
SILENT_SECONDS: Final = 90.0
"""A child that prints nothing for this long is killed."""
FIRST_WAIT_SECONDS: Final = 1.0
LONGEST_WAIT_SECONDS: Final = 60.0
_READ_BYTES: Final = 1 << 16


class Children:
    """One process for each name."""

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        heard: Callable[[str, bytes], bool],
        ended: Callable[[str, str, float], None],
    ) -> None:
        """Prepare, without starting any.

        Args:
            heard: Takes the name and a line; called in threads. A child whose line it rejects is killed.
            ended: Takes the name, why its process ended, and the seconds until the next one; called in threads.
        """
        self._commands, self._heard, self._ended = commands, heard, ended
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start all processes, each followed in a thread."""
        for name, command in self._commands.items():
            threading.Thread(target=self._keep, args=(name, command), name=f"child {name!r}", daemon=True).start()

    def stop(self) -> None:
        """Kill all processes, and start none again."""
        with self._lock:
            self._is_over.set()
            running = list(self._running.values())
        for process in running:
            kill_group(process)

    def _keep(self, name: str, command: Sequence[str]) -> None:
        wait = FIRST_WAIT_SECONDS
        while not self._is_over.is_set():
            began = time.monotonic()
            why = self._run(name, command)
            if self._is_over.is_set():
                return
            wait = FIRST_WAIT_SECONDS if time.monotonic() - began > LONGEST_WAIT_SECONDS else wait
            self._ended(name, why, wait)
            self._is_over.wait(wait)
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    def _run(self, name: str, command: Sequence[str]) -> str:
        """Run a process to its end, and return the reason that it ended."""
        with self._lock:
            if self._is_over.is_set():
                return ""
            try:
                process = subprocess.Popen(  # noqa: S603 - commands are karptui's own
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    process_group=0,  # ctrl-c is for this process; a kill reaches plugins for credentials too
                )
            except (OSError, ValueError) as error:
                return f"its process cannot be started: {error}"
            self._running[name] = process
        try:
            why = self._listen(name, process)
        finally:
            kill_group(process)
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                stream.close()
            status = process.wait()
            with self._lock:
                del self._running[name]
        return why or _end_text(status)

    def _listen(self, name: str, process: subprocess.Popen[bytes]) -> str:
        """Hand on lines until there are no more; return the problem with them; empty if there is none."""
        assert process.stdout is not None
        rest = b""
        while True:
            if not select.select([process.stdout], [], [], SILENT_SECONDS)[0]:
                return f"its process was silent for {SILENT_SECONDS:.0f} s"
            part = os.read(process.stdout.fileno(), _READ_BYTES)
            if not part:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(1)  # its own status, not that of the kill
                return ""
            *lines, rest = (rest + part).split(b"\n")
            if len(rest) > MOST_LINE or any(len(line) > MOST_LINE for line in lines):
                return "its process printed a line that is too long"
            if not all(self._heard(name, line) for line in lines):
                return "its process printed something else"


def kill_group(process: subprocess.Popen[Any]) -> None:
    """Kill a process that leads a group, and everything in it."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _end_text(status: int) -> str:
    if status >= 0:
        return f"its process ended with status {status}"
    return f"its process was ended by {signal.Signals(-status).name}"


def end_with_parent() -> None:
    """End this process, and its own children, as soon as standard input ends; called in a child."""

    def wait() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 1):
                pass
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=wait, name="lifeline", daemon=True).start()
