"""Reports of faults inside karptui, written to the state folder for its developers.

A report shows the location and the exception. It contains no values of variables, and no part of the exception's
message that looks like a credential.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

from karptui import __version__
from karptui.files import check_allowed, write_file
from karptui.paths import state_dir

FOLDER: Final = "crashes"
KEPT: Final = 20
"""Reports; the oldest go first."""
WORDS: Final = 300
"""Characters of an error's own words."""
FRAMES: Final = 60
CHAIN: Final = 4
"""Errors that led to each other."""

_SECRETS: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"-----BEGIN .*?(-----END [^-]*-----|$)",
        r"\b(?:bearer|basic|negotiate)\s+[^\s'\",;]+",
        r"\b(?:authorization|token|password|passwd|secret|api[-_]?key|credential)\w*['\"]?\s*[:=]\s*['\"]?[^\s'\",;}]+",
        r"\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?",
        r"\bk8s-aws-v1\.[\w-]+",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}",
        r"(?<=://)[^/\s@]+@",
        r"[A-Za-z0-9+/_=-]{40,}",
    )
)
_lock: Final = threading.Lock()
_reports: Final[dict[tuple[str, ...], Path | None]] = {}


def sentence(error: BaseException) -> str:
    """Return an error in a few words that can be shown: its type, and its own words without credentials."""
    words = harmless(str(error))
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def message(error: BaseException, during: str, path: Path | None) -> str:
    """Return the screen message for a fault."""
    report = f"; report in {_short(path)}" if path is not None else ""
    return f"internal error while {during}: {sentence(error)}{report}"


def _short(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def record(error: BaseException, during: str) -> Path | None:
    """Write a report, once for each origin of an error; return its path, None if there is none."""
    try:
        places = tuple(_places(error.__traceback__))
        key = (type(error).__name__, during, *places[-3:])
        with _lock:
            if key not in _reports:
                _reports[key] = None
                _reports[key] = _write(_text(error, during))
            return _reports[key]
    except Exception:  # noqa: BLE001  a report that fails must not be the next fault
        return None


def harmless(words: str) -> str:
    """Return words on one line, shortened, without control characters and what looks like a credential."""
    words = words[: 8 * WORDS]
    for secret in _SECRETS:
        words = secret.sub("[removed]", words)
    words = " ".join("".join(char if char.isprintable() else " " for char in words).split())
    return words if len(words) <= WORDS else f"{words[: WORDS - 1]}…"


def _text(error: BaseException, during: str) -> str:
    versions = f"karptui {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    lines = [versions, f"at {at}, in thread {threading.current_thread().name}", f"while {harmless(during)}"]
    for exception in _chain(error):
        lines += ["", sentence(exception), *(f"  {place}" for place in _places(exception.__traceback__))]
    return "\n".join(lines) + "\n"


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(CHAIN):
        if link is None:
            return
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _places(trace: TracebackType | None) -> list[str]:
    """Return file, line and function of each frame; of a deep recursion its two ends."""
    frames = [
        f"{_package_path(frame.f_code.co_filename)}:{line} in {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(trace)
    ]
    if len(frames) > FRAMES:
        left_out = f"({len(frames) - FRAMES} more)"
        frames = [*frames[: FRAMES // 2], left_out, *frames[-FRAMES // 2 :]]
    return frames


def _package_path(name: str) -> str:
    """Return a path relative to its package, because home folders are private."""
    path = Path(name)
    roots = [Path(folder) for folder in sys.path if folder and Path(folder).is_absolute()]
    inside = [path.relative_to(root) for root in roots if path.is_relative_to(root)]
    return str(min(inside, key=lambda path: len(path.parts), default=Path(path.name)))


def _write(text: str) -> Path | None:
    check_allowed()
    folder = state_dir() / FOLDER
    folder.mkdir(exist_ok=True, mode=0o700)
    stamp = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}"
    for number in range(100):
        path = folder / f"{stamp}-{number:02}.txt"
        with contextlib.suppress(FileExistsError):
            write_file(path, text.encode(errors="replace"), is_private=True)
            _forget_oldest(folder)
            return path
    return None


def _forget_oldest(folder: Path) -> None:
    reports = sorted(path for path in folder.glob("*.txt") if path.is_file())
    for path in reports[:-KEPT]:
        path.unlink(missing_ok=True)
