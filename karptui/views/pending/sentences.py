"""One row of the Pending screen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from karptui.aws.money import node_price_text
from karptui.disruption.no_place import NO_CLAIMS, NO_POOLS, NO_TYPES
from karptui.karpenter.labels import NODEPOOL, ZONE
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO
from karptui.kube.resources import CPU, MEMORY, ResourceList
from karptui.kube.units import (
    age_text,
    amount_text,
    count_text,
    counted,
    cpu_text,
    first_of,
    memory_text,
    short_age_text,
)
from karptui.pending.causes import FAULTY, SILENT, Cause, PodDestination
from karptui.pending.disagreements import NOT_LAUNCHED, DisagreementCode
from karptui.pending.groups import PendingGroup
from karptui.pending.messages import FAILED, PodMessage
from karptui.provisioning.explain import PodExplanation, PoolExplanation
from karptui.provisioning.nearest import furthest, named_pools
from karptui.provisioning.rejection import PlacementGate, TaintsNotTolerated, TypesExhausted
from karptui.provisioning.waiting_pods import problem_in_short
from karptui.session.answers import Overview
from karptui.session.pending_report import PendingEntry
from karptui.views.instants import computed, unready_line
from karptui.views.pending.disagreements import (
    MOST_QUOTED,
    OF_OTHERS,
    cut_words,
    disagreement_lines,
    disagreement_text,
    scheduler_words,
)
from karptui.views.pending.rejections import miss_text, refusals_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean, short_name


def zone_lines(pod: Pod, volumes: Sequence[tuple[str, frozenset[str]]]) -> tuple[Pieces, ...]:
    """Return the zones that volumes bind a pod to, and their intersection; empty without such volumes.

    Args:
        volumes: Volumes that bind it, with the zones each allows.
    """
    if not volumes:
        return ()
    sources = _zone_sources(pod, volumes)
    common = frozenset.intersection(*(zones for _, zones in sources))
    text = " · ".join(f"{clean(name)} → {clean(', '.join(sorted(zones)))}" for name, zones in sources)
    if common or len(sources) == 1:
        left = f" · leaves {clean(', '.join(sorted(common)))}" if len(sources) > 1 else ""
        return ((("zones  ", Tone.STRONG), (f"{text}{left}", Tone.NORMAL)),)
    never = " · no zone is in all of them: the pod fits no node"
    return ((("zones  ", Tone.STRONG), (text, Tone.NORMAL), (never, Tone.FAULT)),)


def has_no_zone(pod: Pod, volumes: Sequence[tuple[str, frozenset[str]]]) -> bool:
    """Return whether what binds a pod to zones leaves it none."""
    return bool(volumes) and not frozenset.intersection(*(zones for _, zones in _zone_sources(pod, volumes)))


def _zone_sources(pod: Pod, volumes: Sequence[tuple[str, frozenset[str]]]) -> Sequence[tuple[str, frozenset[str]]]:
    chosen = pod.template.node_selector.get(ZONE)
    return [*([("nodeSelector", frozenset({chosen}))] if chosen else []), *volumes]


def pending_freshness(overview: Overview, now_ns: int) -> Pieces:
    """Return the age of the answers, their lag behind the cluster, and the groups still to explain."""
    report, analysis = overview.pending, overview.analysed
    if analysis is not None and analysis.problem:
        return ((f"the newest state could not be analysed: {clean(analysis.problem)}", Tone.FAULT),)
    if report is None:
        return (unready_line(overview, "being computed"),)
    is_open = report.explained < len(report.groups)
    still_open = f"{count_text(report.explained)} of {count_text(len(report.groups))} groups explained"
    age = computed(now_ns - report.now_ns, overview.generation - report.generation, still_open if is_open else "")
    return (*age, *((f" · {clean(note)}", Tone.WARNING) for note in report.notes[:1]))


MOST_QUOTED_IN_DETAIL: Final = 1_000
"""Maximum characters of a quoted message."""
_MOST_DESTINATIONS: Final = 3
_SHORT: Final[Mapping[str, str]] = {
    "FailedScheduling": "failed",
    "Unschedulable": "refused",
    "SchedulingGated": "gated",
    "Nominated": "nominated",
    "InsufficientCapacityError": "sold out",
}
_LONG_WORD: Final = 8
"""The age of a verdict is left out if the verdict is this long; the lines below the table show it."""
_ABBREVIATIONS: Final = (
    ("persistentvolumeclaims ", "PVC "),
    ("persistentvolumes ", "PV "),
    ("storageclasses.storage.k8s.io ", "StorageClass "),
    (" because it does not contain annotation", ""),
    ("pvc with immediate volume binding mode must be bound", "immediate binding, not bound"),
)
"""Long words in messages of Karpenter about faulty pods, and their short forms."""
MOST_PROBLEM: Final = 80
"""Maximum length of a pod's fault in a row; its detail shows all of it."""
_OF_TYPES: Final = re.compile(r"no instance type [^,;]+")
"""What Karpenter says if a NodePool has no instance type for a pod."""
NO_POOLS_PASSED_OVER: Final = f"{NO_POOLS}, so it does not even try existing nodes, and reports nothing"
_SENTENCES: Final[Mapping[Cause, str]] = {
    Cause.UNPLACED: "no NodePool or existing node fits",
    Cause.UNKNOWN: "unknown whether it is schedulable: instance types are known only from nodes",
    Cause.RESERVED: (
        "another new node of this pass holds the reserved capacity: Karpenter does not fall back in the same pass, "
        "and reports nothing"
    ),
    Cause.FULL: (
        "only full reservations fit: Karpenter waits until one has room, tries no NodePool of lower weight,"
        " and reports nothing"
    ),
    Cause.IGNORED: "Karpenter refuses it and tries no NodePool, because a selector or volume is invalid",
    Cause.SILENT: (
        "Karpenter silently ignores pods whose node affinity has karpenter.sh/nodepool DoesNotExist"
        " (a preference is enough)"
    ),
    Cause.NO_POOL: NO_POOLS_PASSED_OVER,
    Cause.POOLS_UNREAD: "unknown whether it is schedulable: NodePools were not read",
    Cause.NODES_UNREAD: "unknown whether it is schedulable: nodes or NodeClaims were not read",
    Cause.NODE: "it fits on a node that exists or is starting, so Karpenter launches none",
    Cause.CLAIM: "Karpenter's rules call for a new node",
    Cause.GATED: "its scheduling gates are set: kube-scheduler and Karpenter ignore it until they are removed",
    Cause.UNTRIED: "kube-scheduler has not tried yet; Karpenter ignores pods until kube-scheduler refuses them",
    Cause.BINDING: "kube-scheduler has selected its node and waits until its volumes are created and bound",
    Cause.PREEMPTING: "kube-scheduler is preempting other pods for it: Karpenter leaves it alone",
    Cause.DAEMON: "a DaemonSet created it for one node: Karpenter launches nothing for it",
    Cause.STATIC: "it is a static pod of a node: Karpenter ignores it",
    Cause.LEAVING: "it is being deleted",
}
CAUSE_HELP: Final[tuple[tuple[str, str], ...]] = (
    *((str(cause), sentence) for cause, sentence in _SENTENCES.items()),
    (str(Cause.OTHER_SCHEDULER), "its own scheduler has not refused it yet, and until then Karpenter ignores it"),
    (str(Cause.LOST_NODE), "spec.nodeName names a node that does not exist"),
)
"""Causes of pending pods, with explanations."""


def cause_sentence(pod: Pod, cause: Cause) -> str:
    """Return the explanation of a cause."""
    if cause is Cause.UNTRIED and pod.scheduled_reason:
        error = cut_words(clean(pod.scheduled_message), MOST_QUOTED)
        return f"kube-scheduler failed ({clean(pod.scheduled_reason)}: {error}); Karpenter ignores such pods"
    if cause is Cause.OTHER_SCHEDULER:
        name = clean(pod.template.scheduler_name)
        return f"its scheduler {name} has not refused it yet; until then Karpenter ignores it"
    if cause is Cause.LOST_NODE:
        return f"spec.nodeName names {clean(pod.node_name)}, which does not exist"
    if cause is Cause.PREEMPTING:
        return f"{_SENTENCES[cause]} (nominated to {short_name(clean(pod.nominated_node_name))})"
    return _SENTENCES[cause]


def waiting_sentence(group: PendingGroup) -> str:
    """Return the reason that a group's pods are pending."""
    if any(each.code is DisagreementCode.POD_REQUESTS for each in group.disagreements):
        return "a newer Karpenter would launch a node for it"
    is_unplaced = group.cause is Cause.UNPLACED and _needs_claims(group)
    return NO_CLAIMS if is_unplaced else cause_sentence(group.first, group.cause)


def _needs_claims(group: PendingGroup) -> bool:
    rejections = () if group.diagnosis.error is None else group.diagnosis.error.rejections
    return any(rejection.gate is PlacementGate.DYNAMIC_RESOURCES for _, rejection in rejections)


def requests_words(pod: Pod) -> str:
    """Return the requests of a pod: ``28 cpu 240Gi``, extended resources with their names."""
    return resources_words(pod.requests)


def resources_words(requests: ResourceList) -> str:
    """Return amounts of resources: ``28 cpu 240Gi``, extended resources with their names."""
    parts = []
    if CPU in requests:
        cpu = cpu_text(resources.cpu_millis(requests))
        parts.append(cpu if cpu.endswith("m") else f"{cpu} cpu")
    if MEMORY in requests:
        parts.append(memory_text(resources.memory_bytes(requests)))
    for name, amount in sorted(requests.items()):
        if "/" in name and amount.nano:
            parts.append(f"{count_text(amount.nano // NANO)} {clean(name.rpartition('/')[2])}")
    return " ".join(parts) or "nothing"


def destination_text(destination: PodDestination) -> str:
    """Return the destination of a pod."""
    if destination.node:
        pool = f" of {clean(destination.nodepool)}" if destination.nodepool else ""
        return f"{short_name(clean(destination.node))}{pool}"
    return f"new {_launched_text(destination)}"


def _launched_text(destination: PodDestination) -> str:
    others = others_text(destination.other_types)
    price = f" {node_price_text(destination.price_per_hour)}/h" if destination.price_per_hour is not None else ""
    return f"{clean(destination.instance_type)}{others} in {clean(destination.nodepool)}{price}"


def others_text(count: int) -> str:
    """Return the number of further types: `` or 12 others``, empty for none."""
    return f" or {counted(count, 'other')}" if count else ""


def now_text(group: PendingGroup, *, is_short: bool = False) -> str:
    """Return the engine's verdict: ``✘ trino: memory short by 6,846Mi on r5a.8xlarge``.

    Args:
        is_short: Whether it must fit a narrow column: ``✘ trino: mem −6,846Mi``.
    """
    if group.cause is Cause.UNKNOWN:
        return f"? {_unknown_text(group, is_short=is_short)}"
    if group.cause is Cause.UNPLACED:
        return f"✘ {_unplaced_text(group, is_short=is_short)}"
    if group.cause is Cause.FULL and group.diagnosis.error is not None:
        return f"✘ {clean(group.diagnosis.error.full_pool)}: its reservations are full"
    if group.destinations:
        first = group.destinations[0]
        if is_short and not first.node:
            return f"→ new {clean(first.instance_type)} in {clean(first.nodepool)}{_more(group.destinations)}"
        return f"→ {first_of([destination_text(destination) for destination in group.destinations], 1)}"
    if group.cause is Cause.NO_POOL:
        return "✘ no NodePool accepts pods"
    if group.cause is Cause.OTHER_SCHEDULER:
        message = group.messages.scheduler
        verdict = " has reported no condition or event" if message is None else ""
        if message is not None and message.reason == FAILED:
            words = cut_words(clean(message.message), MOST_PROBLEM if is_short else MOST_QUOTED)
            verdict = f" refuses {_them(group)}: {words}"
        return f"scheduler {clean(group.first.template.scheduler_name)}{verdict}"
    if group.cause is Cause.IGNORED:
        return f"✘ {_fault_text(group, is_short=is_short)}"
    if group.cause is Cause.UNTRIED and group.first.scheduled_reason:
        return f"kube-scheduler failed: {clean(group.first.scheduled_reason)}"
    mark = "✘ " if group.cause in (Cause.SILENT, Cause.LOST_NODE) else ""
    return f"{mark}{group.cause}"


def _by_part(group: PendingGroup, pool: PoolExplanation, *, is_short: bool) -> str:
    """Return the parts of a request that no node can meet: init containers, sidecars, runtime class."""
    template = group.first.template
    short = [s.resource for s in pool.nearest.shortages] if pool.nearest is not None and not is_short else []
    peaks = {name: template.init_peaks[name] for name in short if name in template.init_peaks}
    parts = [
        f"init container {clean(peak)} requests {amount_text(name, resources.nano(template.requests, name))} {name}"
        for name, peak in peaks.items()
    ]
    for name in short:
        sidecars = [c for c in template.containers if c.is_sidecar and resources.nano(c.requests, name)]
        if sidecars:
            part = amount_text(name, sum(resources.nano(sidecar.requests, name) for sidecar in sidecars))
            whole = amount_text(name, resources.nano(template.requests, name))
            names = clean(first_of([sidecar.name for sidecar in sidecars], 2))
            parts.append(f"{part} of its {whole} {name} for sidecar{'s' * (len(sidecars) > 1)} {names}")
    runtime = f"RuntimeClass {clean(template.runtime_class_name)} adds"
    added = {name: template.overhead[name].nano for name in short if name in template.overhead}
    parts += [f"{runtime} {amount_text(name, nano)} {name}" for name, nano in added.items()]
    return f" ({', '.join(parts)})" if parts else ""


def _unplaced_text(group: PendingGroup, *, is_short: bool) -> str:
    rejections = () if group.diagnosis.error is None else group.diagnosis.error.rejections
    if _needs_claims(group):
        return NO_CLAIMS
    pool = furthest(group.explanation) if group.explanation is not None else None
    named = named_pools(group.first)
    if named and group.explanation is not None and named.isdisjoint(p.nodepool for p in group.explanation.pools):
        names = clean(first_of(sorted(named), 2))
        return f"no NodePool {names}" if is_short else f"NodePool {names}, selected by {NODEPOOL}, does not exist"
    is_skipped = pool is not None and bool(pool.takes_no_part)
    if not is_skipped and (taints := _taints_of_all(group.explanation)):
        assert group.explanation is not None
        ready = "ready " if any(each.takes_no_part for each in group.explanation.pools) else ""
        if is_short:
            return f"every {ready}NodePool: taint {clean(taints[0].partition(':')[0])}{_more(taints)}"
        return f"every {ready}NodePool has a taint that is not tolerated: {clean(first_of(taints, 3))}"
    if pool is not None:
        miss = miss_text(pool, is_short=is_short)
        failing = _failing(group, miss, clean(pool.nodepool), is_short=is_short)
        text = f"{failing}: {miss}{_by_part(group, pool, is_short=is_short)}"
        others = [each for each in group.disagreements if each.code in OF_OTHERS]
        return "; ".join((text, *map(disagreement_text, [] if is_short or is_skipped else others)))
    if any(rejection.gate is PlacementGate.NODEPOOLS for _, rejection in rejections):
        return "no NodePool has any type" if is_short else NO_TYPES
    gates = [f"{pool}: {rejection.gate}" if pool else str(rejection.gate) for pool, rejection in rejections]
    return clean(", ".join(gates)) or "no destination"


def _failing(group: PendingGroup, miss: str, pool: str, *, is_short: bool) -> str:
    """Return the NodePool that fails for a reason, or that every NodePool does."""
    pools = group.explanation.pools if group.explanation is not None else ()
    tried = [each for each in pools if not each.takes_no_part]
    if len(tried) < 2 or any(each.failed is None or miss_text(each, is_short=is_short) != miss for each in tried):
        return pool
    return "every NodePool" if len(tried) == len(pools) else "every ready NodePool"


def _more(items: Sequence[object]) -> str:
    return f" +{count_text(len(items) - 1)}" if len(items) > 1 else ""


def _taints_of_all(explanation: PodExplanation | None) -> list[str]:
    """Return the taints that keep a pod off several NodePools if they keep it off all; empty otherwise."""
    pools = [pool for pool in explanation.pools if not pool.takes_no_part] if explanation is not None else []
    rejections = [pool.besides_limits or pool.rejection for pool in pools]
    taints = [str(t) for each in rejections if isinstance(each, TaintsNotTolerated) for t in each.taints]
    is_of_all = len(pools) > 1 and all(isinstance(rejection, TaintsNotTolerated) for rejection in rejections)
    return list(dict.fromkeys(taints)) if is_of_all else []


def _first_fault(group: PendingGroup) -> str:
    """Return the pod's first fault in Karpenter's words, cut to a row's length."""
    problem: str = clean(problem_in_short(next(iter(group.diagnosis.problems), "")))
    if len(problem) <= MOST_PROBLEM:
        return problem
    return f"{problem[:MOST_PROBLEM].rpartition(' ')[0] or problem[:MOST_PROBLEM]}…"


def _fault_text(group: PendingGroup, *, is_short: bool) -> str:
    """Return the cause and the pod's first fault."""
    problem = _first_fault(group)
    if not is_short:
        return f"{group.cause}{f': {problem}' if problem else ''}"
    for part, short in _ABBREVIATIONS:
        problem = problem.replace(part, short)
    return problem or str(group.cause)


def now_words(group: PendingGroup) -> str:
    """Return the engine's verdict as a clause."""
    if group.cause is Cause.IGNORED:
        return f"rejected by Karpenter: {_first_fault(group)}".removesuffix(": ")
    if group.cause in (Cause.SILENT, Cause.UNTRIED, Cause.BINDING, Cause.LOST_NODE):
        return waiting_sentence(group)
    text = now_text(group)
    if not text.startswith("→"):
        return text.lstrip("✘? ")
    refused = next((disagreement for disagreement in group.disagreements if disagreement.code in NOT_LAUNCHED), None)
    if refused is not None:
        return disagreement_text(refused)
    launched = [_launched_text(destination) for destination in group.destinations if not destination.node]
    if launched:
        return f"Karpenter would launch {first_of(launched, 1)}"
    return f"it fits on {first_of([destination_text(destination) for destination in group.destinations], 1)}"


def _unknown_text(group: PendingGroup, *, is_short: bool) -> str:
    pools = () if group.explanation is None else group.explanation.pools
    uncertain = [pool for pool in pools if not pool.is_certain]
    message = group.messages.karpenter
    type_names = _OF_TYPES.findall(message.message) if message is not None and message.reason == FAILED else []
    with_types = [pool for pool in uncertain if isinstance(pool.rejection, TypesExhausted)]
    if len(uncertain) == len(with_types) == len(type_names) == 1 and not is_short:
        pool = with_types[0]
        return f"{clean(pool.nodepool)}: Karpenter says {clean(type_names[0])} ({miss_text(pool, is_confirmed=True)})"
    if uncertain:
        return f"{clean(uncertain[0].nodepool)}: {miss_text(uncertain[0], is_short=is_short)}"
    return "unknown" if group.diagnosis.error else "unknown: its types' values of a required label are unknown"


def verdict_with_age(message: PodMessage, now_ns: int) -> str:
    """Return a verdict and the time since."""
    ago = f" {age_text(message.at_ns, now_ns)}" if message.at_ns else ""
    return f"{clean(message.reason)}{ago}"


def short_verdict(message: PodMessage, now_ns: int) -> str:
    """Return a verdict in few cells: ``failed 2m``, ``refused 12s``, ``nominated``."""
    word = _SHORT.get(message.reason, clean(message.reason).lower())
    if not message.at_ns or len(word) >= _LONG_WORD:
        return word
    return f"{word} {short_age_text(message.at_ns, now_ns)}"


def quote_lines(group: PendingGroup, now_ns: int, *, may_list_events: bool = True) -> tuple[Pieces, ...]:
    """Return the messages of Karpenter and the scheduler about the pods, or that there is none."""
    own = group.own_messages
    sources = (
        (group.messages.karpenter, own.karpenter, "Karpenter"),
        (group.messages.scheduler, own.scheduler, scheduler_words(group.first)),
    )
    messages = tuple(
        _quoted(who, message, now_ns, is_of_another=bool(group.named) and mine is None)
        for message, mine, who in sources
        if message is not None
    )
    return (*messages, *_silence_lines(group, may_list_events=may_list_events))


def _silence_lines(group: PendingGroup, *, may_list_events: bool) -> tuple[Pieces, ...]:
    """Return notes if Karpenter or the scheduler has no message about the pods."""
    lines: list[Pieces] = []
    if group.messages.karpenter is None and not may_list_events:
        lines.append((("Karpenter: events may not be listed, so its message is unknown", Tone.WARNING),))
    elif group.messages.karpenter is None:
        expected = ", as expected in this case" if group.cause in SILENT else ""
        lines.append(((f"Karpenter: no event about {_them(group)}{expected}", Tone.MUTED),))
    if group.messages.scheduler is None:
        lines.append(((f"{scheduler_words(group.first)}: no message about {_them(group)}", Tone.MUTED),))
    return tuple(lines)


def _quoted(who: str, pod_message: PodMessage, now_ns: int, *, is_of_another: bool) -> Pieces:
    age = f" {age_text(pod_message.at_ns, now_ns)} ago" if pod_message.at_ns else ""
    times = f", {count_text(pod_message.count)} times" if pod_message.count > 1 else ""
    times += ", about another pod" if is_of_another else ""
    message = cut_words(clean(pod_message.message), MOST_QUOTED_IN_DETAIL) or "no message"
    return ((f"{who}{age}{times}: ", Tone.STRONG), (f"{clean(pod_message.reason)}: {message}", Tone.NORMAL))


def _them(group: PendingGroup) -> str:
    return "it" if len(group.pods) == 1 else "them"


def problem_lines(group: PendingGroup) -> tuple[Pieces, ...]:
    """Return the faults that Karpenter reports, in its words."""
    return tuple((("✘ ", Tone.FAULT), (clean(p, limit=MOST_QUOTED), Tone.NORMAL)) for p in group.diagnosis.problems)


def pending_sentences(entry: PendingEntry) -> tuple[Pieces, ...]:
    """Return the cause, the destination, the disagreements and the closest NodePool of a group of pending pods."""
    group = entry.group
    tone = Tone.FAULT if group.cause in FAULTY else Tone.NORMAL
    many = f"{count_text(len(group.pods))} pods: " if len(group.pods) > 1 else ""
    lines: list[Pieces] = [((f"{many}{waiting_sentence(group)}", tone),)]
    lines += _destination_lines(group)
    lines += disagreement_lines(group)
    if group.cause in (Cause.UNPLACED, Cause.UNKNOWN):
        lines += _nearest(entry)
    lines += problem_lines(group)
    lines += _silence_lines(group, may_list_events=entry.may_list_events)
    if group.messages.karpenter is not None or group.messages.scheduler is not None:
        lines.append((("enter shows the messages of Karpenter and kube-scheduler", Tone.MUTED),))
    return tuple(lines)


def _destination_lines(group: PendingGroup) -> tuple[Pieces, ...]:
    named = first_of([destination_text(destination) for destination in group.destinations], _MOST_DESTINATIONS)
    return (((f"→ {named}", Tone.GOOD),),) if named else ()


def _nearest(entry: PendingEntry) -> tuple[Pieces, ...]:
    explanation = entry.group.explanation
    if explanation is None:
        return ((("why is being computed", Tone.ACTIVE),),)
    pool = furthest(explanation)
    mark = ("? ", Tone.WARNING) if entry.group.cause is Cause.UNKNOWN else ("✘ ", Tone.FAULT)
    parts = [] if pool is None else [f"closest: {clean(pool.nodepool)}: {miss_text(pool)}"]
    parts.append(f"nodes: {refusals_text(explanation)}")
    return ((mark, (" · ".join(parts), Tone.NORMAL)),)
