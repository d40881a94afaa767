"""The text that Karpenter's metrics come in, and what karptui takes from it."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from itertools import islice
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
_POD: Final = re.compile(
    rb'^karpenter_pods_state\{(?>(?:[a-z_]+="[^"\n]*",)*?nodepool="([^"\n]+)",)[^\n]*?phase="(?:Running|Pending)"',
    re.MULTILINE,
)
"""A running pod on a node of a NodePool.

There is a line for every pod, so one expression selects them. Labels are sorted by name, and names of Kubernetes
objects contain no quotes. Labels before the NodePool are not tried twice, so that no line takes long.
"""

_OFFERING: Final = ("instance_type", "zone", "capacity_type")
_FAMILIES: Final[Mapping[bytes, tuple[str, ...]]] = {
    b"karpenter_cloudprovider_instance_type_offering_price_estimate": ("prices", *_OFFERING),
    b"karpenter_cloudprovider_instance_type_offering_available": ("available", *_OFFERING),
    b"karpenter_cloudprovider_instance_type_cpu_cores": ("cpu_cores", "instance_type"),
    b"karpenter_cloudprovider_instance_type_memory_bytes": ("memory_bytes", "instance_type"),
    b"karpenter_nodepools_usage": ("pools", "nodepool"),
    b"karpenter_nodepools_limit": ("pools", "nodepool"),
    b"karpenter_nodepools_cost_total": ("pools", "nodepool"),
    b"karpenter_nodepools_allowed_disruptions": ("pools", "nodepool"),
    b"karpenter_nodepools_nodes_consuming_budgets": ("pools", "nodepool"),
    b"karpenter_nodes_created_total": ("pools", "nodepool"),
    b"karpenter_nodeclaims_created_total": ("created", "nodepool", "reason"),
    b"karpenter_nodeclaims_disrupted_total": ("disrupted", "nodepool", "reason"),
    b"karpenter_nodeclaims_terminated_total": ("terminated", "nodepool"),
    b"karpenter_voluntary_disruption_consolidation_timeouts_total": ("timeouts", "consolidation_type"),
    b"karpenter_voluntary_disruption_decision_evaluation_duration_seconds_sum": ("evaluated", "consolidation_type"),
    b"karpenter_voluntary_disruption_decision_evaluation_duration_seconds_count": ("evaluations", "consolidation_type"),
    b"karpenter_voluntary_disruption_decision_evaluation_duration_seconds_bucket": (
        "evaluated_within",
        "le",
        "consolidation_type",
    ),
    b"karpenter_scheduler_scheduling_duration_seconds_sum": ("scheduled", "controller"),
    b"karpenter_scheduler_scheduling_duration_seconds_count": ("schedulings", "controller"),
    b"karpenter_build_info": ("built", "version"),
    b"leader_election_master_status": ("leads", "name"),
    b"process_start_time_seconds": ("started",),
}
"""Our name of each metric family, and the labels that its values are grouped by; values are summed over the others."""
_OPTIONAL: Final = frozenset({"reason", "consolidation_type", "version", "name"})
"""Labels that may be missing."""
_POOLS: Final = ("pools", "created", "disrupted", "terminated")
"""Families whose labels name NodePools. A NodePool that has launched nothing has no counter of launches."""
_LEADER: Final = "karpenter"
"""Prefix of the name of Karpenter's leader election."""

_Sums = dict[tuple[str, ...], float]


def _summed(text: bytes) -> dict[str, _Sums]:
    """Return the finite values of a text, by our name of the family and then by labels."""
    sums: dict[str, _Sums] = {kept[0]: {} for kept in _FAMILIES.values()}
    for family, labels, value in samples(text, _FAMILIES, _PREFIXES):
        what, *names = _FAMILIES[family.encode()]
        if value is None or not _OPTIONAL.union(labels).issuperset(names):
            continue
        key, known = tuple(labels.get(name, "") for name in names), sums[what]
        total = known.get(key, 0.0) + value
        if math.isfinite(total) and (key in known or len(known) < MOST_NAMES):
            known[key] = total
    return sums


def _ints(sums: _Sums) -> dict[str, int]:
    """Return whole numbers by their only label."""
    return {name: int(value) for (name,), value in sums.items()}


def _by_reason(sums: _Sums) -> dict[str, dict[str, int]]:
    by_pool: dict[str, dict[str, int]] = {}
    for (pool, reason), value in sums.items():
        by_pool.setdefault(pool, {})[reason] = int(value)
    return by_pool


def _within(sums: _Sums, seconds: float) -> dict[str, int]:
    """Return the numbers in the bucket of a histogram with an upper bound, by their other label."""
    numbers = {}
    for (bound, name), value in sums.items():
        with suppress(ValueError):
            if float(bound) == seconds:
                numbers[name] = int(value)
    return numbers


def _offerings(prices: _Sums, available: _Sums) -> dict[OfferingName, OfferingMetrics]:
    # Karpenter writes 0 for unknown prices.
    known = {key: price for key, price in prices.items() if price > 0}
    return {
        OfferingName(*key): OfferingMetrics(known.get(key), bool(available[key]) if key in available else None)
        for key in islice(dict.fromkeys((*available, *known)), MOST_NAMES)
    }


def _pods_by_pool(text: bytes) -> dict[str, int]:
    counts = Counter(match[1] for match in _POD.finditer(text))
    return {name.decode(errors="replace"): counts[name] for name in sorted(counts)}


def read_metrics(text: bytes, *, endpoint: str, read_at_ns: int) -> ControllerMetrics:
    """Parse a response of the metrics endpoint."""
    sums = _summed(text)
    controller = ("disruption",)
    leads = [value for (name,), value in sums["leads"].items() if (name or _LEADER).startswith(_LEADER)]
    created, disrupted = _by_reason(sums["created"]), _by_reason(sums["disrupted"])
    passes = _ints(sums["evaluations"])
    started_at_ns = 0
    with suppress(OverflowError):
        started_at_ns = round(sums["started"].get((), 0.0) * 1000) * NS_PER_MILLISECOND
    return ControllerMetrics(
        read_at_ns=read_at_ns,
        endpoint=endpoint,
        version=next(reversed(sums["built"]), ("",))[0],
        is_leader=leads[-1:] in ([], [1]),
        started_at_ns=started_at_ns,
        offerings=_offerings(sums["prices"], sums["available"]),
        cpu_cores=_ints(sums["cpu_cores"]),
        memory_bytes=_ints(sums["memory_bytes"]),
        pools={
            name: PoolMetrics(
                nodeclaims_created=created.get(name, {}),
                nodeclaims_disrupted=disrupted.get(name, {}),
                nodeclaims_terminated=int(sums["terminated"].get((name,), 0)),
            )
            for name in sorted({key[0] for what in _POOLS for key in sums[what]})
        },
        pods_by_pool=_pods_by_pool(text),
        consolidation_timeouts=_ints(sums["timeouts"]),
        evaluation_seconds={
            kind: (sums["evaluated"].get((kind,), 0.0), passes.get(kind, 0))
            for (kind,) in dict.fromkeys((*sums["evaluated"], *sums["evaluations"]))
        },
        unwaited_evaluations=_within(sums["evaluated_within"], VALIDATION_SECONDS),
        simulated_removals=(sums["scheduled"].get(controller, 0.0), int(sums["schedulings"].get(controller, 0))),
    )
