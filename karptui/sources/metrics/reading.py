"""The text that Karpenter's metrics come in, and what karptui takes from it."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from karptui.karpenter.metrics import VALIDATION_SECONDS, ControllerMetrics, OfferingMetrics, OfferingName, PoolMetrics

CONTENT_TYPE: Final = "text/plain;version=0.0.4"

_LABEL: Final = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPED: Final = {"n": "\n", "\\": "\\", '"': '"'}


LONGEST_LINE: Final = 1 << 16
"""Longer ones are no samples, and are passed over."""
MOST_NAMES: Final = 100_000
"""Offerings that are kept; all of a region are a fifth of it."""


class MetricSample(NamedTuple):
    """One line: a family's value under one set of labels. A line that cannot be read has the value None."""

    family: str
    labels: dict[str, str]
    value: float | None


def samples(text: bytes, families: Container[bytes], prefixes: tuple[bytes, ...] = (b"",)) -> Iterator[MetricSample]:
    """Yield the samples of some families, in the order of the text.

    Args:
        prefixes: Their prefixes: other lines are skipped early.
    """
    for line in io.BytesIO(text):
        if len(line) > LONGEST_LINE:
            continue
        if not line.startswith(prefixes) or line.startswith(b"#"):
            continue
        brace = line.find(b"{")
        name = line[:brace] if brace > 0 else (line.split(None, 1) or [b""])[0]
        if name in families:
            yield _sample(name.decode(), line[len(name) :].decode(errors="replace"))


def _sample(name: str, rest: str) -> MetricSample:
    """Parse the text after the name: labels, if any, the value, and perhaps a timestamp."""
    end = rest.rfind("}")
    labels = (_labels(rest[1:end]) if end > 0 else None) if rest.startswith("{") else {}
    words = rest[end + 1 :].split()
    if labels is None or not 1 <= len(words) <= 2:
        return MetricSample(name, {}, None)
    try:
        return MetricSample(name, labels, float(words[0]))
    except ValueError:
        return MetricSample(name, {}, None)


def _labels(raw: str) -> dict[str, str] | None:
    """Return the labels between the braces, None if they are invalid."""
    if (labels := _plain_labels(raw)) is not None:
        return labels
    labels, position = {}, 0
    while position < len(raw):
        match = _LABEL.match(raw, position)
        if match is None:
            return None
        labels[match[1]] = _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[0]), match[2])
        position = match.end()
    return labels


def _plain_labels(raw: str) -> dict[str, str] | None:
    """Return labels that need no closer look, which is nearly all of them; None for the rest.

    Without escapes each label has two quotes: then as many pieces as labels prove that every cut was at a label's end.
    """
    pairs = raw[:-1].split('",')
    if "\\" in raw or " " in raw or not raw.endswith('"') or raw.count('"') != 2 * len(pairs):
        return None
    labels = dict(pair.partition('="')[::2] for pair in pairs)
    return labels if all(map(str.isidentifier, labels)) else None


NS_PER_MILLISECOND: Final = 1_000_000
_PREFIXES: Final = (b"karpenter_", b"leader_election_master_status", b"process_start_time_seconds")


class _Reading:
    def __init__(self) -> None:
        self.consolidation_timeouts: dict[str, int] = {}
        self.evaluations: dict[str, tuple[float, int]] = {}
        self.unwaited: Counter[str] = Counter()
        self.removals = (0.0, 0)
        self.version = ""
        self.is_leader = True
        self.started_at_ns = 0
        self.prices: dict[OfferingName, float] = {}
        self.available: dict[OfferingName, bool] = {}
        self.cpu_cores: dict[str, int] = {}
        self.memory_bytes: dict[str, int] = {}
        self.pools: dict[str, _Pool] = {}
        self.names: dict[tuple[str, str, str], OfferingName] = {}

    def offering(self, labels: Mapping[str, str]) -> OfferingName:
        key = (labels["instance_type"], labels["zone"], labels["capacity_type"])
        name = self.names.get(key)
        if name is None:
            if len(self.names) >= MOST_NAMES:
                raise KeyError
            # One object for both families: there may be tens of thousands.
            name = self.names[key] = OfferingName(*key)
        return name

    def pool(self, labels: Mapping[str, str]) -> _Pool:
        if labels["nodepool"] not in self.pools and len(self.pools) >= MOST_NAMES:
            raise KeyError
        return self.pools.setdefault(labels["nodepool"], _Pool())


class _Pool:
    def __init__(self) -> None:
        self.created: Counter[str] = Counter()
        self.disrupted: Counter[str] = Counter()
        self.terminated = 0


_POD: Final = re.compile(
    rb'^karpenter_pods_state\{(?>(?:[a-z_]+="[^"\n]*",)*?nodepool="([^"\n]+)",)[^\n]*?phase="(?:Running|Pending)"',
    re.MULTILINE,
)
"""A running pod on a node of a NodePool.

There is a line for every pod, so one expression selects them. Labels are sorted by name, and names of Kubernetes
objects contain no quotes. Labels before the NodePool are not tried twice, so that no line takes long.
"""

_Take = Callable[[_Reading, Mapping[str, str], float], None]


def _price(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    # Karpenter writes 0 for unknown prices.
    if value > 0:
        reading.prices[reading.offering(labels)] = value


def _available(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    reading.available[reading.offering(labels)] = value != 0


def _cpu_cores(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    reading.cpu_cores[labels["instance_type"]] = int(value)


def _memory_bytes(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    reading.memory_bytes[labels["instance_type"]] = int(value)


def _build_info(reading: _Reading, labels: Mapping[str, str], _: float) -> None:
    reading.version = labels.get("version", "")


def _leader(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    if labels.get("name", "karpenter-leader-election").startswith("karpenter"):
        reading.is_leader = value == 1


def _started(reading: _Reading, _: Mapping[str, str], value: float) -> None:
    reading.started_at_ns = round(value * 1000) * NS_PER_MILLISECOND


def _timeouts(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    reading.consolidation_timeouts[labels["consolidation_type"]] = int(value)


def _evaluated(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    kind = labels.get("consolidation_type", "")
    total, count = reading.evaluations.get(kind, (0.0, 0))
    reading.evaluations[kind] = (total + value, count)


def _evaluations(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    kind = labels.get("consolidation_type", "")
    total, count = reading.evaluations.get(kind, (0.0, 0))
    reading.evaluations[kind] = (total, count + int(value))


def _evaluated_within(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    if float(labels["le"]) == VALIDATION_SECONDS:
        reading.unwaited[labels.get("consolidation_type", "")] += int(value)


def _simulated(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    if labels["controller"] == "disruption":
        reading.removals = (value, reading.removals[1])


def _simulations(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    if labels["controller"] == "disruption":
        reading.removals = (reading.removals[0], int(value))


def _pool(reading: _Reading, labels: Mapping[str, str], _: float) -> None:
    """Take only the name: a NodePool may have launched nothing yet."""
    reading.pool(labels)


# The numbers are sums over the labels that are not kept, such as ``min_values_relaxed``.


def _created(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    reading.pool(labels).created[labels.get("reason", "")] += int(value)


def _disrupted(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    reading.pool(labels).disrupted[labels.get("reason", "")] += int(value)


def _terminated(reading: _Reading, labels: Mapping[str, str], value: float) -> None:
    reading.pool(labels).terminated += int(value)


_FAMILIES: Final[Mapping[bytes, _Take]] = {
    b"karpenter_cloudprovider_instance_type_offering_price_estimate": _price,
    b"karpenter_cloudprovider_instance_type_offering_available": _available,
    b"karpenter_cloudprovider_instance_type_cpu_cores": _cpu_cores,
    b"karpenter_cloudprovider_instance_type_memory_bytes": _memory_bytes,
    b"karpenter_nodepools_usage": _pool,
    b"karpenter_nodepools_limit": _pool,
    b"karpenter_nodepools_cost_total": _pool,
    b"karpenter_nodepools_allowed_disruptions": _pool,
    b"karpenter_nodepools_nodes_consuming_budgets": _pool,
    b"karpenter_nodes_created_total": _pool,
    b"karpenter_nodeclaims_created_total": _created,
    b"karpenter_nodeclaims_disrupted_total": _disrupted,
    b"karpenter_nodeclaims_terminated_total": _terminated,
    b"karpenter_voluntary_disruption_consolidation_timeouts_total": _timeouts,
    b"karpenter_voluntary_disruption_decision_evaluation_duration_seconds_sum": _evaluated,
    b"karpenter_voluntary_disruption_decision_evaluation_duration_seconds_count": _evaluations,
    b"karpenter_voluntary_disruption_decision_evaluation_duration_seconds_bucket": _evaluated_within,
    b"karpenter_scheduler_scheduling_duration_seconds_sum": _simulated,
    b"karpenter_scheduler_scheduling_duration_seconds_count": _simulations,
    b"karpenter_build_info": _build_info,
    b"leader_election_master_status": _leader,
    b"process_start_time_seconds": _started,
}


def _pods_by_pool(text: bytes) -> dict[str, int]:
    counts = Counter(match[1] for match in _POD.finditer(text))
    return {name.decode(errors="replace"): counts[name] for name in sorted(counts)}


def read_metrics(text: bytes, *, endpoint: str, read_at_ns: int) -> ControllerMetrics:
    """Parse a response of the metrics endpoint."""
    reading = _Reading()
    for family, labels, value in samples(text, _FAMILIES, _PREFIXES):
        if value is not None and math.isfinite(value):
            with suppress(KeyError, OverflowError, ValueError):
                _FAMILIES[family.encode()](reading, labels, value)
    return ControllerMetrics(
        read_at_ns=read_at_ns,
        endpoint=endpoint,
        version=reading.version,
        is_leader=reading.is_leader,
        started_at_ns=reading.started_at_ns,
        offerings={
            name: OfferingMetrics(reading.prices.get(name), reading.available.get(name))
            for name in reading.names.values()
        },
        cpu_cores=reading.cpu_cores,
        memory_bytes=reading.memory_bytes,
        pools={
            name: PoolMetrics(
                nodeclaims_created=pool.created,
                nodeclaims_disrupted=pool.disrupted,
                nodeclaims_terminated=pool.terminated,
            )
            for name, pool in sorted(reading.pools.items())
        },
        pods_by_pool=_pods_by_pool(text),
        consolidation_timeouts=reading.consolidation_timeouts,
        evaluation_seconds=reading.evaluations,
        unwaited_evaluations=reading.unwaited,
        simulated_removals=reading.removals,
    )
