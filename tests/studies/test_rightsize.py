from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.errors import RequestError
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.kube.quantity import parse_quantity
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.vpa import Recommendation, Recommendations
from karptui.studies.rightsize import Caveat, Fleet, RightSize, Sizing, rightsize, size, sized
from karptui.views.rightsize import patch_of, saving_text
from karptui.whatif.situation import WhatIfBase
from tests.builders import a_daemonset, an_instance_type
from tests.forward.making import a_pair
from tests.whatif.edits.test_apply import POOL
from tests.whatif.snapshots import base

TYPES = (an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1}),)
HOUR_NS = 3600 * NS_PER_SECOND


def a_pod(
    name: str, node: str = "", *, kind: str = "StatefulSet", owner: str = "web", spec: Any = None, **resources: Any
) -> Pod:
    """Return the manifest of a pod with a container ``app``."""
    owners = [{"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": owner, "controller": True}]
    annotations = resources.pop("annotations", {})
    document = {
        "metadata": {
            "name": name, "namespace": "shop", "uid": name, "ownerReferences": owners, "annotations": annotations,
        },
        "spec": {"nodeName": node, "containers": [{"name": "app", "resources": resources}], **(spec or {})},
        "status": {"phase": "Running" if node else "Pending"},
    }  # fmt: skip
    pod = KindReader(Kind.POD).convert(document)
    assert isinstance(pod, Pod)
    return pod


def wants(container: str = "app", workload: str = "StatefulSet/shop/web", **more: Any) -> Recommendation:
    amounts: dict[str, Any] = {name: parse_quantity(more.pop(name)) for name in ("cpu", "memory") if name in more}
    return Recommendation(workload=workload, container=container, requests=amounts, **more)


def of(*items: Recommendation) -> Recommendations:
    return Recommendations(source="VPA", items=items)


def cluster(*pods: Pod, nodes: int = 4, **objects: Any) -> WhatIfBase:
    disruption = {"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}]}
    pool = {**POOL, "spec": {**POOL["spec"], "disruption": disruption}}
    result, claims = zip(*(a_pair(f"n{at}") for at in range(nodes)), strict=True)
    return base(pool, types=TYPES, nodes=tuple(result), nodeclaims=tuple(claims), pods=pods, **objects)


def four(**of_first: Any) -> tuple[Pod, ...]:
    more = [of_first, {}, {}, {}]
    return tuple(
        a_pod(f"web-{at}", f"n{at}", requests={"cpu": "1500m", "memory": "1Gi"}, **more[at]) for at in range(4)
    )


def sized_one(pod: Pod, *items: Recommendation, used: int = 0) -> tuple[Sizing, Pod]:
    sizing, templates = size("StatefulSet/shop/web", [pod], {item.container: item for item in items}, {pod.key: used})
    return sizing, Pod(name="x", template=templates.get(pod.template, pod.template))


def ends(answer: RightSize) -> tuple[int, int, int, int]:
    scratch, played = answer.scratch, answer.played
    return scratch[0].nodes, scratch[1].nodes, played[0].end.nodes, played[1].end.nodes


def test_a_protected_pod_prevents_the_savings_and_is_named() -> None:
    pods = four(annotations={"karpenter.sh/do-not-disrupt": "true"})
    pods = (*pods[:1], a_pod("web-1", "n1", annotations={"karpenter.sh/do-not-disrupt": "true"},
                             requests={"cpu": "1500m", "memory": "1Gi"}), *pods[2:])  # fmt: skip
    answer = rightsize(cluster(*pods), of(wants(cpu="400m")), horizon_ns=HOUR_NS)
    assert ends(answer) == (4, 1, 4, 2)
    assert [(nodes.blocker, nodes.nodes) for nodes in answer.blocked] == [("do-not-disrupt", 2)]
    assert sum(nodes.price_per_hour for nodes in answer.blocked) == pytest.approx(0.2)
    assert (answer.saves_from_now or 0) < (answer.saves_from_scratch or 0)


def test_joint_savings_are_simulated_and_not_summed() -> None:
    pods = [a_pod(f"{name}-0", f"n{at}", owner=name, requests={"cpu": "1200m", "memory": "1Gi"})
            for at, name in enumerate(("a", "b"))]  # fmt: skip
    items = [wants(workload=f"StatefulSet/shop/{name}", cpu="900m") for name in ("a", "b")]
    answer = rightsize(cluster(*pods, nodes=2), of(*items), horizon_ns=HOUR_NS)
    assert [sizing.saves_alone for sizing in answer.sizings] == [0.0, 0.0]
    assert answer.saves_from_scratch == pytest.approx(0.1)


def test_larger_requests_and_daemonset_requests() -> None:
    pods = [a_pod(f"web-{at}", "n0", requests={"cpu": "600m", "memory": "1Gi"}) for at in range(3)]
    answer = rightsize(cluster(*pods, nodes=1), of(wants(cpu="900m")), horizon_ns=HOUR_NS)
    assert answer.recreated == 1
    assert ends(answer) == (1, 2, 1, 2)
    assert answer.saves_from_now == pytest.approx(-0.1)
    daemon = a_pod("agent-x", "n0", kind="DaemonSet", owner="agent", requests={"cpu": "1", "memory": "1Gi"})
    on = cluster(daemon, daemonsets=(a_daemonset(name="agent", namespace="shop", cpu="1", memory="1Gi"),))
    _, templates = size("DaemonSet/shop/agent", [daemon], {"app": wants(cpu="100m")}, {})
    changed, _ = sized(on, templates)
    assert [resources.cpu_millis(daemon_set.template.requests) for daemon_set in changed.inventory.daemonsets] == [100]
    assert sized(on, {})[0].inventory.daemonsets[0] is on.inventory.daemonsets[0]


def test_workloads_without_data_and_data_without_workloads() -> None:
    with pytest.raises(RequestError, match="there are no recommendations"):
        rightsize(cluster(*four()), of())
    with pytest.raises(RequestError, match="none of the 1 workloads with recommendations has pods"):
        rightsize(cluster(*four()), of(wants(workload="Deployment/shop/other", cpu="1")))
    other = a_pod("db-0", "n0", owner="db", requests={"cpu": "100m"})
    answer = rightsize(
        cluster(*four(), other), of(wants(cpu="1"), wants(workload="CronJob/x/y", cpu="1")), horizon_ns=HOUR_NS
    )
    assert (answer.without, answer.unmatched) == (1, ("CronJob/x/y",))


LIMITED = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}


@pytest.mark.parametrize(("of_pod", "item", "used", "caveats", "requests"), [
    ({"requests": {"cpu": "1"}}, wants(cpu="250m", memory="300Mi"), 0, [], ("250m", "300Mi")),
    ({"requests": {"cpu": "1"}}, wants(cpu="0.2501", memory="1"), 0, [], ("251m", "1Mi")),
    (LIMITED, wants(cpu="500m"), 0, [Caveat.GUARANTEED], ("500m", "1Gi")),
    (LIMITED, wants(cpu="3"), 0, [Caveat.LIMIT], ("1", "1Gi")),
    ({"requests": LIMITED["requests"]}, wants(memory="200Mi"), 2**29, [Caveat.USAGE], ("1", "1Gi")),
    ({"requests": LIMITED["requests"]}, wants(cpu="2", memory="2Gi"), 3 * 2**30, [Caveat.USAGE], ("2", "1Gi")),
    ({"requests": LIMITED["requests"]}, wants(cpu="1", has_hpa=True), 0, [Caveat.HPA], ("1", "1Gi")),
    ({"requests": {"cpu": "1"}}, wants(cpu="2", update_mode="Auto"), 0, [Caveat.VPA_ACTS], ("2", "0")),
    ({"requests": {"cpu": "1"}}, wants(cpu="2", update_mode="Off", is_unsure=True), 0, [Caveat.UNSURE], ("2", "0")),
    ({"requests": {"cpu": "1"}}, wants("other", cpu="2"), 0, [Caveat.NO_CONTAINER], ("1", "0")),
    ({"requests": {"cpu": "1"}, "spec": {"resources": {"requests": {"cpu": "3"}}}}, wants(cpu="2"), 0,
     [Caveat.POD_LEVEL], ("3", "0")),
])  # fmt: skip
def test_caveats_that_limit_a_recommendation(
    of_pod: dict[str, Any], item: Recommendation, used: int, caveats: list[Caveat], requests: tuple[str, str]
) -> None:
    sizing, after = sized_one(a_pod("web-0", "n", **of_pod), item, used=used)
    assert list(sizing.caveats) == caveats
    nanos = tuple(resources.nano(after.requests, name) for name in ("cpu", "memory"))
    assert nanos == tuple(parse_quantity(amount).nano for amount in requests)


def test_a_kind_without_a_patch_is_named_and_a_cronjob_is_patched_deeper() -> None:
    pod = a_pod("web-0", "n", requests={"cpu": "1"})
    sizing, _ = size("Rollout/shop/web", [pod], {"app": wants(cpu="2")}, {})
    assert (list(sizing.caveats), patch_of(sizing)) == ([Caveat.NO_PATCH], None)
    sizing, _ = size("CronJob/shop/web", [pod], {"app": wants(cpu="2")}, {})
    patch = patch_of(sizing)
    assert patch is not None
    containers = patch["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert containers == [{"name": "app", "resources": {"requests": {"cpu": "2"}}}]


AMOUNT = st.sampled_from(["100m", "250m", "1", "1500m", "3"])
MEMORY = st.sampled_from(["64Mi", "300Mi", "1Gi", "3Gi"])
REQUESTS = st.fixed_dictionaries({}, optional={"cpu": AMOUNT, "memory": MEMORY})


@given(
    st.lists(REQUESTS, min_size=1, max_size=3),
    st.lists(st.tuples(REQUESTS, st.booleans()), max_size=3),
    st.lists(st.tuples(st.sampled_from(["c0", "c1", "i0", "i1", "none"]), REQUESTS), max_size=4),
    st.fixed_dictionaries({}, optional={"cpu": AMOUNT, "memory": MEMORY}),
)
def test_a_patched_pod_has_the_requests_of_the_simulation(
    apps: list[dict[str, str]],
    inits: list[tuple[dict[str, str], bool]],
    recommended: list[tuple[str, dict[str, str]]],
    overhead: dict[str, str],
) -> None:
    """The pod after the API server applies the patch has the requests used by the simulation."""
    spec: dict[str, Any] = {
        "containers": [{"name": f"c{at}", "resources": {"requests": texts}} for at, texts in enumerate(apps)],
        "initContainers": [
            {"name": f"i{at}", "resources": {"requests": texts}} | ({"restartPolicy": "Always"} if is_sidecar else {})
            for at, (texts, is_sidecar) in enumerate(inits)
        ],
        "overhead": overhead,
    }
    items = {name: wants(name, **amounts) for name, amounts in recommended}
    pod = a_pod("web-0", "n", spec=spec)
    sizing, templates = size("StatefulSet/shop/web", [pod], items, {}) if items else (None, {})
    patch = patch_of(sizing) if sizing is not None else None
    patched = patch["spec"]["template"]["spec"] if patch is not None else {}
    for field, containers in patched.items():
        for container in containers:
            (target,) = [item for item in spec[field] if item["name"] == container["name"]]
            assert target["name"] in items
            target["resources"] = {
                "requests": {**target["resources"]["requests"], **container["resources"]["requests"]}
            }
    expected = a_pod("web-0", "n", spec=spec).requests
    quantities = templates.get(pod.template, pod.template).requests
    assert {name: amount.nano for name, amount in quantities.items() if amount} == {
        name: amount.nano for name, amount in expected.items() if amount
    }


def test_pods_that_are_no_longer_pending_are_named_with_the_cost_of_their_nodes() -> None:
    before, after = Fleet(1, 1.0, 0, 5), Fleet(2, 3.0, 0, 2)
    assert (
        saving_text(before.saves(after), before, after, "after 6h")
        == "costs $2.00/h more after 6h with 3 fewer pending pods"
    )
    assert saving_text(after.saves(before), after, before, "after 6h") == "saves an unknown amount after 6h"
    assert saving_text(before.saves(before), before, before, "after 6h") == "saves nothing after 6h"
