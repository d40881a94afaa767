from __future__ import annotations

from typing import Any

import pytest

from karptui.kube.objects import OwnerReference, object_words
from karptui.kube.pod import Pod, PodTemplate, lost_pods

REPLICASET = OwnerReference("apps/v1", "ReplicaSet", "web-1", "u1", controller=True)


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "web", "name": "front-1"}}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (NODE, "a Kubernetes object, Node n1"),
        (POD, "a Kubernetes object, Pod web/front-1"),
        ({"kind": "Pod", "metadata": {"generateName": "x-"}}, "a Kubernetes object, Pod"),
        ({"apiVersion": "v1", "kind": "Node", "metadata": "n1"}, "a Kubernetes object, Node"),
        (
            {"apiVersion": "v1", "kind": "List", "items": [POD, NODE]},
            "a List of 2 Kubernetes objects, the first is Pod web/front-1",
        ),
        (
            {"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "n1"}}]},
            "a NodeList of 1 Kubernetes object, the first is Node n1",
        ),
        ({"apiVersion": "v1", "kind": "List", "items": []}, "a List of 0 Kubernetes objects"),
        ({"apiVersion": "v1", "kind": "List", "items": [1]}, "a List of 1 Kubernetes object"),
        ({"apiVersion": "example.com/v1", "kind": "AllowList", "items": {}}, "a Kubernetes object, AllowList"),
        ([NODE], "a list of 1 Kubernetes object, the first is Node n1"),
        ({"karptui": 1, "objects": [POD]}, "a recording of 1 Kubernetes object, the first is Pod web/front-1"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x" * 999}}, f"a Kubernetes object, Pod {'x' * 320}"),
        ({"kind": "Node"}, ""),
        ({"karptui": 1, "edits": []}, ""),
        ({"apiVersion": "v1", "kind": 3}, ""),
        ({"name": "x", "edits": []}, ""),
        ([], ""),
        ([{"name": "x"}], ""),
        ("Node", ""),
        (None, ""),
    ],
)
def test_object_words(document: Any, words: str) -> None:
    assert object_words(document) == words


@pytest.mark.parametrize(
    ("owners", "annotations", "is_lost"),
    [
        ((), {}, True),
        ((REPLICASET,), {}, False),
        ((OwnerReference("example.com/v1", "Run", "a", "u", controller=False),), {}, True),
        ((OwnerReference("apps/v1", "DaemonSet", "agent", "u", controller=False),), {}, False),
        ((OwnerReference("v1", "Node", "node-1", "u", controller=True),), {}, False),
        ((), {"kubernetes.io/config.mirror": "hash"}, False),
    ],
)
def test_pods_without_a_controller_are_lost_if_they_are_evicted(
    owners: tuple[OwnerReference, ...], annotations: dict[str, str], *, is_lost: bool
) -> None:
    template = PodTemplate(namespace="tools", owners=owners, annotations=annotations)
    pods = [Pod(name="b", template=template), Pod(name="a", template=template)]
    ended = [
        Pod(name="done", template=template, phase="Succeeded"),
        Pod(name="ending", template=template, deletion_ns=1),
    ]
    assert lost_pods([*pods, *ended]) == (("tools/a", "tools/b") if is_lost else ())
