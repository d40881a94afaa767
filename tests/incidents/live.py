"""The first screen of a live cluster, of which karptui reads less than a snapshot may have."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from karptui.decode.kinds import Kind
from karptui.karpenter.controller import NAME, NAME_LABEL
from karptui.sources.cluster.resources import AUTO_MODE_EVENTS, LATER
from tests.incidents.all import INCIDENTS

SELECTORS: Final = [resource.field_selector for resource in (*LATER, AUTO_MODE_EVENTS) if resource.kind is Kind.EVENT]
METADATA_ONLY: Final = {resource.api_kind for resource in LATER if resource.metadata_only}
UNCOUNTED: Final = {
    "controller-manager-is-down",
    "controllers-have-stopped-by-lists",
    "controllers-of-kubernetes-have-stopped",
    "critical-priority-in-a-namespace-without-quota",
    "job-has-no-pods-without-events",
    "job-makes-no-second-pod",
    "jobs-of-a-cron-job-have-no-pods",
    "namespace-never-ends",
    "quota-is-exceeded-without-events",
    "rollouts-without-end",
    "storage-quota",
    "webhook-is-dead-without-events",
}
"""Of live ReplicaSets, Deployments and Jobs only the metadata is read: neither missing pods nor conditions are known.

Nor are the events of Deployments read.
"""
EVERY: Final = 1 if os.environ.get("KARPTUI_ALL_GOLDENS") else 15
"""Of the incidents whose events are all watched, every so many are judged; with KARPTUI_ALL_GOLDENS all of them."""
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


def live(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an object as a live cluster shows it; None if it is not read."""
    if item["kind"] == "Event":
        told = (item.get("reason"), (item.get("source") or {}).get("component") or item.get("reportingComponent"))
        return dict(item) if is_watched(item) or told == TOLD_BY_CONDITIONS else None
    if item["kind"] in METADATA_ONLY and item["metadata"].get("labels", {}).get(NAME_LABEL) != NAME:
        return {name: item[name] for name in ("apiVersion", "kind", "metadata")}
    return dict(item)


def shown_by_a_cluster(name: str, document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a snapshot as a live cluster shows it; None if it would show the same, or shows too little to judge."""
    field = "objects" if "objects" in document else "items"
    read = [seen for item in document[field] if (seen := live(item)) is not None]
    is_judged = len(read) < len(document[field]) or [*INCIDENTS].index(name) % EVERY == 0
    return {**document, field: read} if is_judged and name not in UNCOUNTED else None
