"""Every quick edit of a document, in display order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from karptui.whatif.field_path import Path
from karptui.whatif.quick_edits.fields import (
    DURATION,
    QuickEdit,
    choice_field,
    duration_field,
    number_field,
    quantity_fault,
    quantity_field,
    quantity_value,
    text_field,
)
from karptui.whatif.quick_edits.item_fields import budgets_field, label_value_fault, pairs_field, taints_field
from karptui.whatif.quick_edits.requirements import requirement_field

_CLASS: Final = ("EC2NodeClass",)
_TEMPLATED: Final = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")
_SCALED: Final = ("Deployment", "StatefulSet", "ReplicaSet")
_SPEC: Final[Path] = ("spec", "template", "spec")
_META: Final[Path] = ("spec", "template", "metadata")
_LIMIT_HINT: Final = "resource=amount, such as cpu=400 or nvidia.com/gpu=8"


def _disrupt_fault(text: str) -> str:
    return "" if text in {"", "true"} or DURATION.match(text) else "must be true, or a duration such as 4h"


def _amount_fault(text: str) -> str:
    return quantity_fault(text) or ("" if text else "the amount is missing")


def _count_or_percent(text: str) -> str:
    return (
        "" if not text or text.removesuffix("%").isdigit() else "must be a number of pods, or a percentage such as 50%"
    )


def _pool(make: Callable[..., QuickEdit], id_: str, dotted: str, title: str = "", **options: Any) -> QuickEdit:
    """Make a quick edit of a field of a NodePool, whose title is its name by default."""
    path = dotted.split(".")
    return make(f"nodepool.{id_}", title or path[-1], ("NodePool",), tuple(path), **options)


_POLICIES: Final = (
    ("WhenEmpty", "only nodes without workload pods"),
    ("WhenEmptyOrUnderutilized", "also nodes whose pods fit elsewhere"),
    ("Balanced", "also, if the savings are worth the disruption"),
)
_POOL_EDITS: Final = (
    _pool(number_field, "weight", "spec.weight", low=1, high=100, hint="1 to 100, the highest is tried first"),
    _pool(number_field, "replicas", "spec.replicas", hint="of a static pool"),
    _pool(quantity_field, "limits.cpu", "spec.limits.cpu", "limit cpu", start="100", hint="cores, such as 400"),
    _pool(quantity_field, "limits.memory", "spec.limits.memory", "limit memory", start="400Gi", hint="such as 1600Gi"),
    _pool(quantity_field, "limits.nodes", "spec.limits.nodes", "limit nodes", start="10", hint="such as 20"),
    _pool(pairs_field, "limits", "spec.limits", value_fault=_amount_fault, value_of=quantity_value, hint=_LIMIT_HINT),
    requirement_field(
        "nodepool.capacity-type", "capacity type", "karpenter.sh/capacity-type", usual=("spot", "on-demand", "reserved")
    ),
    requirement_field("nodepool.arch", "arch", "kubernetes.io/arch", usual=("amd64", "arm64")),
    requirement_field("nodepool.zone", "zones", "topology.kubernetes.io/zone"),
    requirement_field("nodepool.category", "categories", "karpenter.k8s.aws/instance-category"),
    requirement_field("nodepool.family", "families", "karpenter.k8s.aws/instance-family"),
    requirement_field("nodepool.size", "sizes", "karpenter.k8s.aws/instance-size"),
    requirement_field("nodepool.type", "instance types", "node.kubernetes.io/instance-type"),
    _pool(taints_field, "taints", "spec.template.spec.taints"),
    _pool(taints_field, "startup-taints", "spec.template.spec.startupTaints", "startup taints"),
    _pool(
        pairs_field,
        "labels",
        "spec.template.metadata.labels",
        "node labels",
        value_fault=label_value_fault,
        hint="key=value, such as team=ml",
    ),
    _pool(
        pairs_field,
        "annotations",
        "spec.template.metadata.annotations",
        "node annotations",
        value_fault=lambda _: "",
        hint="key=value, such as karpenter.sh/do-not-disrupt=true",
    ),
    _pool(choice_field, "policy", "spec.disruption.consolidationPolicy", "policy", choices=_POLICIES),
    _pool(
        duration_field,
        "consolidate-after",
        "spec.disruption.consolidateAfter",
        ladder=("0s", "30s", "1m", "2m", "5m", "10m", "15m", "30m", "1h", "Never"),
        removable=False,
    ),
    _pool(budgets_field, "budgets", "spec.disruption.budgets"),
    _pool(
        duration_field,
        "expire-after",
        "spec.template.spec.expireAfter",
        ladder=("24h", "72h", "168h", "336h", "720h", "Never"),
    ),
    _pool(
        duration_field,
        "termination-grace-period",
        "spec.template.spec.terminationGracePeriod",
        ladder=("30s", "1m", "5m", "15m", "30m", "1h", "4h", "24h", "48h"),
    ),
)


def _eviction_fault(text: str) -> str:
    if text.endswith("%"):
        return "" if text[:-1].replace(".", "", 1).isdigit() else "must be a percentage such as 5%"
    return _amount_fault(text)


def _kubelet(make: Callable[..., QuickEdit], field: str, **options: Any) -> QuickEdit:
    """Make a quick edit of a field of ``spec.kubelet``, which is its title too."""
    return make(f"nodeclass.{field}", field, _CLASS, ("spec", "kubelet", field), **options)


_RESERVED_HINT: Final = "resource=amount, such as memory=500Mi (cpu, memory, ephemeral-storage, pid)"
_EVICTION_HINT: Final = "signal=amount, such as memory.available=5% or nodefs.available=10Gi"
_CLASS_EDITS: Final = (
    _kubelet(number_field, "maxPods", hint="pods per node"),
    _kubelet(number_field, "podsPerCore", hint="pods per vCPU"),
    _kubelet(pairs_field, "systemReserved", value_fault=_amount_fault, hint=_RESERVED_HINT),
    _kubelet(pairs_field, "kubeReserved", value_fault=_amount_fault, hint=_RESERVED_HINT),
    _kubelet(pairs_field, "evictionHard", value_fault=_eviction_fault, hint=_EVICTION_HINT),
    _kubelet(pairs_field, "evictionSoft", value_fault=_eviction_fault, hint=_EVICTION_HINT),
    _kubelet(
        pairs_field,
        "evictionSoftGracePeriod",
        value_fault=lambda text: "" if DURATION.match(text) else "must be a duration such as 2m",
        hint="signal=duration, such as memory.available=2m",
    ),
    _kubelet(number_field, "evictionMaxPodGracePeriod", hint="seconds"),
    _kubelet(number_field, "imageGCHighThresholdPercent", high=100),
    _kubelet(number_field, "imageGCLowThresholdPercent", high=100),
    _kubelet(
        choice_field,
        "cpuCFSQuota",
        choices=(("true", "limits are enforced"), ("false", "limits are not enforced")),
        truth=True,
    ),
)
_WORKLOAD_EDITS: Final = (
    number_field("workload.replicas", "replicas", _SCALED, ("spec", "replicas"), hint="pods"),
    *(
        text_field(
            f"{prefix}.do-not-disrupt",
            "do-not-disrupt",
            kinds,
            (*metadata, "annotations", "karpenter.sh/do-not-disrupt"),
            fault=_disrupt_fault,
            hint="true, or a duration such as 4h; empty removes it",
        )
        for prefix, kinds, metadata in (("workload", _TEMPLATED, _META), ("pod", ("Pod",), ("metadata",)))
    ),
    pairs_field(
        "workload.node-selector",
        "nodeSelector",
        _TEMPLATED,
        (*_SPEC, "nodeSelector"),
        value_fault=label_value_fault,
        hint="key=value, such as karpenter.sh/nodepool=general",
    ),
    *(
        quantity_field(
            f"{prefix}.{resource}",
            f"{resource} request",
            kinds,
            (*spec, "containers", 0, "resources", "requests", resource),
            start=example,
            hint=f"of the first container, such as {example}",
        )
        for prefix, kinds, spec in (("workload", _TEMPLATED, _SPEC), ("pod", ("Pod",), ("spec",)))
        for resource, example in (("cpu", "500m"), ("memory", "2Gi"))
    ),
    *(
        text_field(
            f"pdb.{field}",
            field,
            ("PodDisruptionBudget",),
            ("spec", field),
            fault=_count_or_percent,
            hint="pods, or a percentage",
        )
        for field in ("maxUnavailable", "minAvailable")
    ),
)
QUICK_EDITS: Final[tuple[QuickEdit, ...]] = (*_POOL_EDITS, *_CLASS_EDITS, *_WORKLOAD_EDITS)
"""All of them; each changes the field at its path and nothing else."""


def quick_edits_for(kind: str) -> tuple[QuickEdit, ...]:
    """List the quick edits of a kind, in order."""
    return tuple(edit for edit in QUICK_EDITS if kind in edit.kinds)
