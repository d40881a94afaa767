"""Types of flags: files, numbers, durations, instants, settings.

Each raises `argparse.ArgumentTypeError` for an invalid value.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import inf, isfinite
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from karptui.kube.timestamps import PastTime
    from karptui.sources.history.watch_pod import WatchPod

_LONGEST_WINDOW_HOURS: Final = 90 * 24


def words(text: str) -> list[str]:
    """Return the parts of a comma-separated list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def resources(text: str) -> list[str]:
    """Return the resources of a comma-separated list."""
    from karptui.views.nodes.resources import has_column, known_resources

    names = words(text)
    for name in names:
        if not has_column(name):
            raise argparse.ArgumentTypeError(f"{name} has no column; {known_resources()}")
    return names


def file_name(text: str) -> str:
    """Return the name of a file or directory; an empty name, as of an unset variable, is invalid."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the name of a file is empty; a variable that is not set?")
    return text


def watch_pod(text: str) -> WatchPod:
    """Return a pod that runs `karptui watch`."""
    from karptui.sources.history.watch_pod import parse_watch_pod

    pod = parse_watch_pod(text)
    if pod is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAMESPACE/POD, such as karptui/karptui-7d4b9c-x2k8p")
    return pod


def target_name(text: str) -> str:
    """Return the name of a file that is to be written; every argument for one has this type."""
    return file_name(text)


def number(most: int | None = None, *, least: int = 1) -> Callable[[str], int]:
    """Return the type of a number, to be given to argparse."""
    end = "up" if most is None else f"to {most:,}"

    def number_of(text: str) -> int:
        if not text.isdecimal() or int(text) < least or (most is not None and int(text) > most):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {least} {end}")
        return int(text)

    return number_of


def duration(form: str, *, least_ns: int = 0, most_ns: float = inf) -> Callable[[str], int]:
    """Return the type of a duration in nanoseconds, to be given to argparse; a bare number is in seconds.

    Args:
        form: Valid values, for the error message: ``90m or 6h``.
    """

    def duration_of(text: str) -> int:
        from karptui.views.column import parse_duration

        try:
            length_ns = round(parse_duration(text) * 1e9)
        except (ValueError, OverflowError):
            length_ns = -1
        if not least_ns <= length_ns <= most_ns:
            raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as {form}")
        return length_ns

    return duration_of


def window(text: str) -> int:
    """Return a length of history in hours."""
    count, unit = text[:-1], text[-1:]
    hours = int(count) * {"d": 24, "h": 1}.get(unit, 0) if count.isdecimal() and len(count) <= 4 else 0
    if not 1 <= hours <= _LONGEST_WINDOW_HOURS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a length such as 12h or 7d (at most 90 days)")
    return hours


def http_url(text: str) -> str:
    """Return an http or https address without a trailing slash; one with a password is refused, and not printed."""
    import re

    if "@" in text:
        raise argparse.ArgumentTypeError("an address with a user or password in it is not accepted")
    if not re.fullmatch(r"https?://([a-zA-Z0-9._-]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?(/[a-zA-Z0-9._~%/-]*)?", text):
        raise argparse.ArgumentTypeError(f"{text!r:.80} is not an address such as http://localhost:9090")
    return text.rstrip("/")


def identity(text: str) -> str:
    """Return the name of a user or group to impersonate."""
    # An empty name would use the user's own permissions.
    if not text.strip():
        raise argparse.ArgumentTypeError("the name is empty; a variable that is not set?")
    return text


def seconds(text: str) -> float:
    return duration("10s or 1m")(text) / 1e9


def version(text: str) -> str:
    from karptui.karpenter.controller import parse_version

    parsed = parse_version(text)
    if not parsed:
        raise argparse.ArgumentTypeError(f"{text!r} is not a version such as 1.15.0")
    return parsed


def instant(text: str) -> int:
    """Return an instant: nanoseconds since the epoch."""
    from karptui.kube.timestamps import parse_now

    try:
        return parse_now(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def past_time(text: str) -> PastTime:
    from karptui.kube.timestamps import parse_past

    try:
        return parse_past(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def amount(text: str) -> float:
    try:
        result = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not isfinite(result) or result < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 up")
    return result


def setting(text: str) -> tuple[str, str]:
    """Return a name and its value."""
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def address(text: str) -> tuple[str, int]:
    """Return the host and port to listen on; without a host, this machine only."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not 0 <= int(port) < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text!r} is not [HOST]:PORT, such as :9110 or 0.0.0.0:9110")
    return host.strip("[]") or "127.0.0.1", int(port)
