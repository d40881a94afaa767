from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.karpenter.nodeclass import NodeClass
from karptui.whatif.drift.hashes import (
    ami_family,
    changed_nodeclass_fields,
    ec2_nodeclass_hash,
    nodepool_hash,
    shifted_nodeclass_hash,
)

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "data" / "drift-hashes.json").read_text())
"""NodePools and EC2NodeClasses with what Karpenter v1.14.1's own ``Hash`` methods return for them."""


def spec_of(vector: dict[str, Any]) -> str:
    return json.dumps(vector["object"]["spec"])[:120]


@pytest.mark.parametrize("vector", [vector for vector in VECTORS if vector["kind"] == "NodePool"], ids=spec_of)
def test_a_nodepool_hashes_as_in_karpenter(vector: dict[str, Any]) -> None:
    assert nodepool_hash(KindReader(Kind.NODEPOOL).convert(vector["object"])) == vector["hash"]


@pytest.mark.parametrize("vector", [vector for vector in VECTORS if vector["kind"] == "EC2NodeClass"], ids=spec_of)
def test_an_ec2_nodeclass_hashes_as_in_karpenter(vector: dict[str, Any]) -> None:
    nodeclass = KindReader(Kind.NODECLASS).convert(vector["object"])
    assert ec2_nodeclass_hash(nodeclass, ca_bundle=vector.get("caBundle", "")) == vector["hash"]


GOLDENS = sorted((Path(__file__).parents[2] / "goldens" / "aws-1.15.1").glob("*.json.gz"))


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.name.split(".json")[0])
def test_an_ec2_nodeclass_hashes_as_in_karpenter_1_15(path: Path) -> None:
    golden = json.loads(gzip.decompress(path.read_bytes()))
    result = golden["answers"]["hash"]
    nodeclass = KindReader(Kind.NODECLASS).convert(golden["nodeClass"])
    assert ec2_nodeclass_hash(nodeclass, version=result["version"]) == result["value"]


@pytest.mark.parametrize(("spec", "hashed"), [
    ({"enclaveOptions": {"enabled": True}, "connectionTracking": {"tcpEstablishedTimeout": 300}},
     "17129229311563984281"),
    ({"enclaveOptions": {"enabled": True}, "context": "ctx", "cpuOptions": {"nestedVirtualization": "enabled"}},
     "3863036049228460219"),
    ({"kubelet": {"maxPods": "vcpus > 8 && vcpus < 64 ? 250 : 58"}}, "16139100193517066585"),
])  # fmt: skip
def test_fields_are_hashed_in_the_order_of_the_type_comparisons_as_in_go(spec: dict[str, Any], hashed: str) -> None:
    """Hold ``Hash`` of v1.15.1, pkg/apis/v1/ec2nodeclass.go, and ``String`` of kubeletconfiguration.go."""
    document = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"}}
    nodeclass = KindReader(Kind.NODECLASS).convert({**document, "spec": spec})
    assert ec2_nodeclass_hash(nodeclass, version="v6") == hashed


def test_from_version_6_on_the_text_of_kubelet_counts() -> None:
    before, after = (a_nodeclass({"maxPods": 10, "kubeReserved": {"memory": text}}) for text in ("1Gi", "1024Mi"))
    assert changed_nodeclass_fields(before, after, "v6") == ("spec.kubelet",)
    assert changed_nodeclass_fields(before, a_nodeclass({}), "v6") == ("spec.kubelet",)
    assert changed_nodeclass_fields(a_nodeclass(None), a_nodeclass({}), "v6") == ()
    shifted = shifted_nodeclass_hash(ec2_nodeclass_hash(before, version="v6") or "", before, after, "v6")
    assert shifted == ec2_nodeclass_hash(after, version="v6")
    assert shifted_nodeclass_hash("1", before, after, "v7") is None


def a_nodeclass(kubelet: dict[str, Any] | None) -> NodeClass:
    spec = {"amiSelectorTerms": [{"alias": "al2023@latest"}], "kubelet": kubelet}
    return NodeClass(name="default", group="karpenter.k8s.aws", kind="EC2NodeClass", spec=spec)


@pytest.mark.parametrize("terms", [5, "al2023@latest", {"alias": "x"}, [5, None], [{"alias": 3}], None])
def test_selector_terms_that_are_none_come_to_no_family(terms: object) -> None:
    assert ami_family({"amiSelectorTerms": terms}) == "Custom"
    assert ami_family({"amiSelectorTerms": [{"alias": "bottlerocket@latest"}]}) == "Bottlerocket"
