"""Webhooks that cannot answer."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.karpenter.inventory import Inventory
from karptui.kube.workload import Service
from karptui.session.cluster_view import ClusterView
from karptui.session.webhooks import EVICTIONS, NODECLAIMS, DeadWebhook, dead_webhook
from karptui.sources.source import Phase
from tests.builders import a_pod
from tests.builders.clusters import state_of
from tests.ui.fleet import status

RULE = {"apiGroups": ["*"], "resources": ["*/*"], "operations": ["CREATE"]}


def dead(
    rule: dict[str, Any] | None = None,
    about: tuple[str, str] = NODECLAIMS,
    *,
    is_ready: bool = False,
    service: Service | None = None,
    phase: Phase = Phase.OFFLINE,
    **hook: Any,
) -> DeadWebhook | None:
    client = {"service": {"namespace": "sys", "name": "gate"}}
    document = {"name": "v.gate.sh", "clientConfig": client, "rules": [RULE | (rule or {})], **hook}
    hooks = KindReader(Kind.WEBHOOK).convert({"metadata": {"name": "gate"}, "webhooks": [document]})
    pod = a_pod(namespace="sys", node="n1", labels={"app": "gate"}, is_ready=is_ready)
    state = state_of(Inventory(pods=(pod,)))
    services = {service.key: service} if service is not None else {}
    state = replace(state, objects={**state.objects, Kind.WEBHOOK: {"gate": hooks}, Kind.SERVICE: services})
    return dead_webhook(ClusterView(state, {Kind.POD: status(Kind.POD, phase)}), *about)


DEAD = DeadWebhook("v.gate.sh", "sys/gate")


@pytest.mark.parametrize(("rule", "about", "is_asked"), [
    ({}, NODECLAIMS, True),
    ({}, EVICTIONS, True),
    ({"resources": ["*"]}, NODECLAIMS, True),
    ({"resources": ["*"]}, EVICTIONS, False),
    ({"resources": ["pods/*"], "apiGroups": [""]}, EVICTIONS, True),
    ({"resources": ["*/*"], "apiGroups": ["apps"]}, EVICTIONS, False),
    ({"resources": ["nodeclaims"], "apiGroups": ["karpenter.sh"]}, NODECLAIMS, True),
    ({"resources": ["nodeclaims/status"], "apiGroups": ["karpenter.sh"]}, NODECLAIMS, False),
    ({"operations": ["UPDATE", "DELETE"]}, NODECLAIMS, False),
    ({"operations": ["*"]}, NODECLAIMS, True),
])  # fmt: skip
def test_what_a_webhook_is_asked_about(rule: dict[str, Any], about: tuple[str, str], *, is_asked: bool) -> None:
    assert dead(rule, about) == (DEAD if is_asked else None)


GATE = Service(name="gate", namespace="sys", selector=(("app", "gate"),))


@pytest.mark.parametrize(("given", "found"), [
    ({}, DEAD),
    ({"is_ready": True}, None),
    ({"is_ready": True, "service": replace(GATE, selector=(("app", "other"),))}, DEAD),
    ({"is_ready": True, "service": GATE}, None),
    ({"is_ready": True, "service": replace(GATE, ports=frozenset({443}))}, None),
    ({"is_ready": True, "service": replace(GATE, ports=frozenset({8080}))}, DEAD._replace(missing_port="443")),
    ({"service": replace(GATE, selector=None)}, None),
    ({"failurePolicy": "Ignore"}, None),
    ({"matchConditions": [{"name": "some", "expression": "true"}]}, None),
    ({"objectSelector": {"matchLabels": {"a": "b"}}}, None),
    ({"objectSelector": {}}, DEAD),
    ({"clientConfig": {"url": "https://gate.example"}}, None),
    ({"phase": Phase.FORBIDDEN}, None),
])  # fmt: skip
def test_whether_it_can_answer(given: dict[str, Any], found: DeadWebhook | None) -> None:
    assert dead(**given) == found
