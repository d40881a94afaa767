"""Amounts of the Types screen in words."""

from __future__ import annotations

from collections.abc import Iterable

from karptui.kube import resources
from karptui.kube.resources import PODS, ResourceList
from karptui.kube.units import cpu_text, lacking_text, memory_text
from karptui.provisioning.type_verdict import Shortage, TypeVerdict
from karptui.views.sanitize import clean


def carries_text(verdict: TypeVerdict) -> str:
    """Return what DaemonSets put on a node: ``11 ds 490m 938Mi``."""
    if not verdict.daemon_pods:
        return "no DaemonSets"
    return f"{verdict.daemon_pods} ds {requests_text(verdict.daemons)}"


def requests_text(requests: ResourceList) -> str:
    """Return cpu and memory that are asked for: ``490m 938Mi``."""
    cpu, memory = resources.cpu_millis(requests), resources.memory_bytes(requests)
    return f"{cpu_text(cpu)} {memory_text(memory)}"


def shortages_text(shortages: Iterable[Shortage]) -> str:
    """Return what there is too little of: ``pods 8 of 11 needed, memory short by 6,846Mi``."""
    return ", ".join(map(_shortage_text, shortages))


def _shortage_text(one: Shortage) -> str:
    name = clean(one.resource)
    if one.resource == PODS:
        return f"{name} {lacking_text(name, one.have.nano)} of {lacking_text(name, one.need.nano)} needed"
    return f"{name} short by {lacking_text(one.resource, one.need.nano - one.have.nano)}"
