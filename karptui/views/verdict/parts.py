"""Parts of the sentences about findings: counts, names, times, pods that are pending because of one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from karptui.karpenter.instance_type import error_words
from karptui.kube.units import age_text, count_text, counted, first_of, span_text, verb
from karptui.views.sanitize import short_name

if TYPE_CHECKING:
    from karptui.verdict.finding import ClusterFinding

NAMED: Final = 2
"""Maximum number of objects named; the others are counted."""
SHARED: Final[Mapping[str, str]] = {
    "platform": "{}",
    "family": "{} nodes",
    "type": "{} nodes",
    "zone": "nodes in {}",
    "pool": "nodes of NodePool {}",
    "image": "nodes with {}",
    "node": "node {}",
}
"""Nodes with a property that others lack, by `Shared`."""
_MANY_PREEMPTED: Final = 3
"""Preemption happens now and then; from this many pods of a workload on it is named."""
QUOTED: Final = 160
"""Characters that are quoted of a message."""
_HEAD: Final = 60
"""Characters of a longer message before the part that is left out: errors end with their cause."""
_RESTRICTED: Final = re.compile(r"using label (\S+) is not allowed")
_CODES: Final = (
    "InsufficientInstanceCapacity",
    "InsufficientFreeAddressesInSubnet",
    "MaxSpotInstanceCountExceeded",
    "VcpuLimitExceeded",
)
"""EC2's error codes that replace a complete message."""
_BOILERPLATE: Final = re.compile(
    r"^creating instance, (?:insufficient capacity, )?with fleet error\(s\), |^creating instance failed[:,] "
    r"|\bresource Pod/\S+ was blocked due to the following policies |\.? (?:To do so,? )?please visit https?://\S+"
    r"|\. To scale beyond this limit, .+|\. request id: \S+ Data: .+| \(will try a different [^)]+\)$",
    re.IGNORECASE,
)
"""Beginnings of errors of launches and of Kyverno, links, ends of Azure's and Alibaba's: they leave little room."""
_CAUSE: Final = re.compile(
    r"(?:(?:\bapi error|ERROR CODE:) |\b(?=x509: ))([\w.]+: .+)|(?:send failed, |, : )(\w+ \"https?://.+)", re.DOTALL
)
"""The cause at the end of nested errors: of AWS's and Azure's clients, certificates, and requests without answer."""
_HIDDEN: Final = "Instance launch failed"
"""Karpenter's message for EC2 errors that it does not classify: pkg/errors/errors.go of its AWS provider."""
_BEFORE_WEBHOOK: Final = re.compile(r"^.*?(?=admission webhook \")", re.DOTALL)
"""The request that a webhook denied, which leaves little room for the webhook and its reason."""
KARPENTER: Final = "Karpenter"
_UNAUTHORIZED: Final = "UnauthorizedOperation"
_ACTION: Final = re.compile(r"not authorized to perform: (\w+:\w+)(?: on resource: \S*?([^\s:/]+)(?:\s|$))?")
_DISALLOWED: Final = re.compile(r"was disallowed by policy\. Reasons: '([^']+?)\.?'")
_PATH: Final = re.compile(r"/subscriptions/[^\s'\"]*/")
"""The long way to a resource of Azure, before its name."""
_NOT_PERMITTED: Final = re.compile(r"does not have permission to perform action\(s\) '([^']+)'")
"""Azure's words about a policy, and about a right that Karpenter's identity lacks."""
Reasons = Mapping[str, str]
"""Why pods are pending, by the key of their group."""
Say = Callable[["ClusterFinding", int, Reasons], str]
"""Writes a finding, given the time in nanoseconds since the epoch, and why pods are pending."""


def lasting(finding: ClusterFinding, now_ns: int) -> str:
    r"""Return ``\ for 5m``, of different ages ``\ for up to 5m``; empty without a beginning."""
    if not finding.since_ns:
        return ""
    is_alike = now_ns - finding.since_ns <= 2 * (now_ns - (finding.youngest_ns or finding.since_ns))
    return f" for {'' if is_alike else 'up to '}{age_text(finding.since_ns, now_ns)}"


def after(finding: ClusterFinding, now_ns: int) -> str:
    r"""Return ``\ after 5m``; empty without a beginning."""
    return f" after {age_text(finding.since_ns, now_ns)}" if finding.since_ns else ""


def age_in_brackets(finding: ClusterFinding, now_ns: int) -> str:
    r"""Return ``\ (5m)``; empty without a beginning."""
    return f" ({age_text(finding.since_ns, now_ns)})" if finding.since_ns else ""


def dead_webhook_text(name: str, service: str, missing_port: str) -> str:
    """Return a webhook that cannot answer: ``the webhook v.sh, and its Service sys/gate has no ready pod``."""
    lacks = f"port {missing_port}" if missing_port else "ready pod"
    return f"the webhook {name}, and its Service {service} has no {lacks}"


def time_left(finding: ClusterFinding, now_ns: int) -> str:
    """Return the time until the deadline."""
    return span_text(max((finding.until_ns or 0) - now_ns, 0))


def nodes_text(finding: ClusterFinding, kind: str = "") -> str:
    """Return the number of nodes: ``at least 3 nodes``; of a kind such as ``empty `` if they have one."""
    bound = f"{finding.nodes_bound} " if finding.nodes_bound else ""
    return f"{bound}{counted(finding.nodes, f'{kind}node')}"


def draining_text(finding: ClusterFinding, now_ns: int) -> str:
    """Return the number of draining nodes, with what initiated that, and since when they are not ready."""
    kind = {"Interruption": "interrupted ", "Expiry": "expired "}.get(next(iter(finding.reasons), ""), "")
    if not finding.sick:
        return counted(finding.nodes, f"{kind}node")
    some = f"{count_text(finding.sick)} of them " if finding.sick < finding.nodes else ""
    age = f" for {age_text(finding.sick_ns, now_ns)}" if finding.sick_ns else ""
    return f"{counted(finding.nodes, f'{kind}node')} ({some}not ready{age})"


def names_text(names: Sequence[str]) -> str:
    """Return short names of the first objects, and the number of the others."""
    return first_of([short_name(name) for name in names], NAMED)


def of_kind(kind: str, names: Sequence[str]) -> str:
    """Return ``NodePool general``, ``NodePools general, gpu``."""
    return f"{kind if len(names) == 1 else f'{kind}s'} {first_of(names, NAMED)}"


def uncounted(names: Sequence[str], count: int) -> list[str]:
    """Return names of workloads without the number of their pods, where a sentence gives that already."""
    return [name.removesuffix(f" ({count_text(count)})") for name in names]


def last_text(finding: ClusterFinding, now_ns: int) -> str:
    """Return ``, last 5m ago``; empty without a last time."""
    return f", last {age_text(finding.last_ns, now_ns)} ago" if finding.last_ns else ""


def pods_pending(finding: ClusterFinding, now_ns: int = 0) -> str:
    """Return ``; 9 pods pending (shop/web-*)``; nothing if no pod is pending because of a finding.

    Args:
        now_ns: The time if a finding is about retries: pods that are pending for longer get their age.
    """
    pending = finding.pending
    if not pending.pods:
        return ""
    count = len(pending.pods)
    names = uncounted(pending.names, count) if len(pending.names) == 1 else pending.names
    is_older = now_ns and pending.since_ns and now_ns - pending.since_ns > 2 * (now_ns - (finding.since_ns or now_ns))
    up_to = "up to " if count > 1 else ""
    age = f" for {up_to}{age_text(pending.since_ns, now_ns)}" if is_older and pending.since_ns else ""
    text = f"; {counted(count, 'pod')} pending{age}{f' ({first_of(names, NAMED)})' if names else ''}"
    if pending.bound_names and len(pending.bound_zones) == 1:
        count = len(pending.bound_names)
        the, are = verb(count, "the volume", "the volumes"), verb(count, "is", "are")
        text += f"; {the} of {first_of(pending.bound_names, NAMED)} {are} in {pending.bound_zones[0]}"
    text += "".join(f"; nodes with room: {rule}" for rule in pending.rules)
    return f"{text}{preempted(finding)}"


def preempted(finding: ClusterFinding) -> str:
    """Return the number of preempted pods of the pending workload; empty if few."""
    count = finding.pending.preempted
    which = "those workloads" if len(finding.pending.names) > 1 else "that workload"
    return f"; {count_text(count)} of {which} preempted in the last hour" if count >= _MANY_PREEMPTED else ""


def absent_agent(finding: ClusterFinding) -> str:
    """Return that a DaemonSet does not run on the nodes, and why; nothing without one."""
    if not finding.agent:
        return ""
    daemonset, *taints = finding.agent
    does = f"tolerate {first_of(taints, NAMED)}" if taints else "select such nodes"
    return f", and DaemonSet {daemonset} does not {does}"


def of_pools(finding: ClusterFinding) -> str:
    r"""Return ``\ of general``; empty without NodePools."""
    return f" of {first_of(finding.pools, NAMED)}" if finding.pools else ""


def quoted(message: str, who: str = KARPENTER) -> str:
    """Return a message, shortened; EC2's errors in plain words.

    Args:
        who: Whose request failed.
    """
    plain = next((error_words(code) for code in _CODES if code in message), "")
    action = _ACTION.search(message)
    if _UNAUTHORIZED in message and action is not None:
        plain = f"{who} is not authorized to perform {' on '.join(filter(None, action.groups()))}"
    elif _UNAUTHORIZED in message and who == KARPENTER:
        plain = "Karpenter's role may not launch instances"
    if (restricted := _RESTRICTED.search(message)) is not None:
        plain = f"label {restricted[1]} is not allowed"
    elif (policy := _DISALLOWED.search(message)) is not None:
        plain = f"an Azure Policy disallows it: {policy[1]}"
    elif (action := _NOT_PERMITTED.search(message)) is not None:
        plain = f"{who}'s identity may not perform {action[1]}"
    message = _BOILERPLATE.sub("", " ".join(_BEFORE_WEBHOOK.sub("", message).split())).removesuffix(".")
    message = _PATH.sub("…/", message)
    cause = _CAUSE.search(message)
    message = cause[cause.lastindex or 0] if cause is not None else message
    if message.endswith(_HIDDEN):
        message += " (the error is in Karpenter's log)"
    if plain or len(message) <= QUOTED:
        return plain or message
    head, tail = message[:_HEAD], message[_HEAD - QUOTED :]
    return f"{head.rpartition(' ')[0] or head} … {tail.partition(' ')[2] or tail}"


def why_not_ready(finding: ClusterFinding) -> str:
    """Return the kubelet's message, and the pods that cannot end on such nodes."""
    message = kubelet_words(finding.detail)
    stuck = finding.stuck_pods
    pods = f"; {first_of(stuck, NAMED)} {verb(len(stuck), 'is', 'are')} stuck terminating there" if stuck else ""
    return f"{f' ({message})' if message else ''}{pods}"


def kubelet_words(message: str) -> str:
    """Return a kubelet's message in few words."""
    if "NetworkPluginNotReady" in message or "cni plugin not initialized" in message:
        return "the CNI network plugin is not ready"
    if "container runtime is down" in message:
        return "the container runtime does not answer"
    return quoted(message)
