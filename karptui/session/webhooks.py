"""Admission webhooks that cannot answer, so that requests fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from karptui.decode.kinds import Kind
from karptui.karpenter.labels import GROUP

if TYPE_CHECKING:
    from karptui.kube.objects import Webhook
    from karptui.session.cluster_view import ClusterView

EVICTIONS: Final = ("CREATE", "", "pods/eviction")
NODECLAIMS: Final = ("CREATE", GROUP, "nodeclaims")
REGISTRATIONS: Final = ("UPDATE", "", "nodes")
"""Operations, groups and resources that Karpenter depends on."""


class DeadWebhook(NamedTuple):
    """A webhook that cannot answer."""

    name: str
    service: str
    """``namespace/name`` of its Service."""
    missing_port: str = ""
    """The port that the Service lacks; empty if it has no ready pod."""


def dead_webhook(view: ClusterView, *request: str) -> DeadWebhook | None:
    """Return a webhook that cannot answer, and without whose answer an operation on a resource of a group fails."""
    hooks = (hook for configuration in view.state.of(Kind.WEBHOOK).values() for hook in configuration.webhooks)
    relevant = (hook for hook in hooks if hook.service != "/" and hook.is_asked(*request))
    dead = (_dead(view, hook) for hook in relevant) if Kind.POD not in view.hidden else ()
    return next((hook for hook in dead if hook is not None), None)


def _dead(view: ClusterView, hook: Webhook) -> DeadWebhook | None:
    """Return a webhook if its Service has no ready pod; without the Services, if no pod of the namespace is ready."""
    service = view.state.of(Kind.SERVICE).get(hook.service)
    if service is not None and not service.selector:
        return None
    if service is not None and service.ports and hook.port not in service.ports:
        return DeadWebhook(hook.name, hook.service, str(hook.port))
    namespace, _, _ = hook.service.partition("/")
    selector = set(service.selector) if service is not None else set()
    answers = any(
        pod.namespace == namespace and pod.ready and selector <= set(pod.labels.items())
        for pod in view.state.pods.values()
    )
    return None if answers else DeadWebhook(hook.name, hook.service)
