"""The history that `karptui watch` records in a pod: sent there, and copied here by ``kubectl exec``."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Final, NamedTuple

from karptui.sources.history.store import History, HistoryError, is_history

SENDER: Final = "history-sender"
"""First word of the command line that sends a history; `karptui.cli.main` knows it."""
USUAL_FILE: Final = "/history/cluster.karptui"
"""The history in the container image."""
_WAL: Final = "-wal"
"""Suffix of SQLite's write-ahead log, which holds the latest changes."""
_NAME: Final = r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?"
_POD: Final = re.compile(f"({_NAME})/({_NAME})(?::(/[^\0]*))?")


class WatchPod(NamedTuple):
    """A pod that runs `karptui watch`, and the file of its history."""

    namespace: str
    name: str
    file: str = USUAL_FILE


def parse_watch_pod(text: str) -> WatchPod | None:
    """Return the pod in ``NAMESPACE/POD`` or ``NAMESPACE/POD:FILE``; None if the text has another form."""
    match = _POD.fullmatch(text)
    return WatchPod(match[1], match[2], match[3] or USUAL_FILE) if match else None


def main(words: Sequence[str]) -> int:
    """Send the history in a file, the only word, to standard output. Not a command for users."""
    try:
        send_history(Path(*words), sys.stdout.buffer)
    except HistoryError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def send_history(path: Path, output: IO[bytes]) -> None:
    """Write a history and its write-ahead log to a stream, as a tar, while another process may record.

    Raises:
        HistoryError: if the file is no history, or cannot be read.
    """
    with closing(History(path)) as history, tarfile.open(fileobj=output, mode="w|") as archive:
        history.hold()
        for suffix in ("", _WAL):
            file = path.with_name(path.name + suffix)
            if file.exists():
                archive.add(file, file.name)


def copy_history(pod: WatchPod, kubectl_flags: Sequence[str], folder: Path) -> Path:
    """Copy the history of a pod into a folder, and return its file.

    Args:
        kubectl_flags: flags that choose the cluster, such as ``--context=prod``.

    Raises:
        HistoryError: if kubectl is missing or fails, or its output is no history.
    """
    path = folder / f"{pod.name}.karptui"
    target = ["--namespace", pod.namespace, pod.name]
    command = ["kubectl", *kubectl_flags, "exec", *target, "--", "karptui", SENDER, pod.file]
    with tempfile.TemporaryFile() as messages:
        try:
            process = subprocess.Popen(  # noqa: S603  the flags are checked, and there is no shell
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=messages
            )
        except OSError as error:
            raise HistoryError(f"kubectl, which copies the history, cannot be started: {error.strerror}") from None
        trouble = ""
        with process:
            assert process.stdout is not None
            try:
                _unpack(process.stdout, path)
            except (tarfile.TarError, EOFError) as error:
                trouble = f"the received history is damaged: {error}"
            except OSError as error:
                process.kill()
                raise HistoryError(f"{path}: cannot be written: {error.strerror or error}") from None
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            messages.seek(0)
            lines = messages.read().decode(errors="replace").split("\n")
            last_line = next((line for line in reversed(lines) if line.strip()), "")
            trouble = last_line or trouble or f"kubectl ended with status {process.returncode}"
    if trouble or not is_history(path):
        raise HistoryError(
            f"{pod.namespace}/{pod.name}: its history cannot be copied: {trouble or 'it sent something else'}"
        )
    return path


def _unpack(stream: IO[bytes], path: Path) -> None:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                # The pod chooses no file name.
                suffix = _WAL if member.name.endswith(_WAL) else ""
                with path.with_name(path.name + suffix).open("wb") as file:
                    shutil.copyfileobj(content, file)
