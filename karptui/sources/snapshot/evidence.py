"""Evidence in a recording: offerings, Karpenter's metrics and settings, AWS facts, live usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.evidence import Evidence
from karptui.aws.prices import PriceSource
from karptui.aws.region import NO_FACTS, Dated, FactKind, FactPhase, FactStatus, RegionFacts
from karptui.karpenter.controller import ControllerInfo
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName
from karptui.kube.timestamps import format_timestamp, parse_now
from karptui.kube.usage import NO_LIVE_USAGE, LiveUsage, Sample, Used, first_seen

_Price: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]


class _Offerings(msgspec.Struct):
    """Offerings by instance type, each as zone, capacity type, price per hour and whether it is available."""

    source: str
    at: str
    types: dict[str, list[tuple[str, str, _Price | None, bool | None]]]


class _Evidence(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """The fields of ``Evidence`` that do not come from the user; the names are the same."""

    setting_origins: Mapping[str, str] = {}
    controller: ControllerInfo | None = None
    controller_status: FactStatus | None = None
    others_labelled: tuple[str, ...] = ()
    facts: RegionFacts = NO_FACTS
    fact_statuses: Mapping[FactKind, FactStatus] = {}
    metrics: ControllerMetrics | None = None
    metrics_status: FactStatus | None = None


class _Usage(msgspec.Struct, rename="camel"):
    """Measurements by node and by pod, each as cpu in millicores, memory in bytes and when it ended."""

    at: str
    window_ns: int
    nodes: dict[str, tuple[int, int, int]]
    pods: dict[str, tuple[int, int, int]]


_OFFERINGS: Final = "offerings"
_EVIDENCE: Final = "evidence"
_USAGE: Final = "usage"


def evidence_document(evidence: Evidence, usage: LiveUsage = NO_LIVE_USAGE) -> dict[str, Any]:
    """Return the recording's fields for the evidence, without settings and version."""
    metrics = evidence.metrics
    document: dict[str, Any] = {}
    if metrics is not None and metrics.offerings:
        document[_OFFERINGS] = _builtins(_offerings(metrics))
    kept = {name: getattr(evidence, name) for name in _Evidence.__struct_fields__}
    kept["metrics"] = None if metrics is None else msgspec.structs.replace(metrics, offerings={})
    if evidence.controller is not None:
        kept["controller"] = msgspec.structs.replace(evidence.controller, settings={})
    kept["facts"] = _without_built_in(evidence.facts)
    if fields := _builtins(_Evidence(**kept)):
        document[_EVIDENCE] = fields
    if usage.read_at_ns:
        at = format_timestamp(usage.read_at_ns)
        document[_USAGE] = _builtins(_Usage(at, usage.window_ns, _samples(usage.nodes), _samples(usage.pods)))
    return document


def recorded_evidence(document: Mapping[str, Any], base: Evidence) -> Evidence:
    """Return the evidence with a recording's fields added.

    Raises:
        ValueError: naming the invalid field.
    """
    fields = _convert(document, _EVIDENCE, _Evidence) or _Evidence()
    item = {name: getattr(fields, name) for name in _Evidence.__struct_fields__}
    item["setting_origins"] = origins = fields.setting_origins or base.setting_origins
    item["controller"] = _with_settings(fields.controller or base.controller, base.settings.environment, origins)
    for name in ("controller_status", "metrics_status"):
        item[name] = _offline(item[name])
    item["fact_statuses"] = {kind: _offline(status) for kind, status in fields.fact_statuses.items()}
    item["metrics"] = metrics = _metrics(fields.metrics, _convert(document, _OFFERINGS, _Offerings))
    before = None if metrics is None else msgspec.structs.replace(metrics, offerings={})
    return msgspec.structs.replace(base, **item, metrics_before=before)


def recorded_usage(document: Mapping[str, Any]) -> LiveUsage:
    """Return the live usage that a recording keeps.

    Raises:
        ValueError: naming the field that cannot be read.
    """
    usage = _convert(document, _USAGE, _Usage)
    if usage is None:
        return NO_LIVE_USAGE
    return LiveUsage(
        nodes=_used(usage.nodes),
        pods=_used(usage.pods),
        read_at_ns=_instant_ns(_USAGE, usage.at),
        window_ns=usage.window_ns,
        is_asked=True,
    )


def _with_settings(
    controller: ControllerInfo | None, environment: Mapping[str, str], origins: Mapping[str, str]
) -> ControllerInfo | None:
    """Return the controller with the settings that come from it."""
    if controller is None:
        return None
    settings = {name: value for name, value in environment.items() if origins.get(name) == controller.title}
    return msgspec.structs.replace(controller, settings=settings)


def _offerings(metrics: ControllerMetrics) -> _Offerings:
    types: dict[str, list[tuple[str, str, float | None, bool | None]]] = {}
    for name, offering in metrics.offerings.items():
        of_type = types.setdefault(name.instance_type, [])
        of_type.append((name.zone, name.capacity_type, offering.price_per_hour, offering.is_available))
    return _Offerings(PriceSource.KARPENTER, format_timestamp(metrics.read_at_ns), types)


def _metrics(metrics: ControllerMetrics | None, recorded: _Offerings | None) -> ControllerMetrics | None:
    """Return metrics with the recorded offerings, which may exist without metrics."""
    if recorded is None:
        return metrics
    offerings = {
        OfferingName(type_name, zone, capacity_type): OfferingMetrics(price_per_hour, is_available)
        for type_name, of_type in recorded.types.items()
        for zone, capacity_type, price_per_hour, is_available in of_type
    }
    at_ns = _instant_ns(_OFFERINGS, recorded.at)
    base = metrics or ControllerMetrics(read_at_ns=at_ns, endpoint=recorded.source)
    return msgspec.structs.replace(base, read_at_ns=at_ns, offerings=offerings)


def _without_built_in(facts: RegionFacts) -> RegionFacts:
    """Return AWS's facts without the instance types that the built-in catalogue describes in the same way."""
    if facts.instance_types is None:
        return facts
    built_in = instance_type_facts()
    other = {name: fact for name, fact in facts.instance_types.value.items() if built_in.get(name) != fact}
    return msgspec.structs.replace(facts, instance_types=Dated(other, facts.instance_types.as_of_ns))


def _offline(status: FactStatus | None) -> FactStatus | None:
    """Return a status for a recording: nothing is live, and nothing is read again."""
    if status is None:
        return None
    phase = FactPhase.RECORDED if status.phase in (FactPhase.LIVE, FactPhase.CACHED) else status.phase
    return msgspec.structs.replace(status, phase=phase, retry_at_ns=0)


def _samples(used: Mapping[str, Used]) -> dict[str, tuple[int, int, int]]:
    latest = {name: used.latest for name, used in used.items()}
    return {name: (sample.cpu_millis, sample.memory_bytes, sample.at_ns) for name, sample in latest.items()}


def _used(samples: Mapping[str, tuple[int, int, int]]) -> Mapping[str, Used]:
    return {name: first_seen(Sample(at_ns, cpu, memory)) for name, (cpu, memory, at_ns) in samples.items()}


def _builtins(value: msgspec.Struct) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(value, enc_hook=dict)
    return built


def _convert(document: Mapping[str, Any], field: str, shape: type[Any]) -> Any:
    value = document.get(field)
    if value is None:
        return None
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise ValueError(f"{field}: {error}") from None


def _instant_ns(field: str, text: str) -> int:
    try:
        return parse_now(text)
    except ValueError as error:
        raise ValueError(f"{field}: at: {error}") from None
