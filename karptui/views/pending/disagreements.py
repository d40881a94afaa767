"""Sentences about where Karpenter, the scheduler and the engine disagree about a pending pod."""

from __future__ import annotations

import re
from typing import Final

from karptui.karpenter.instance_type import error_words
from karptui.karpenter.labels import HOSTNAME, KEY_ALIASES
from karptui.kube.pod import Pod
from karptui.kube.units import (
    age_text,
    counted,
    first_of,
    span_text,
)
from karptui.kube.volumes import ONE_POD
from karptui.pending.disagreements import Disagreement, DisagreementCode
from karptui.pending.groups import PendingGroup
from karptui.pending.holds import COUNTS_POD_REQUESTS
from karptui.provisioning.kube_scheduler import is_kube_scheduled
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean, short_name

MOST_QUOTED: Final = 300
"""Maximum characters of a quoted problem."""
OF_OTHERS: Final = (DisagreementCode.OTHERS_FULL, DisagreementCode.OTHERS_CORDONED)
_CSI: Final = "csi"
"""In the names of drivers that register with the kubelet; other provisioners have no part on nodes."""
_POD_SET: Final = re.compile(r"couldn't assign flavors to pod set [^:]+: ")


def cut_words(text: str, most: int) -> str:
    """Return a text cut after a word, with an ellipsis, if it is too long."""
    if len(text) <= most:
        return text
    whole, _, _ = text[:most].rpartition(" ")
    return f"{(whole or text[: most - 1]).rstrip(' ,;:')}…"


def disagreement_lines(group: PendingGroup) -> tuple[Pieces, ...]:
    """Return the disagreements between the sources, one per line."""
    return tuple((("≠ ", Tone.WARNING), (disagreement_text(d), Tone.NORMAL)) for d in group.disagreements)


def disagreement_short(disagreement: Disagreement) -> str:
    """Return a disagreement in a few words."""
    if disagreement.code is DisagreementCode.NOMINATED:
        return f"nominated {age_text(disagreement.since_ns, disagreement.now_ns)} ago"
    return str(disagreement.code)


def disagreement_text(disagreement: Disagreement) -> str:
    """Return a disagreement between the sources."""
    age, them = age_text(disagreement.since_ns, disagreement.now_ns), "it" if disagreement.pods == 1 else "them"
    where = first_of([short_name(clean(node)) for node in disagreement.nodes], 1)
    match disagreement.code:
        case DisagreementCode.LAUNCH_REFUSED:
            why = error_words(disagreement.error_code) if disagreement.error_code else clean(disagreement.message)
            return f"a launch in {clean(disagreement.name)} failed {age} ago: {why}; the next may fail too"
        case DisagreementCode.LAUNCHES_STOPPED:
            have, why = (
                "has" if len(disagreement.nodes) == 1 else "have",
                f": {clean(disagreement.message)}" if disagreement.message else "",
            )
            return f"Karpenter launches nothing until {first_of(disagreement.nodes, 1)} {have} a provider ID{why}"
        case DisagreementCode.NOMINATED:
            return f"nominated {age} ago{_stage_text(disagreement)}"
        case DisagreementCode.UNSCHEDULABLE_NOW:
            return f"Karpenter nominated a node {age} ago, but now it is computed to be unschedulable"
        case DisagreementCode.FITS_NOW:
            how = "now" if disagreement.knows_volumes else "without its volumes, which were not read,"
            return f"Karpenter found it unschedulable {age} ago; computed {how} it fits on {_fits_on(disagreement)}"
        case DisagreementCode.NO_EVENT:
            return f"pending for {age} without an event from Karpenter, which has events about other pods"
        case DisagreementCode.VOLUMES_UNREAD:
            its, fits = ("its", "it fits") if disagreement.pods == 1 else ("their", "they fit")
            return f"kube-scheduler refuses {them}; without {its} volumes, which were not read, {fits} on {where}"
        case DisagreementCode.REFUSED_BY_SCHEDULER:
            fits = "it fits" if disagreement.pods == 1 else "they fit"
            words = cut_words(clean(disagreement.message.partition(" preemption: ")[0]), MOST_QUOTED)
            detail = f" ({words})" if words else ""
            return (
                f"{_scheduler_words(disagreement.user)} refuses {them}{detail}, but by Karpenter's rules"
                f" {fits} on {where}, so Karpenter launches no node for {them}"
            )
        case _:
            return _decisive_text(disagreement)


def _refused_nodes_text(disagreement: Disagreement, where: str) -> str:
    """Return kube-scheduler's reason to refuse nodes that Karpenter expects for a pod, or that the pod selects."""
    if disagreement.code is DisagreementCode.POD_REQUESTS:
        text = f"Karpenter {clean(disagreement.name)} does not count requests of the whole pod (spec.resources)"
        return f"{text}, as {COUNTS_POD_REQUESTS} does: it nominates nodes without room"
    have = "has" if len(disagreement.nodes) == 1 else "have"
    if disagreement.code is DisagreementCode.CROWDED:
        age = age_text(disagreement.since_ns, disagreement.now_ns)
        nodes = f"{counted(len(disagreement.nodes), 'node')} launched in {age}"
        daemonset = f"Karpenter does not expect DaemonSet {clean(disagreement.name)} there"
        label = f"which selects {clean(disagreement.message)}, a label that nodes get after they join"
        return f"{nodes} {have} too little {clean(disagreement.user)} left: {daemonset}, {label}"
    if disagreement.code is DisagreementCode.LEFT_TAINT:
        nodes = f"{counted(len(disagreement.nodes), 'node')} that the selector matches ({where}) {have} had the taint"
        age = age_text(disagreement.since_ns, disagreement.now_ns)
        return f"{nodes} {disagreement.name} for {age}: the Cluster Autoscaler has removed neither taint nor node"
    if disagreement.code in OF_OTHERS:
        it_is, them = ("it is", "it") if len(disagreement.nodes) == 1 else ("they are", "them")
        nodes = f"only {counted(len(disagreement.nodes), 'node')} that Karpenter does not manage ({where})"
        refused = f", and kube-scheduler refuses {them}: {clean(disagreement.message)}" if disagreement.message else ""
        refused = f", and {it_is} cordoned" if disagreement.code is DisagreementCode.OTHERS_CORDONED else refused
        return f"{nodes} {have} all the required labels{refused}"
    pool = disagreement.destination.nodepool if disagreement.destination is not None else ""
    nodes = f"{counted(len(disagreement.nodes), 'node')} launched in {clean(pool)} since then"
    taint = f"{have} the taint {clean(disagreement.name)}, which the NodePool does not announce (startupTaints)"
    return f"{nodes} {taint}"


_OF_VOLUMES: Final = frozenset(
    {
        DisagreementCode.VOLUME_NODE_GONE,
        DisagreementCode.VOLUME_IN_USE,
        DisagreementCode.VOLUME_NOT_CREATED,
        DisagreementCode.VOLUME_OF_ANOTHER,
        DisagreementCode.VOLUME_LABEL,
        DisagreementCode.VOLUME_ZONE,
    }
)


def _decisive_text(disagreement: Disagreement) -> str:
    where = first_of([short_name(clean(node)) for node in disagreement.nodes], 1)
    match disagreement.code:
        case code if code in _OF_VOLUMES:
            return _volume_text(disagreement, where)
        case DisagreementCode.GATE_UNSERVED:
            gate = f"scheduling gate {clean(disagreement.name)} is not removed"
            return f"{gate}: {clean(disagreement.user)} has no ready pod" if disagreement.user else gate
        case DisagreementCode.NOT_ADMITTED:
            error = cut_words(clean(_POD_SET.sub("", disagreement.message)), MOST_QUOTED)
            return f"{clean(disagreement.user)} does not admit {clean(disagreement.name)}: {error}"
        case DisagreementCode.SCHEDULER_ABSENT:
            silent = f"{_scheduler_words(disagreement.name)} has written no condition or event"
            return f"{silent}, and no ready pod has its name"
        case DisagreementCode.VICTIMS_REMAIN:
            left_ns, pods = disagreement.since_ns - disagreement.now_ns, clean(first_of(disagreement.nodes, 1))
            late = f"should have ended {span_text(-left_ns)} ago"
            end = f"may take {span_text(left_ns)} more to end" if left_ns > 0 else late
            node = short_name(clean(disagreement.name))
            where = f"kube-scheduler nominated {node}, where pods of lower priority ({pods}) {end}"
            return f"{where}; Karpenter launches nothing for nominated pods"
        case DisagreementCode.CLAIM_NOT_CREATED:
            return f"the ResourceClaim cannot be created: {cut_words(clean(disagreement.message), MOST_QUOTED)}"
        case DisagreementCode.TOO_MANY_VOLUMES:
            count, most = disagreement.volumes
            have = "it has" if disagreement.pods == 1 else "each has"
            driver = clean(disagreement.name)
            return f"{have} {count} volumes of {driver}, but no suitable node attaches more than {most} (CSINode)"
        case (
            DisagreementCode.POD_REQUESTS
            | DisagreementCode.LEFT_TAINT
            | DisagreementCode.OTHERS_FULL
            | DisagreementCode.OTHERS_CORDONED
            | DisagreementCode.FOREIGN_TAINT
            | DisagreementCode.CROWDED
        ):
            return _refused_nodes_text(disagreement, where)
        case DisagreementCode.NO_STORAGE_CLASS:
            text = f"its PersistentVolumeClaim {clean(disagreement.name)} is not bound and names no StorageClass"
            return text if disagreement.has_default else f"{text}, and no StorageClass is the default"
        case _:
            return (
                f"node {where}, selected by {HOSTNAME}, does not exist, and Karpenter launches no node for a hostname"
            )


def scheduler_words(pod: Pod) -> str:
    """Return ``kube-scheduler``, or the name of another scheduler that a pod has."""
    return _scheduler_words("" if is_kube_scheduled(pod) else pod.template.scheduler_name)


def _scheduler_words(name: str) -> str:
    return f"scheduler {clean(name)}" if name else "kube-scheduler"


def _volume_text(disagreement: Disagreement, where: str) -> str:
    match disagreement.code:
        case DisagreementCode.VOLUME_NODE_GONE:
            return f"its local volume {clean(disagreement.name)} is on node {where}, which does not exist"
        case DisagreementCode.VOLUME_IN_USE:
            return f"pod {clean(disagreement.user)} uses its volume {clean(disagreement.name)}, which is {ONE_POD}"
        case DisagreementCode.VOLUME_LABEL:
            label, newer = clean(disagreement.message), KEY_ALIASES[disagreement.message]
            volume = f"its volume {clean(disagreement.name)} requires the label {label}"
            return f"{volume}, which no node of Karpenter has; Karpenter reads it as {newer}"
        case DisagreementCode.VOLUME_ZONE:
            volume = f"a label of its volume {clean(disagreement.name)} ties it to {clean(disagreement.message)}"
            return f"{volume}; Karpenter does not read it, only the volume's nodeAffinity"
        case _:
            return _no_volume_text(disagreement)


def _no_volume_text(disagreement: Disagreement) -> str:
    """Return the reason that a claim has no volume: a silent driver, the cloud's error, or the RPC's message."""
    claim, other = clean(disagreement.name), clean(disagreement.user)
    pending = f"PersistentVolumeClaim {claim} is Pending"
    if disagreement.code is DisagreementCode.VOLUME_OF_ANOTHER:
        return f"{pending}: the volume {other} that it names still belongs to another claim"
    if not other:
        message = disagreement.message.rpartition("api error ")[2].rpartition("desc = ")[2]
        return f"volume {claim} cannot be created: {cut_words(clean(message), MOST_QUOTED)}"
    silent, drivers = f"{pending}: {other} has not created its volume", disagreement.drivers
    if _CSI not in other or other in drivers or not drivers:
        return silent
    return f"{silent}, and no node has it registered (they have {clean(first_of(drivers, 2))})"


def _stage_text(disagreement: Disagreement) -> str:
    """Return the state of a nominated node after ``nominated 3m ago``."""
    name = clean(disagreement.name)
    match disagreement.stage:
        case None:
            return ", still pending"
        case "":
            return f" to {name}, which is gone; still pending"
        case "Ready":
            return f", still pending, although {name} is ready"
        case stage:
            return f", still pending: {name} is {stage.lower()}"


def _fits_on(disagreement: Disagreement) -> str:
    destination = disagreement.destination
    assert destination is not None
    return short_name(clean(destination.node)) or f"a new node in {clean(destination.nodepool)}"
