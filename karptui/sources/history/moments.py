"""Past moments: a history's objects and facts at an instant, in the form of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karptui.kube.timestamps import format_second, format_timestamp
from karptui.sources.history.store import History, HistoryError
from karptui.sources.snapshot.objects import FORMAT


def recording_at(history: History, at_ns: int) -> dict[str, Any]:
    """Return a recording of an instant; its objects are left as text (``msgspec.Raw``).

    Raises:
        HistoryError: if the history begins later.
    """
    at_ns, fields = fields_at(history, at_ns)
    return {**fields, "objects": [change.manifest for change in history.objects_at(at_ns).values()]}


def fields_at(history: History, at_ns: int) -> tuple[int, dict[str, Any]]:
    """Return an instant, and the fields of its recording without the objects.

    In a pause, the cluster is as it was when the session before it ended, and the instant is that end.

    Raises:
        HistoryError: if the history begins later.
    """
    session = history.session_at(at_ns)
    if session is None:
        first = next(iter(history.sessions()), None)
        begin = f"it begins at {format_second(first.from_ns)}" if first is not None else "it is empty"
        raise HistoryError(f"{history.path}: nothing is recorded at {format_second(at_ns)}: {begin}")
    at_ns = min(at_ns, session.to_ns)
    return at_ns, {
        "karptui": FORMAT,
        "name": history.cluster,
        "capturedAt": format_timestamp(at_ns),
        **{name: value for name, value in _nested(history.facts_at(at_ns)).items() if value is not None},
    }


def _nested(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a recording: the reverse of `recorder.flat`."""
    evidence = {name.partition(".")[2]: value for name, value in fields.items() if name.startswith("evidence.")}
    plain = {name: value for name, value in fields.items() if not name.startswith("evidence.")}
    return {**plain, "evidence": evidence} if evidence else plain
