"""An object as a page of text, in the manner of ``kubectl describe``.

What karptui has decoded, and the events about it.
"""

from __future__ import annotations

from collections.abc import Iterable

from karptui.decode.kinds import Kind
from karptui.kube.hidden_text import escaped
from karptui.kube.objects import Event
from karptui.kube.resources import ResourceList
from karptui.kube.units import age_text, instant_text
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry
from karptui.session.pods import PodEntry
from karptui.state.cluster import ClusterState
from karptui.views.nodes.detail import fact_lines, resource_lines
from karptui.views.pods import pod_status_text
from karptui.views.sanitize import SafeText, clean


def _shown(text: str) -> SafeText:
    return clean(escaped(text))


def describe(view: ClusterView, kind: str, key: str, now_ns: int) -> str:
    """Return an object's description as text, or a message if it no longer exists."""
    if kind == Kind.POD:
        if (pod := view.pod_entry(key)) is not None:
            return _describe_pod(pod, view.state, now_ns)
    else:
        claim = view.claim_of(key) if kind == Kind.NODECLAIM else None
        if (node := claim or view.node_of(key)) is not None:
            return _describe_node(node, view.state, now_ns)
    return f"{kind} {key} no longer exists"


def _describe_node(entry: NodeEntry, state: ClusterState, now_ns: int) -> str:
    lines = [f"Name: {_shown(entry.name)}", ""]
    lines += ["".join(text for text, _ in line).rstrip() for line in resource_lines(entry)]
    lines.append("")
    lines += ["".join(text for text, _ in line).rstrip() for line in fact_lines(entry, now_ns)]
    names = {("Node", entry.node.name)} if entry.node is not None else set()
    if entry.claim is not None:
        names.add(("NodeClaim", entry.claim.name))
    return "\n".join([*lines, *_events(state.events.values(), names, now_ns)])


def _describe_pod(entry: PodEntry, state: ClusterState, now_ns: int) -> str:
    pod, template = entry.pod, entry.pod.template
    born = pod.created_ns
    created = f"{instant_text(born)}, {age_text(born, now_ns)} ago" if born else ""
    rows = [
        ("Name", pod.name),
        ("Namespace", pod.namespace),
        ("Status", pod_status_text(entry, now_ns)),
        ("Scheduler", pod.scheduled_message),
        ("Node", pod.node_name),
        ("NodePool", entry.pool),
        ("Nominated node", pod.nominated_node_name),
        ("Owner", entry.owner),
        ("Protection", entry.protection_text(now_ns)),
        ("Created", created),
        ("Requests", _amounts(pod.requests)),
        ("Limits", _amounts(template.limits)),
        ("Priority", f"{template.priority} {template.priority_class_name}".strip()),
        ("Scheduler", template.scheduler_name),
        ("Termination grace", f"{template.termination_grace_seconds} s"),
        ("Volume claims", ", ".join(volume.claim_of(pod.name) for volume in pod.volumes)),
        ("Images", ", ".join(template.images)),
    ]
    lines = [f"{title + ':':<19}{_shown(text)}" for title, text in rows if text]
    lines += _pairs("Node selector", template.node_selector.items())
    tolerations = [
        (toleration.key or "every key", f"{toleration.operator} {toleration.value} {toleration.effect}".strip())
        for toleration in template.tolerations
    ]
    lines += _pairs("Tolerations", tolerations)
    lines += _pairs("Labels", sorted(pod.labels.items()))
    lines += _pairs("Annotations that affect decisions", sorted(pod.annotations.items()))
    return "\n".join([*lines, *_events(state.events.values(), {("Pod", pod.key)}, now_ns)])


def _pairs(title: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    lines = [f"  {_shown(key)}: {_shown(value)}" for key, value in pairs]
    return [f"{title}:", *lines] if lines else []


def _amounts(amounts: ResourceList) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in sorted(amounts.items()))


def _events(events: Iterable[Event], names: set[tuple[str, str]], now_ns: int) -> list[str]:
    about = [
        event
        for event in events
        if (event.involved_kind, event.involved_name) in names
        or (event.involved_kind, f"{event.involved_namespace}/{event.involved_name}") in names
    ]
    about.sort(key=lambda event: event.last_ns, reverse=True)
    if not about:
        return ["", "Events: none seen"]
    lines = ["", "Events:"]
    for event in about:
        times = f" ×{event.count}" if event.count > 1 else ""
        lines.append(
            f"  {age_text(event.last_ns, now_ns):>6} ago  {event.type:<8} {_shown(event.reason)}{times}  "
            f"{_shown(event.source)}: {_shown(event.message)}"
        )
    return lines
