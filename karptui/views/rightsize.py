"""Right-sizing: its sentences, the table of workloads, and the patches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from karptui.aws.money import per_hour_text, saved_text
from karptui.forward.run import HORIZON_NS
from karptui.kube.resources import CPU, MEMORY, amounts_document, cpu_millis, memory_bytes
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import counted, cpu_text, duration_text, first_of, memory_text, verb
from karptui.kube.vpa import HISTORY, PROMETHEUS, Recommendations
from karptui.kube.yaml_text import to_yaml
from karptui.studies.rightsize import MOST_ALONE, PATCHED, BlockedNodes, Caveat, Fleet, RightSize, Sizing
from karptui.views.column import (
    Column,
    Heading,
    Value,
    count_column,
    one_of,
    record,
    records,
    struct_values,
    text_column,
    texts,
)
from karptui.views.column import number_heading as number
from karptui.views.prices import known_sum_text
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell
from karptui.views.sanitize import clean
from karptui.views.study import Study, answer_lines, next_horizon, notes_of
from karptui.views.table import Sort, TableSpec

CAVEATS: Final = {
    Caveat.GUARANTEED: "limits equal requests: the QoS class changes from Guaranteed to Burstable",
    Caveat.LIMIT: "the recommendation exceeds the limit, and is cut to it",
    Caveat.USAGE: "the recommended memory is below current usage: memory does not change",
    Caveat.POD_LEVEL: "spec.resources of the pod takes precedence: nothing changes",
    Caveat.VPA_ACTS: "its VPA sets requests when pods are created: a patch does not last",
    Caveat.UNSURE: "too little history: its VPA reports low confidence, or less than a day of usage is known",
    Caveat.HPA: "a HorizontalPodAutoscaler scales it: new requests change its utilization, and so the number of pods",
    Caveat.NO_PATCH: "its kind gets no patch",
    Caveat.NO_CONTAINER: "a recommendation names a container that its pods do not have",
}
_NOT_MODELLED: Final = (
    "the rollout that a patch causes: pods have the new requests at once",
    "HorizontalPodAutoscalers, LimitRanges and ResourceQuotas",
)


_MEMORY: Final = "the highest memory, without a margin (pods above their request are evicted and OOM-killed first)"


def rests_on(recommendations: Recommendations) -> str:
    """Return the source with percentile and length of history."""
    if recommendations.source == "VPA":
        return (
            "VPA targets: their percentile and history are settings of the recommender, which the objects do not show"
            " (its defaults: 90th percentile, memory peaks of 8 days)"
        )
    cpu, buffer, hours = (
        recommendations.cpu_percentile,
        recommendations.memory_buffer_percent,
        recommendations.history_hours,
    )
    lengths = " to ".join(dict.fromkeys(map(_hours_text, recommendations.known_hours or ())))
    history = _hours_text(hours or 0)
    if recommendations.source == PROMETHEUS:
        return (
            f"Prometheus: cpu at percentile {cpu:g} of 5-minute averages, {_MEMORY}, of the pod that uses most;"
            f" {lengths or 'an unknown length'} of usage, {history} asked for"
        )
    if recommendations.source == HISTORY:
        return (
            f"{HISTORY}: cpu at percentile {cpu:g} of the measurements of all pods of a workload together, {_MEMORY};"
            f" {lengths or 'nothing'} measured in the last {history}; peaks between measurements are unknown"
        )
    parts = (
        f"cpu at percentile {cpu:g}" if cpu is not None else "percentile unknown",
        f"highest memory +{buffer:g}%" if buffer is not None else "",
        f"up to {hours:g}h of usage" if hours is not None else "length of history unknown",
    )
    return f"{recommendations.source}: {', '.join(filter(None, parts))}"


def _hours_text(hours: float) -> str:
    return duration_text(hours * 3600) if hours >= 1 else "less than 1h"


def headline(answer: RightSize) -> str:
    """Return the savings."""
    hours = duration_text(answer.horizon_ns // NS_PER_SECOND)
    changed = [sizing for sizing in answer.sizings if sizing.containers]
    pods = counted(sum(sizing.pods for sizing in changed), "pod")
    return (
        f"{counted(len(changed), 'workload')} ({pods}) with requests as recommended:"
        f" {saving_text(answer.saves_from_now, _at(answer, 0), _at(answer, 1), f'after {hours}')},"
        f" {saving_text(answer.saves_from_scratch, *answer.scratch, 'from scratch')}"
    )


def more_lines(answer: RightSize) -> Iterator[str]:
    """Yield the source, the sides of the comparison, blockers and caveats."""
    hours = duration_text(answer.horizon_ns // NS_PER_SECOND)
    yield f"source: {rests_on(answer.recommendations)}"
    scratch = " → ".join(map(_fleet, answer.scratch))
    yield f"from scratch, today's → recommended requests: {scratch}"
    ends = " → ".join(_fleet(_at(answer, side)) for side in (0, 1))
    yield f"from now, after {hours}: {ends}; now {_fleet(_at(answer, 0, 0))}"
    if answer.blocked:
        held = (f"{block.blocker} {block.nodes} ({per_hour_text(block.price_per_hour)})" for block in answer.blocked)
        yield f"blocked nodes at the end: {', '.join(held)}"
    if answer.recreated:
        yield f"{counted(answer.recreated, 'pod')} no longer {verb(answer.recreated, 'fits', 'fit')} on the node"
    if answer.unmatched:
        yield f"without pods: {first_of(answer.unmatched, 5)}"
    if answer.without or answer.recommendations.without:
        missing = answer.recommendations.without
        of = "VPA" if answer.recommendations.source == "VPA" else "container"
        more = f"; {counted(missing, of)} without a recommendation yet" if missing else ""
        keeps = verb(answer.without, "keeps its", "keep their")
        yield f"{counted(answer.without, 'pod')} without a recommendation {keeps} requests{more}"
    if not answer.is_usage_known:
        yield "memory is not compared with current usage (--usage asks metrics-server)"
    for caveat in Caveat:
        if names := [sizing.workload for sizing in answer.sizings if caveat in sizing.caveats]:
            yield f"{CAVEATS[caveat]}: {first_of(names, 5)}"


def last_lines(answer: RightSize) -> Iterator[str]:
    """Yield the lines below the table."""
    rest = sum(bool(sizing.containers) for sizing in answer.sizings) - answer.alone
    limit = f"; the {MOST_ALONE} with the largest changes are replayed alone" if rest > 0 else ""
    yield f"  ALONE is from scratch with one workload changed; the savings together differ from the sum{limit}"
    yield from (f"  assumed: {sentence}" for sentence in answer.assumed)
    yield from (f"  not modelled: {sentence}" for sentence in (*_NOT_MODELLED, *answer.played[1].not_modelled))


def saving_text(amount: float | None, before: Fleet, after: Fleet, when: str) -> str:
    """Return a saving; nodes of pods that are no longer pending are part of the cost."""
    text = saved_text(amount, digits=2) if amount is not None else "saves an unknown amount"
    fewer = before.pending - after.pending
    more = f" with {fewer} fewer pending {verb(fewer, 'pod', 'pods')}" if fewer > 0 else ""
    return f"{text} {when}{more}"


def _fleet(fleet: Fleet) -> str:
    pending = f", {counted(fleet.pending, 'pod')} pending" if fleet.pending else ""
    return f"{counted(fleet.nodes, 'node')}, {known_sum_text(fleet.price_per_hour, fleet.unpriced)}{pending}"


def _at(answer: RightSize, side: int, at: int = -1) -> Fleet:
    """Return Karpenter's nodes at a moment of a forecast: 0 is its beginning."""
    played = answer.played[side]
    moment = played.series[at]
    return Fleet(moment.nodes - played.unmanaged, moment.price_per_hour, moment.unpriced, moment.pending)


def patch_of(sizing: Sizing) -> dict[str, Any] | None:
    """Return a strategic merge patch of the containers' requests; None if there is none to write."""
    kind, namespace, name = sizing.workload.split("/", 2)
    if not sizing.containers or kind not in PATCHED:
        return None
    spec: dict[str, Any] = {}
    for container in sizing.containers:
        requests = {resource: str(amount) for resource, amount in container.after.items()}
        field = "initContainers" if container.is_init else "containers"
        spec.setdefault(field, []).append({"name": container.name, "resources": {"requests": requests}})
    inner: dict[str, Any] = {"template": {"spec": spec}}
    return {
        "apiVersion": PATCHED[kind],
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"jobTemplate": {"spec": inner}} if kind == "CronJob" else inner,
    }


def patches_text(sizings: Iterable[Sizing]) -> str:
    """Return the patches as YAML documents."""
    patches = [patch for sizing in sizings if (patch := patch_of(sizing)) is not None]
    return "---\n".join(map(to_yaml, patches)) or "# nothing changes\n"


def _pair_column(column_id: str, title: str, resource: str, text: Any, amount: Any) -> Column[Sizing]:
    def cell(sizing: Sizing, _: int) -> Cell:
        was, now = amount(sizing.before), amount(sizing.after)
        return Cell(f"{text(was)} → {text(now)}" if was != now else text(was))

    json, unit = ("cpuMillis", "millicores") if resource == CPU else ("memoryBytes", "bytes")
    return Column(
        number(column_id, title, f"{title.title()} that each pod requests in effect, before and after.", 16),
        cell,
        lambda sizing: float(amount(sizing.before)),
        values=(
            Value(
                f"{json}Before", lambda sizing, _: amount(sizing.before), int, f"Effective request of a pod in {unit}."
            ),
            Value(f"{json}After", lambda sizing, _: amount(sizing.after), int),
        ),
    )


def _alone(sizing: Sizing, _: int) -> Cell:
    if sizing.saves_alone is None:
        return NOT_AVAILABLE if sizing.containers else NOT_APPLICABLE
    return Cell(f"{sizing.saves_alone:,.2f}") if round(sizing.saves_alone, 2) else NOT_APPLICABLE


_AMOUNTS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
TABLE: Final[TableSpec[Sizing]] = TableSpec(
    "workloads",
    (
        text_column(
            Heading("workload", "WORKLOAD", "Kind, namespace and name.", 16, 60, is_name=True),
            lambda sizing: sizing.workload,
            json="workload",
        ),
        count_column(number("pods", "PODS", "Its active pods."), lambda sizing: sizing.pods, json="pods"),
        _pair_column("cpu", "CPU", CPU, cpu_text, cpu_millis),
        _pair_column("mem", "MEMORY", MEMORY, memory_text, memory_bytes),
        Column(
            number("alone", "ALONE", "Dollars per hour saved from scratch if only this workload changes."),
            _alone,
            lambda sizing: sizing.saves_alone,
            values=Value("savesAlonePerHour", lambda sizing, _: sizing.saves_alone, float | None, "null if unknown."),
        ),
        text_column(
            Heading("caveats", "CAVEATS", "Limits and consequences of the recommendation.", 8, 40),
            lambda sizing: " ".join(sizing.caveats),
            values=Value("caveats", lambda sizing, _: list(map(str, sizing.caveats)),
                          {"type": "array", "items": one_of(*Caveat)}),
        ),
    ),
    key=lambda sizing: sizing.workload,
    default_sort=Sort("alone", is_descending=True),
    text=lambda sizing: sizing.workload.lower(),
    more_values=(
        Value("updateMode", lambda sizing, _: sizing.update_mode or None, str | None, "Of the VPA."),
        records(
            "containers",
            lambda sizing: sizing.containers,
            (
                Value("name", lambda container, _: container.name, str),
                Value("isInit", lambda container, _: container.is_init, bool, "Whether it is a native sidecar."),
                Value("before", lambda container, _: amounts_document(container.before), _AMOUNTS,
                      "Requests that change."),
                Value("after", lambda container, _: amounts_document(container.after), _AMOUNTS),
            ),
        ),
    ),
)  # fmt: skip
_FLEET: Final = struct_values(Fleet, {"nodes": "Nodes that Karpenter manages.", "unpriced": "Without a known price."})
_BLOCKED: Final = struct_values(BlockedNodes)


REPORT: Final[tuple[Value[RightSize], ...]] = (
    Value("source", lambda answer, _: rests_on(answer.recommendations), str, "With percentile and history."),
    record("now", lambda answer: _at(answer, 0, 0), _FLEET),
    record("scratchToday", lambda answer: answer.scratch[0], _FLEET, "All pods on new nodes, today's requests."),
    record("scratchRecommended", lambda answer: answer.scratch[1], _FLEET),
    record("endToday", lambda answer: _at(answer, 0), _FLEET, "At the end of the forecast, today's requests."),
    record("endRecommended", lambda answer: _at(answer, 1), _FLEET),
    Value("savesFromScratchPerHour", lambda answer, _: answer.saves_from_scratch, float | None),
    Value("savesFromNowPerHour", lambda answer, _: answer.saves_from_now, float | None),
    records("blocked", lambda answer: answer.blocked, _BLOCKED, "Blocked nodes at the end."),
    texts("unmatched", lambda answer: answer.unmatched, "Workloads with recommendations and without pods."),
    Value("podsWithout", lambda answer, _: answer.without, int, "Pods without a recommendation."),
    Value("isUsageKnown", lambda answer, _: answer.is_usage_known, bool),
    Value("patches",
          lambda answer, _: [patch for sizing in answer.sizings if (patch := patch_of(sizing)) is not None],
          {"type": "array", "items": {"type": "object"}}, "Strategic merge patches."),
    texts("assumed", lambda answer: answer.assumed),
    texts("notModelled", lambda answer: (*_NOT_MODELLED, *answer.played[1].not_modelled)),
)  # fmt: skip


def _story(sizing: Sizing) -> Iterator[str]:
    for container in sizing.containers:
        before, after = (
            ", ".join(f"{name} {amount}" for name, amount in side.items()) or "none"
            for side in (container.before, container.after)
        )
        yield f"container {container.name}: {before} → {after}"
    yield from (CAVEATS[caveat] for caveat in sizing.caveats)


def rightsize_study(history: Path | None, horizon_ns: int = HORIZON_NS) -> Study[RightSize, Sizing]:
    """Return the study of recommended requests."""
    return Study(
        title="Right-sizing ─ requests as recommended",
        rows_title="Workloads with recommendations",
        table=TABLE,
        ask=lambda session, now_ns: session.studies.rightsize(history, horizon_ns, now_ns),
        rows=lambda answer: answer.sizings,
        lines=lambda answer: answer_lines(headline(answer), more_lines(answer)),
        name_of=lambda sizing: sizing.workload,
        story=lambda sizing: answer_lines(sizing.workload, _story(sizing)),
        notes=lambda answer: notes_of(answer.assumed, (*_NOT_MODELLED, *answer.played[1].not_modelled)),
        text=lambda answer: (
            "".join(f"# {clean(line)}\n" for line in (headline(answer), *more_lines(answer)))
            + patches_text(answer.sizings)
        ),
        further=lambda: rightsize_study(history, next_horizon(horizon_ns)),
    )
