"""Recordings: what ``karptui record`` writes."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from karptui.karpenter.controller import SETTING_NAMES
from karptui.karpenter.instance_type import InstanceType
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.timestamps import format_timestamp
from karptui.sources.snapshot.documents import SnapshotError, sentence
from karptui.sources.snapshot.reader import FORMAT
from karptui.sources.snapshot.redact import Redactor
from karptui.sources.snapshot.scrub import scrub


def build_recording(
    objects: Iterable[Mapping[str, Any]],
    *,
    name: str,
    captured_at_ns: int,
    settings: Mapping[str, str],
    instance_types: Sequence[InstanceType] | None = None,
    karpenter_version: str = "",
    redactor: Redactor | None = None,
) -> dict[str, Any]:
    """Return a recording as a document.

    Args:
        objects: API objects as they are; what must not be recorded is left out here.
        name: what to call it.
        captured_at_ns: when the objects were like this.
        settings: Karpenter's environment; nothing but ``SETTING_NAMES`` is recorded.
        instance_types: only where no NodeClass tells them.
        karpenter_version: what runs, empty where it is not known.
        redactor: replaces names by pseudonyms.
    """
    kept = [one for one in map(scrub, objects) if one is not None]
    chosen = {key: settings[key] for key in SETTING_NAMES if key in settings}
    if redactor is not None:
        kept = redactor.redact(kept)
        name = "redacted"
        if "CLUSTER_NAME" in chosen:
            chosen["CLUSTER_NAME"] = "cluster"
    document: dict[str, Any] = {
        "karptui": FORMAT,
        "name": name,
        "capturedAt": format_timestamp(captured_at_ns),
        "settings": chosen,
    }
    if karpenter_version:
        document["karpenterVersion"] = karpenter_version
    if instance_types is not None:
        document["instanceTypes"] = [_type_document(one) for one in instance_types]
    return {**document, "objects": kept}


def write_recording(document: Mapping[str, Any], path: Path, *, may_replace: bool = False) -> int:
    """Write a recording, packed when the name ends in .gz, and return its size in bytes.

    The file is readable by its owner only, and never half-written.

    Raises:
        SnapshotError: when it exists and may not be replaced, or cannot be written.
    """
    if path.exists() and not may_replace:
        raise SnapshotError(sentence(str(path), "exists already; --force replaces it"))
    data = msgspec.json.encode(document)
    if path.name.endswith(".gz"):
        data = gzip.compress(data, compresslevel=6, mtime=0)
    try:
        # mkstemp gives the file to its owner alone.
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except OSError as error:
        raise SnapshotError(sentence(str(path), f"cannot be written: {error.strerror or error}")) from None
    return len(data)


def _type_document(one: InstanceType) -> dict[str, Any]:
    return {
        "name": one.name,
        "requirements": [_requirement(part) for part in one.requirements],
        "capacity": _amounts(one.capacity),
        "overhead": {
            "kubeReserved": _amounts(one.overhead.kube_reserved),
            "systemReserved": _amounts(one.overhead.system_reserved),
            "evictionThreshold": _amounts(one.overhead.eviction_threshold),
        },
        "offerings": [
            {
                "requirements": [_requirement(part) for part in offering.requirements],
                "price": offering.price_per_hour,
                "available": offering.is_available,
                "reservationCapacity": offering.reservation_capacity,
            }
            for offering in one.offerings
        ],
        **({"volumeAttachmentLimits": dict(one.volume_limits)} if one.volume_limits else {}),
    }


def _requirement(one: NodeSelectorRequirement) -> dict[str, Any]:
    document: dict[str, Any] = {"key": one.key, "operator": one.operator, "values": list(one.values)}
    return document if one.min_values is None else {**document, "minValues": one.min_values}


def _amounts(amounts: ResourceList) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}
