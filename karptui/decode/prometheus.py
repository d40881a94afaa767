"""Queries to Prometheus for usage of containers, its answers, and the requests that follow from them.

Sources: Prometheus' HTTP API (querying/api); cAdvisor's metrics (docs/storage/prometheus.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO, Quantity
from karptui.kube.resources import CPU, MEMORY
from karptui.kube.usage import ENOUGH_HOURS, sized_containers
from karptui.kube.vpa import PROMETHEUS, SIZED, Recommendation, Recommendations

FIRST: Final = "first"
"""Query for the time of the oldest measurement."""
_METRICS: Final = {CPU: "container_cpu_usage_seconds_total", MEMORY: "container_memory_working_set_bytes"}
_SELECTOR: Final = '{container!="",container!="POD"}'
_BY: Final = "by (namespace, pod, container)"
_MOST_QUOTED: Final = 300

Key = tuple[str, str, str]
"""Namespace, pod and container."""


class PrometheusError(ValueError):
    """Prometheus gave no usable answer; the message begins with a verb."""


class _Sample(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str]


class _Data(msgspec.Struct):
    result: list[_Sample] = []


class _Answer(msgspec.Struct, rename="camel"):
    status: str
    data: _Data | None = None
    error_type: str = ""
    error: str = ""
    warnings: list[str] = []


class Answer(msgspec.Struct, frozen=True):
    """An answer to an instant query."""

    series: Mapping[Key, float]
    warnings: tuple[str, ...] = ()
    """Why the answer may be incomplete."""


def queries(percentile: int, hours: int) -> dict[str, str]:
    """Return the queries for cpu in cores, memory in bytes, and the time of the oldest measurement."""
    cpu, memory = (f"{_METRICS[resource]}{_SELECTOR}" for resource in (CPU, MEMORY))
    return {
        CPU: f"max {_BY} (quantile_over_time({percentile / 100:g}, rate({cpu}[5m])[{hours}h:5m]))",
        MEMORY: f"max {_BY} (max_over_time({memory}[{hours}h]))",
        FIRST: f"min {_BY} (min_over_time(timestamp({memory})[{hours}h:1h]))",
    }


def read_answer(data: bytes) -> Answer:
    """Return the values of an instant query.

    Raises:
        PrometheusError: It is no such answer, or Prometheus reports an error.
    """
    try:
        answer = msgspec.json.decode(data, type=_Answer)
        readings = [(sample.metric, float(sample.value[1])) for sample in (answer.data or _Data()).result]
    except (ValueError, RecursionError) as error:  # msgspec's are ValueErrors
        raise PrometheusError(f"answered no result of a query: {str(error)[:_MOST_QUOTED]}") from None
    if answer.status != "success":
        raise PrometheusError(f"reports {answer.status} {answer.error_type}: {answer.error}"[:_MOST_QUOTED])
    series = {(of.get("namespace", ""), of.get("pod", ""), of.get("container", "")): value for of, value in readings}
    return Answer(series, tuple(answer.warnings))


def of_usage(
    answers: Mapping[str, Answer], workloads: Mapping[str, Sequence[Pod]], *, percentile: int, hours: int, now_ns: int
) -> Recommendations:
    """Return each container's highest values of the pods that there are now.

    Args:
        answers: By the name of their query.
        workloads: Active pods by ``Kind/namespace/name`` of their workload.

    Raises:
        PrometheusError: There are no measurements of these pods, or one is no amount.
    """
    items: list[Recommendation] = []
    lengths: list[float] = []
    without = 0
    for resource in SIZED:
        if not answers[resource].series:
            raise PrometheusError(f"has no {_METRICS[resource]} of a named container in {hours} hours")
    for workload, name, pods in sized_containers(workloads):
        keys = [(pod.namespace, pod.name, name) for pod in pods]
        amounts_by_question = {of: amounts for of in answers if (amounts := _amounts(of, answers[of], keys))}
        requests: dict[str, Quantity] = {
            of: Quantity(math.ceil(max(amounts_by_question[of]) * NANO)) for of in SIZED if of in amounts_by_question
        }
        length = math.inf  # unknown
        if MEMORY in amounts_by_question:
            length = min(max(now_ns / 1e9 - min(amounts_by_question.get(FIRST, [math.inf])), 0) / 3600, hours)
            lengths.append(length)
        unsure = length < ENOUGH_HOURS
        if requests:
            items.append(Recommendation(workload=workload, container=name, requests=requests, is_unsure=unsure))
        without += not requests
    if not items:
        raise PrometheusError("has no measurements of this cluster's pods: is it the Prometheus of another cluster?")
    return Recommendations(
        source=PROMETHEUS,
        items=tuple(items),
        cpu_percentile=percentile,
        history_hours=hours,
        known_hours=(min(lengths), max(lengths)) if lengths else None,
        without=without,
    )


def _amounts(of: str, answer: Answer, keys: Sequence[Key]) -> list[float]:
    for key in keys:
        amount = answer.series.get(key, 0.0)
        if not 0 <= amount < 2**60:  # NaN is neither
            raise PrometheusError(f"has {amount:g} as {of} of pod {key[0]}/{key[1]}, container {key[2]}")
    return [answer.series[key] for key in keys if key in answer.series]
