"""Decodes VerticalPodAutoscalers, and what ``krr … -f json`` printed.

Sources: vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1/types.go; robusta_krr/core/models of robusta-dev/krr.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from karptui.decode import wire as wires
from karptui.decode.wire import Wire, object_fields, quantities
from karptui.kube.quantity import NANO, Quantity
from karptui.kube.vpa import DEFAULT_MODE, SIZED, Recommendation, Recommendations, VerticalPodAutoscaler


class WireVpaSpec(Wire):
    """``spec``."""

    target_ref: dict[str, Any] | None = None
    update_policy: dict[str, Any] | None = None


class WireTarget(Wire):
    """An item of ``status.recommendation.containerRecommendations``."""

    container_name: str = ""
    target: wires.WireQuantities | None = None


class WireRecommendation(Wire):
    """``status.recommendation``."""

    container_recommendations: list[WireTarget] | None = None


class WireVpaStatus(Wire):
    """``status``."""

    recommendation: WireRecommendation | None = None
    conditions: list[wires.WireCondition] | None = None


class WireVpa(wires.WireObject):
    """A VerticalPodAutoscaler."""

    spec: WireVpaSpec | None = None
    status: WireVpaStatus | None = None


def build_vpa(wire: WireVpa) -> VerticalPodAutoscaler:
    """Return a VerticalPodAutoscaler."""
    spec, status = wire.spec or WireVpaSpec(), wire.status or WireVpaStatus()
    reference = spec.target_ref or {}
    recommendations = (status.recommendation or WireRecommendation()).container_recommendations or ()
    path = "status.recommendation.containerRecommendations"
    return VerticalPodAutoscaler(
        **object_fields(wire.metadata),
        target_kind=str(reference.get("kind") or ""),
        target_name=str(reference.get("name") or ""),
        update_mode=str((spec.update_policy or {}).get("updateMode") or DEFAULT_MODE),
        targets=tuple(
            (recommendation.container_name, quantities(recommendation.target, f"{path}[{index}].target"))
            for index, recommendation in enumerate(recommendations)
        ),
        conditions=wires.conditions(status.conditions),
    )


class _KrrObject(msgspec.Struct):
    name: str
    namespace: str
    kind: str
    container: str
    hpa: Any = None


class _KrrAmount(msgspec.Struct):
    value: float | str | None = None


class _KrrRecommended(msgspec.Struct):
    requests: dict[str, _KrrAmount]


class _KrrScan(msgspec.Struct):
    object: _KrrObject
    recommended: _KrrRecommended


class _KrrStrategy(msgspec.Struct):
    name: str = ""
    settings: dict[str, Any] = {}


class _KrrResult(msgspec.Struct):
    scans: list[_KrrScan]
    strategy: _KrrStrategy = msgspec.field(default_factory=_KrrStrategy)


def read_krr(text: str) -> Recommendations:
    """Return KRR's recommendations: cores and bytes, null if there is none, ``?`` if the usage is unknown.

    Raises:
        ValueError: The text is no KRR result; names scan and field.
    """
    try:
        result = msgspec.json.decode(text, type=_KrrResult)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"is no result of krr -f json: {error}") from None
    items = [
        Recommendation(
            workload=f"{scan.object.kind}/{scan.object.namespace}/{scan.object.name}",
            container=scan.object.container,
            requests=_amounts(scan),
            has_hpa=scan.object.hpa is not None,
        )
        for scan in result.scans
    ]
    strategy = result.strategy

    def number(name: str) -> float | None:
        value = strategy.settings.get(name)
        return float(value) if isinstance(value, int | float) else None

    return Recommendations(
        source=f"KRR {strategy.name}".strip(),
        items=tuple(item for item in items if item.requests),
        cpu_percentile=number("cpu_percentile"),
        memory_buffer_percent=number("memory_buffer_percentage"),
        history_hours=number("history_duration"),
        without=sum(not item.requests for item in items),
    )


def _amounts(scan: _KrrScan) -> dict[str, Quantity]:
    amounts: dict[str, Quantity] = {}
    for name in SIZED:
        amount = scan.recommended.requests.get(name)
        value = amount.value if amount is not None else None
        if value is None or value == "?":
            continue
        if isinstance(value, str) or not math.isfinite(value) or not 0 <= value < 2**60:
            of = f"{scan.object.kind} {scan.object.namespace}/{scan.object.name}: container {scan.object.container}"
            raise ValueError(f"{of}: recommended.requests.{name}.value is {value!r:.60}, no amount")
        amounts[name] = Quantity(round(value * NANO))
    return amounts
