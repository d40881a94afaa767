"""Builders of NodeClaims' lives for tests; times are minutes before noon."""

from __future__ import annotations

from typing import Any

from karptui.disruption.churn.life import Life, Removal
from karptui.karpenter.inventory import GoneClaim
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.objects import Event
from tests.builders import MINUTE_NS, NOW_NS, a_condition, a_nodeclaim, an_event


def ago(minutes: float) -> int:
    """Return the instant this number of minutes before noon."""
    return NOW_NS - int(minutes * MINUTE_NS)


def a_life(claim: str = "general-a", *, born: float = 60, left: float | None = None, **fields: Any) -> Life:
    """Return a NodeClaim's life in NodePool general; it ended if ``left`` is given."""
    given: dict[str, Any] = {"pool": "general", "instance_type": "m5.large", "capacity_type": "spot", **fields}
    if left is not None:
        given = {"removed_ns": ago(left), "why": Removal.UNDERUTILIZED, **given}
    return Life(claim=claim, node=f"node-{claim}", created_ns=ago(born), **given)


def a_leaver(
    name: str = "general-a", *, born: float = 60, left: float = 10, why: str = "", stage: str = "Initialized", **f: Any
) -> NodeClaim:
    """Return a deleting NodeClaim; a disruption command deletes it if ``why`` is given."""
    reached = ("Launched", "Registered", "Initialized")[: ("", "Launched", "Registered", "Initialized").index(stage)]
    conditions = [a_condition(text, since_ns=ago(born)) for text in reached]
    if why:
        conditions.append(a_condition("DisruptionReason", reason=why, since_ns=ago(left + 1)))
    return a_nodeclaim(name=name, node=f"node-{name}", stage=stage, conditions=conditions, created_ns=ago(born),
                       **{"deletion_ns": ago(left), **f})  # fmt: skip


def gone(claim: NodeClaim, minutes: float = 9) -> GoneClaim:
    return GoneClaim(claim, ago(minutes))


def event_at(about: str, reason: str, message: str = "", *, at: float = 10, first: float | None = None) -> Event:
    """Return an event about a NodeClaim, or about ``Kind/name``."""
    from msgspec.structs import replace

    name = about if "/" in about else f"NodeClaim/{about}"
    event = an_event(name=f"{name}.{reason}.{at}", about=name, reason=reason, message=message, last_ns=ago(at))
    return replace(event, first_ns=ago(at if first is None else first))
