from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.whatif.drift.hashes import ec2_nodeclass_hash, nodepool_hash

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "data" / "drift-hashes.json").read_text())
"""NodePools and EC2NodeClasses with what Karpenter v1.14.1's own ``Hash`` methods return for them."""


def spec_of(vector: dict[str, Any]) -> str:
    return json.dumps(vector["object"]["spec"])[:120]


@pytest.mark.parametrize("vector", [one for one in VECTORS if one["kind"] == "NodePool"], ids=spec_of)
def test_a_nodepool_hashes_as_in_karpenter(vector: dict[str, Any]) -> None:
    assert nodepool_hash(KindReader(Kind.NODEPOOL).convert(vector["object"])) == vector["hash"]


@pytest.mark.parametrize("vector", [one for one in VECTORS if one["kind"] == "EC2NodeClass"], ids=spec_of)
def test_an_ec2_nodeclass_hashes_as_in_karpenter(vector: dict[str, Any]) -> None:
    nodeclass = KindReader(Kind.NODECLASS).convert(vector["object"])
    assert ec2_nodeclass_hash(nodeclass, ca_bundle=vector.get("caBundle", "")) == vector["hash"]
