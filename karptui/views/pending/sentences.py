"""One row of the Pending screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from karptui.aws.money import node_price_text
from karptui.disruption.no_place import NO_POOLS, NO_TYPES, NO_ZONE_WORDS
from karptui.karpenter.labels import ZONE
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO
from karptui.kube.resources import CPU, MEMORY, ResourceList
from karptui.kube.units import age_text, count_text, counted, cpu_text, first_of, memory_text, short_age_text
from karptui.pending.causes import FAULTY, SILENT, Cause, PodDestination
from karptui.pending.disagreements import LAUNCH_REFUSED
from karptui.pending.groups import PendingGroup
from karptui.pending.messages import PodMessage
from karptui.provisioning import PlacementGate
from karptui.provisioning.nearest import furthest
from karptui.provisioning.waiting_pods import problem_in_short
from karptui.session.answers import Overview, PendingStudied
from karptui.session.pending_report import PendingEntry
from karptui.views.instants import computed, unready_line
from karptui.views.pending.gates import miss_text, refusals_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean, short_name


def zone_lines(pod: Pod, volumes: Sequence[tuple[str, frozenset[str]]]) -> tuple[Pieces, ...]:
    """Return the zones that volumes bind a pod to, and their intersection; empty without such volumes.

    Args:
        pod: The pod.
        volumes: Volumes that bind it, with the zones each allows.
    """
    if not volumes:
        return ()
    sources = _zone_sources(pod, volumes)
    common = frozenset.intersection(*(zones for _, zones in sources))
    said = " · ".join(f"{clean(name)} → {clean(', '.join(sorted(zones)))}" for name, zones in sources)
    if common or len(sources) == 1:
        left = f" · leaves {clean(', '.join(sorted(common)))}" if len(sources) > 1 else ""
        return ((("zones  ", Tone.STRONG), (f"{said}{left}", Tone.NORMAL)),)
    never = " · no zone is in all of them: no node can ever take the pod"
    return ((("zones  ", Tone.STRONG), (said, Tone.NORMAL), (never, Tone.FAULT)),)


def has_no_zone(pod: Pod, volumes: Sequence[tuple[str, frozenset[str]]]) -> bool:
    """Return whether what binds a pod to zones leaves it none."""
    return bool(volumes) and not frozenset.intersection(*(zones for _, zones in _zone_sources(pod, volumes)))


def _zone_sources(pod: Pod, volumes: Sequence[tuple[str, frozenset[str]]]) -> Sequence[tuple[str, frozenset[str]]]:
    chosen = pod.template.node_selector.get(ZONE)
    return [*([("nodeSelector", frozenset({chosen}))] if chosen else []), *volumes]


def pending_freshness(overview: Overview, now_ns: int) -> Pieces:
    """Return the age of the answers, how far they lag behind the cluster, and what is still pending."""
    report, analysis = overview.pending, overview.analysed
    if analysis is not None and analysis.problem:
        return ((f"the newest state could not be analysed: {clean(analysis.problem)}", Tone.FAULT),)
    if report is None:
        return (unready_line(overview, "being worked out"),)
    return (*_age(report, overview.generation, now_ns), *_notes(report.notes))


def _age(report: PendingStudied, generation: int, now_ns: int) -> Pieces:
    is_open = report.explained < report.groups
    still_open = f"{count_text(report.explained)} of {count_text(report.groups)} groups explained"
    return computed(now_ns - report.now_ns, generation - report.generation, still_open if is_open else "")


def _notes(notes: Sequence[str]) -> Pieces:
    return tuple((f" · {clean(note)}", Tone.WARNING) for note in notes[:1])


MOST_QUOTED: Final = 300
"""Maximum characters of a quoted problem."""
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
"""Length of a short verdict from which its age is left out; the lines below the table show it."""
_IN_FEW: Final = (
    ("no compatible instance type is available", "no type is on offer"),
    ("no type with the labels has an offering to be had", "no type is on offer"),
    (NO_ZONE_WORDS, "no zone is left"),
    (NO_TYPES, "no NodePool has any type"),
    ("its nodes have no label ", "no label "),
    ("no instance type", "no type"),
    ("topology.kubernetes.io/", ""),
    ("node.kubernetes.io/", ""),
    ("karpenter.k8s.aws/", ""),
    ("karpenter.sh/", ""),
    ("refused: ", ""),
    ("persistentvolumeclaims ", "PVC "),
    ("persistentvolumes ", "PV "),
    ("storageclasses.storage.k8s.io ", "StorageClass "),
    (" because it does not contain annotation", ""),
    ("pvc with immediate volume binding mode must be bound", "immediate binding, not bound"),
    ("memory short by ", "mem −"),
    (" short by ", " −"),
)
MOST_PROBLEM: Final = 80
"""Maximum length of a pod's fault in a row; its detail shows all of it."""
_FEW: Final = 36
"""Width of the computed verdict at 80 columns."""
NO_POOLS_PASSED_OVER: Final = f"{NO_POOLS}: Karpenter does not even try the nodes that exist, and says nothing"
_SENTENCES: Final[Mapping[Cause, str]] = {
    Cause.UNPLACED: "no NodePool and no node takes it",
    Cause.UNKNOWN: "not known whether Karpenter finds a place: instance types are known from nodes alone",
    Cause.RESERVED: (
        "Karpenter waits for reserved capacity that another new node of this pass holds: it does not fall back in the"
        " same pass, and says nothing"
    ),
    Cause.FULL: (
        "only reservations that are full suit it: Karpenter waits until one has room, tries no lighter NodePool,"
        " and says nothing"
    ),
    Cause.IGNORED: "Karpenter refuses it: a selector or a volume is faulty, and no NodePool is asked",
    Cause.SILENT: (
        "Karpenter passes over it without a word: its rules say karpenter.sh/nodepool DoesNotExist, and even a"
        " preference for that is enough"
    ),
    Cause.NO_POOL: NO_POOLS_PASSED_OVER,
    Cause.NODE: "has room on a node that exists: Karpenter waits for the scheduler to put it there",
    Cause.CLAIM: "Karpenter would launch a node for it",
    Cause.GATED: "scheduling gates hold it: neither the scheduler nor Karpenter looks at it until they are lifted",
    Cause.UNTRIED: "the scheduler has not refused it yet, and until it does Karpenter does not look at it",
    Cause.PREEMPTING: "the scheduler makes room for it by evicting others: Karpenter leaves it alone",
    Cause.DAEMON: "a DaemonSet made it for one node: Karpenter makes no room for it",
    Cause.STATIC: "a node owns it: Karpenter does not look at it",
    Cause.LEAVING: "it is being deleted",
}


CAUSE_HELP: Final[tuple[tuple[str, str], ...]] = (
    *((str(cause), sentence) for cause, sentence in _SENTENCES.items()),
    (str(Cause.OTHER_SCHEDULER), "another scheduler has not refused it yet"),
    (str(Cause.LOST_NODE), "spec.nodeName binds it to a node that is not there"),
)
"""Causes of pending pods, with explanations."""


def cause_sentence(pod: Pod, cause: Cause) -> str:
    """Return the explanation of a cause."""
    if cause is Cause.OTHER_SCHEDULER:
        name = clean(pod.template.scheduler_name)
        return (
            f"it asks for the scheduler {name}, which has not refused it: until it does Karpenter does not look at it"
        )
    if cause is Cause.LOST_NODE:
        return f"spec.nodeName binds it to {clean(pod.node_name)}, which is not there: nobody will start or move it"
    if cause is Cause.PREEMPTING:
        return f"{_SENTENCES[cause]} (nominated to {short_name(clean(pod.nominated_node_name))})"
    return _SENTENCES[cause]


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
    """Return where a pod would be scheduled."""
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


def now_text(group: PendingGroup) -> str:
    """Return the engine's verdict in few words."""
    if group.cause is Cause.UNKNOWN:
        return f"? {_unknown_text(group)}"
    if group.cause is Cause.UNPLACED:
        if group.explanation is not None:
            pool = furthest(group.explanation)
            if pool is not None:
                return f"✘ {clean(pool.nodepool)}: {miss_text(pool)}"
        error = group.diagnosis.error
        rejections = () if error is None else error.rejections
        if any(one.gate is PlacementGate.DYNAMIC_RESOURCES for _, one in rejections):
            return "✘ asks for ResourceClaims (Dynamic Resource Allocation), which Karpenter does not support"
        if any(one.gate is PlacementGate.NODEPOOLS for _, one in rejections):
            return f"✘ {NO_TYPES}"
        gates = [f"{pool}: {one.gate}" if pool else str(one.gate) for pool, one in rejections]
        return f"✘ {clean(', '.join(gates)) or 'no destination'}"
    if group.cause is Cause.FULL and group.diagnosis.error is not None:
        return f"✘ {clean(group.diagnosis.error.full_pool)}: its reservations are full"
    if group.destinations:
        arrow = "→ "
        return f"{arrow}{first_of([destination_text(one) for one in group.destinations], 1)}"
    if group.cause is Cause.NO_POOL:
        return "✘ no NodePool can take pods"
    mark = "✘ " if group.cause in (Cause.IGNORED, Cause.SILENT, Cause.LOST_NODE) else ""
    problem = clean(problem_in_short(next(iter(group.diagnosis.problems), ""))) if group.cause is Cause.IGNORED else ""
    if len(problem) > MOST_PROBLEM:
        problem = f"{problem[:MOST_PROBLEM].rpartition(' ')[0] or problem[:MOST_PROBLEM]}…"
    return f"{mark}{group.cause}{f': {problem}' if problem else ''}"


def now_words(group: PendingGroup) -> str:
    """Return the engine's verdict as part of a sentence."""
    text = now_text(group)
    if not text.startswith("→"):
        return text.lstrip("✘? ")
    refused = next((one.text for one in group.disagreements if one.short == LAUNCH_REFUSED), "")
    if refused:
        return clean(refused)
    launched = [_launched_text(one) for one in group.destinations if not one.node]
    if launched:
        return f"Karpenter would launch {first_of(launched, 1)}"
    return f"there is room on {first_of([destination_text(one) for one in group.destinations], 1)}"


def _unknown_text(group: PendingGroup) -> str:
    pools = () if group.explanation is None else group.explanation.pools
    for pool in pools:
        if not pool.is_certain:
            return f"{clean(pool.nodepool)}: {miss_text(pool)}"
    return (
        "not known: a label that is asked for is not known of its types" if not group.diagnosis.error else "not known"
    )


def karpenter_text(group: PendingGroup, now_ns: int) -> str:
    """Return Karpenter's newest verdict with its age."""
    said = group.messages.karpenter
    return "says nothing" if said is None else f"{clean(said.reason)}{_ago(said, now_ns)}"


def scheduler_text(group: PendingGroup, now_ns: int) -> str:
    """Return the scheduler's newest verdict with its age."""
    said = group.messages.scheduler
    return "says nothing" if said is None else f"{clean(said.reason)}{_ago(said, now_ns)}"


def short_verdict(said: PodMessage, now_ns: int) -> str:
    """Return a verdict in few cells: ``failed 2m``, ``refused 12s``, ``nominated``."""
    word = _SHORT.get(said.reason, clean(said.reason).lower())
    if not said.at_ns or len(word) >= _LONG_WORD:
        return word
    return f"{word} {short_age_text(said.at_ns, now_ns)}"


def short_now(group: PendingGroup) -> str:
    """Return the engine's verdict in few cells: ``✘ trino: mem −6,846Mi``."""
    if group.destinations and group.cause not in (Cause.UNPLACED, Cause.UNKNOWN):
        first = group.destinations[0]
        if not first.node:
            more = f" +{count_text(len(group.destinations) - 1)}" if len(group.destinations) > 1 else ""
            return f"→ new {clean(first.instance_type)} in {clean(first.nodepool)}{more}"
    return in_few_words(now_text(group))


def in_few_words(text: str) -> str:
    """Return a shortened rejection by a NodePool, for rows at 80 columns."""
    text = text.partition("; its limits leave ")[0]
    for words, few in _IN_FEW:
        text = text.replace(words, few)
    if " −" in text:
        text = text.rpartition(" on ")[0] if len(text) > _FEW else text
    return text


def _ago(said: PodMessage, now_ns: int) -> str:
    return f" {age_text(said.at_ns, now_ns)}" if said.at_ns else ""


def quote_lines(group: PendingGroup, now_ns: int, *, may_list_events: bool = True) -> tuple[Pieces, ...]:
    """Return the messages of Karpenter and kube-scheduler about the pods, or that there is none."""
    said = ((group.messages.karpenter, "Karpenter"), (group.messages.scheduler, "kube-scheduler"))
    messages = tuple(_quoted(who, message, now_ns) for message, who in said if message is not None)
    return (*messages, *_silence_lines(group, may_list_events=may_list_events))


def _silence_lines(group: PendingGroup, *, may_list_events: bool) -> tuple[Pieces, ...]:
    """Return which of Karpenter and kube-scheduler have no message about the pods."""
    lines: list[Pieces] = []
    if group.messages.karpenter is None and not may_list_events:
        lines.append((("Karpenter: events may not be listed, so its message is unknown", Tone.WARNING),))
    elif group.messages.karpenter is None:
        expected = ", as expected in this case" if group.cause in SILENT else ""
        lines.append(((f"Karpenter: no event about {_them(group)}{expected}", Tone.MUTED),))
    if group.messages.scheduler is None:
        lines.append(((f"kube-scheduler: no message about {_them(group)}", Tone.MUTED),))
    return tuple(lines)


def _quoted(who: str, said: PodMessage, now_ns: int) -> Pieces:
    age = f" {age_text(said.at_ns, now_ns)} ago" if said.at_ns else ""
    times = f", {count_text(said.count)} times" if said.count > 1 else ""
    message = _cut_words(clean(said.message), MOST_QUOTED_IN_DETAIL) or "no message"
    return ((f"{who}{age}{times}: ", Tone.STRONG), (f"{clean(said.reason)}: {message}", Tone.NORMAL))


def _cut_words(text: str, most: int) -> str:
    """Return a text cut after a word, with an ellipsis, if it is too long."""
    if len(text) <= most:
        return text
    whole, _, _ = text[:most].rpartition(" ")
    return f"{(whole or text[: most - 1]).rstrip(' ,;:')}…"


def _them(group: PendingGroup) -> str:
    return "it" if len(group.pods) == 1 else "them"


def disagreement_lines(group: PendingGroup) -> tuple[Pieces, ...]:
    """Return the disagreements between the sources, one per line."""
    return tuple(
        (("≠ ", Tone.WARNING), (clean(disagreement.text), Tone.NORMAL)) for disagreement in group.disagreements
    )


def problem_lines(group: PendingGroup) -> tuple[Pieces, ...]:
    """Return the faults that Karpenter reports, in its words."""
    return tuple((("✘ ", Tone.FAULT), (clean(one, limit=MOST_QUOTED), Tone.NORMAL)) for one in group.diagnosis.problems)


def pending_sentences(entry: PendingEntry) -> tuple[Pieces, ...]:
    """Return the cause, the destination, the disagreements and the closest NodePool of a group of pending pods."""
    group = entry.group
    tone = Tone.FAULT if group.cause in FAULTY else Tone.NORMAL
    many = f"{count_text(len(group.pods))} pods: " if len(group.pods) > 1 else ""
    lines: list[Pieces] = [((f"{many}{cause_sentence(group.first, group.cause)}", tone),)]
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
    named = first_of([destination_text(one) for one in group.destinations], _MOST_DESTINATIONS)
    return (((f"→ {named}", Tone.GOOD),),) if named else ()


def _nearest(entry: PendingEntry) -> tuple[Pieces, ...]:
    explanation = entry.group.explanation
    if explanation is None:
        return ((("why is being worked out", Tone.ACTIVE),),)
    pool = furthest(explanation)
    mark = ("? ", Tone.WARNING) if entry.group.cause is Cause.UNKNOWN else ("✘ ", Tone.FAULT)
    parts = [] if pool is None else [f"closest: {clean(pool.nodepool)}: {miss_text(pool)}"]
    parts.append(f"nodes: {refusals_text(explanation)}")
    return ((mark, (" · ".join(parts), Tone.NORMAL)),)
