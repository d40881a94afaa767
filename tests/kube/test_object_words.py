from __future__ import annotations

from typing import Any

import pytest

from karptui.kube.object_words import object_words

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
def test_what_a_document_is_called(document: Any, words: str) -> None:
    assert object_words(document) == words
