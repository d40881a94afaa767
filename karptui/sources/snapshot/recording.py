"""Recordings: what ``karptui record`` writes."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from karptui.aws.evidence import NO_EVIDENCE, Evidence
from karptui.files import write_file
from karptui.karpenter.controller import SETTING_NAMES
from karptui.karpenter.instance_type import Offering, Overhead
from karptui.karpenter.repair_policies import RepairPolicy
from karptui.kube.durations import format_duration
from karptui.kube.resources import amounts_document
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.timestamps import format_timestamp
from karptui.kube.usage import NO_LIVE_USAGE, LiveUsage
from karptui.sources.snapshot.evidence import evidence_document
from karptui.sources.snapshot.objects import FORMAT
from karptui.sources.snapshot.redact import Redactor
from karptui.sources.snapshot.scrub import scrub
from karptui.sources.snapshot.text import SnapshotError, sentence


def build_recording(
    objects: Iterable[Mapping[str, Any]],
    *,
    name: str,
    captured_at_ns: int,
    evidence: Evidence = NO_EVIDENCE,
    live_usage: LiveUsage = NO_LIVE_USAGE,
    with_disruption: bool = False,
    unread: Iterable[str] = (),
    redactor: Redactor | None = None,
) -> dict[str, Any]:
    """Return a recording as a document.

    Args:
        objects: Unfiltered API objects; parts that must not be recorded are removed here.
        evidence: Settings, version, instance types, offerings and prices. Only ``SETTING_NAMES`` of Karpenter's
            environment are recorded.
        with_disruption: Whether ``karptui simulate`` answers for disruption too.
        unread: Kinds that could not be listed.
    """
    document: dict[str, Any] = {
        "karptui": FORMAT,
        "name": name,
        "capturedAt": format_timestamp(captured_at_ns),
        **recording_fields(evidence, live_usage),
    }
    if with_disruption:
        document["disruption"] = True
    if kinds := sorted(unread):
        document["unread"] = kinds
    document["objects"] = [kept for kept in map(scrub, objects) if kept is not None]
    return document if redactor is None else redactor.redact_document(document)


def recording_fields(evidence: Evidence, live_usage: LiveUsage) -> dict[str, Any]:
    """Return the fields of a recording that tell settings, version, instance types, offerings, prices and usage."""
    settings = evidence.settings
    chosen = {key: settings.environment[key] for key in SETTING_NAMES if key in settings.environment}
    document: dict[str, Any] = {"settings": chosen}
    if evidence.karpenter_version:
        document["karpenterVersion"] = evidence.karpenter_version
    if evidence.instance_types is not None:
        document["instanceTypes"] = [
            {
                "name": instance_type.name,
                "requirements": [_requirement(part) for part in instance_type.requirements],
                "capacity": amounts_document(instance_type.capacity),
                "overhead": _overhead(instance_type.overhead),
                "offerings": [_offering(offering) for offering in instance_type.offerings],
                **(
                    {"volumeAttachmentLimits": dict(instance_type.volume_limits)} if instance_type.volume_limits else {}
                ),
            }
            for instance_type in evidence.instance_types
        ]
    if settings.repair_policies is not None:
        document["repairPolicies"] = [_policy_document(policy) for policy in settings.repair_policies]
    if history := settings.reboot_history:
        document["rebootHistory"] = {name: [*map(format_timestamp, at)] for name, at in history.items()}
    return document | evidence_document(evidence, live_usage)


def flat(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recording's fields, with a separate field for each part of the evidence, because few of them change."""
    parts = {f"evidence.{name}": value for name, value in fields.get("evidence", {}).items()}
    return {**{name: value for name, value in fields.items() if name != "evidence"}, **parts}


def write_recording(document: Mapping[str, Any], path: Path, *, may_replace: bool = False) -> int:
    """Write a recording, packed when the name ends in .gz, and return its size in bytes.

    The file is readable by its owner only, and never half-written.

    Raises:
        SnapshotError: when it exists and may not be replaced, or cannot be written.
    """
    data = msgspec.json.encode(document)
    if path.name.endswith(".gz"):
        data = gzip.compress(data, compresslevel=6, mtime=0)
    try:
        write_file(path, data, may_replace=may_replace, is_private=True)
    except FileExistsError:
        raise SnapshotError(sentence(str(path), "exists already; --force replaces it")) from None
    except OSError as error:
        raise SnapshotError(sentence(str(path), f"cannot be written: {error.strerror or error}")) from None
    return len(data)


def _offering(offering: Offering) -> dict[str, Any]:
    document: dict[str, Any] = {
        "requirements": [_requirement(part) for part in offering.requirements],
        "price": offering.price_per_hour,
        "available": offering.is_available,
        "reservationCapacity": offering.reservation_capacity,
    }
    if offering.capacity_override is not None:
        document["capacityOverride"] = amounts_document(offering.capacity_override)
    if offering.overhead_override is not None:
        document["overheadOverride"] = _overhead(offering.overhead_override)
    return document


def _overhead(overhead: Overhead) -> dict[str, Any]:
    return {
        "kubeReserved": amounts_document(overhead.kube_reserved),
        "systemReserved": amounts_document(overhead.system_reserved),
        "evictionThreshold": amounts_document(overhead.eviction_threshold),
    }


def _policy_document(policy: RepairPolicy) -> dict[str, Any]:
    document = {
        "conditionType": policy.condition_type,
        "conditionStatus": policy.condition_status,
        "reasonRegex": policy.reason_regex,
        "tolerationDuration": format_duration(policy.toleration_ns),
        "priority": policy.priority,
        "action": str(policy.action),
    }
    return (
        document
        if policy.grace_ns is None
        else {**document, "terminationGracePeriod": format_duration(policy.grace_ns)}
    )


def _requirement(requirement: NodeSelectorRequirement) -> dict[str, Any]:
    document: dict[str, Any] = {
        "key": requirement.key,
        "operator": requirement.operator,
        "values": list(requirement.values),
    }
    return document if requirement.min_values is None else {**document, "minValues": requirement.min_values}
