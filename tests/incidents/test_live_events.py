"""The first screen of a live cluster: it has only the events that karptui watches, a snapshot may have all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from karptui.decode.kinds import Kind
from karptui.sources.cluster.resources import AUTO_MODE_EVENTS, LATER
from tests.incidents.all import INCIDENTS
from tests.incidents.test_incidents import check

SELECTORS: Final = [resource.field_selector for resource in (*LATER, AUTO_MODE_EVENTS) if resource.kind is Kind.EVENT]
TOLD_BY_CONDITIONS: Final = ("FailedScheduling", "default-scheduler")
"""Kube-scheduler writes the same into the condition PodScheduled."""


def is_watched(event: Mapping[str, Any]) -> bool:
    """Return whether a field selector of karptui's selects an event."""
    about = event.get("involvedObject") or event.get("regarding") or {}
    source = (event.get("source") or event.get("deprecatedSource") or {}).get("component")
    source = source or event.get("reportingComponent") or event.get("reportingController") or ""
    values = {"involvedObject.kind": about.get("kind"), "source": source, "reason": event.get("reason")}
    values["type"] = event.get("type", "Normal")
    return any(all(_selects(part, values) for part in selector.split(",")) for selector in SELECTORS)


def _selects(part: str, values: Mapping[str, Any]) -> bool:
    name, _, value = part.partition("=")
    is_equal: bool = values[name.removesuffix("!")] == value
    return is_equal is not name.endswith("!")


def is_lost(item: Mapping[str, Any]) -> bool:
    """Return whether a live cluster does not show an event, and conditions do not tell the same."""
    source = (item.get("source") or {}).get("component") or item.get("reportingComponent")
    return item["kind"] == "Event" and not is_watched(item) and (item.get("reason"), source) != TOLD_BY_CONDITIONS


def test_watched_events_are_enough(tmp_path: Path) -> None:
    worse = {}
    for name, incident in INCIDENTS.items():
        document = incident.snapshot()
        field = "objects" if "objects" in document else "items"
        if any(is_lost(item) for item in document[field]):
            watched = [item for item in document[field] if item["kind"] != "Event" or is_watched(item)]
            snapshot = tmp_path / f"{name}.json"
            snapshot.write_text(json.dumps({**document, field: watched}))
            with pytest.MonkeyPatch.context() as patch:
                try:
                    check(name, incident.expectation(), snapshot, patch)
                except AssertionError as error:
                    worse[name] = str(error)
    assert worse == {}
