from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from karptui.decode.pod import TemplateInterner, build_pod
from karptui.decode.pod_text import build_text_pod
from karptui.decode.pod_wire import TextPod, WirePod
from karptui.kube.pod import Pod
from tests.builders import present

JSON = dict[str, Any]
OWNER: JSON = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "d1", "controller": True}
EXPRESSION: JSON = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
ANTI: JSON = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}
PREFERRED: list[JSON] = [{"weight": 1, "preference": {"matchExpressions": [EXPRESSION]}}]


def pin(node: str) -> JSON:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}


def required(*terms: JSON) -> JSON:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}


def a_pod(affinity: JSON, *, node: str = "", owner: JSON | None = OWNER) -> JSON:
    spec: JSON = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}], "affinity": affinity}
    if node:
        spec["nodeName"] = node
    meta = {"name": f"agent-{node}", "namespace": "kube-system", "ownerReferences": [owner] if owner else []}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def read(pod: JSON, interner: TemplateInterner, *, as_text: bool) -> Pod:
    text = json.dumps(pod, separators=(",", ":"))
    if as_text:
        return build_text_pod(msgspec.json.decode(text, type=TextPod), interner)
    return build_pod(msgspec.json.decode(text, type=WirePod), interner)


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize(("affinity", "terms"), [
    (lambda node: {"nodeAffinity": required(pin(node))}, None),
    (lambda node: {"nodeAffinity": required({"matchExpressions": [EXPRESSION], **pin(node)})}, 1),
    (lambda node: {"nodeAffinity": required({**pin(node), "matchExpressions": [EXPRESSION]})}, 1),
    (lambda node: {"nodeAffinity": required(pin(node)), "podAntiAffinity": ANTI}, None),
    (
        lambda node: {
            "nodeAffinity": {**required(pin(node)), "preferredDuringSchedulingIgnoredDuringExecution": PREFERRED}
        },
        None,
    ),
])  # fmt: skip
def test_pods_of_a_daemonset_share_a_template(affinity: Any, terms: int | None, as_text: bool) -> None:
    interner = TemplateInterner()
    pod, other = (read(a_pod(affinity(node), node=node), interner, as_text=as_text) for node in ("node-1", "node-2"))
    assert pod.template is other.template
    assert pod.node_name != other.node_name
    required_node_terms = pod.template.required_node_terms
    assert (required_node_terms if required_node_terms is None else len(required_node_terms)) == terms
    kept = affinity("x")
    assert bool(pod.template.pod_anti_affinity) is ("podAntiAffinity" in kept)
    assert len(pod.template.preferred_node_terms) == (
        "preferredDuringSchedulingIgnoredDuringExecution" in kept["nodeAffinity"]
    )
    whole = read(a_pod(affinity("node-1"), node="node-1"), interner, as_text=not as_text)
    assert whole.template is pod.template


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("pod", [
    a_pod({"nodeAffinity": required(pin("node-1"))}),
    a_pod({"nodeAffinity": required(pin("node-1"))}, node="node-2"),
    a_pod({"nodeAffinity": required(pin("node-1"))}, node="node-1", owner=None),
    a_pod({"nodeAffinity": required(pin("node-1"))}, node="node-1", owner={**OWNER, "kind": "ReplicaSet"}),
    a_pod({"nodeAffinity": required(pin("node-1"))}, node="node-1", owner={**OWNER, "apiVersion": "other.io/v1"}),
    a_pod({"nodeAffinity": required({"matchFields": [*pin("node-1")["matchFields"], EXPRESSION]})}, node="node-1"),
])  # fmt: skip
def test_a_node_affinity_term_that_still_matters_is_kept(pod: JSON, as_text: bool) -> None:
    terms = present(read(pod, TemplateInterner(), as_text=as_text).template.required_node_terms)
    assert terms[0].match_fields


def test_the_order_of_an_owners_fields_does_not_matter() -> None:
    interner = TemplateInterner()
    turned = dict(reversed(OWNER.items()))
    for node in ("node-1", "node-2"):
        read(a_pod({"nodeAffinity": required(pin(node))}, node=node, owner=turned), interner, as_text=True)
    assert read(a_pod({}, node="x", owner=turned), interner, as_text=True).template.required_node_terms is None
    terms = read(a_pod({"nodeAffinity": required(pin("n"))}, node="n", owner=turned), interner, as_text=True)
    assert terms.template.required_node_terms is None
