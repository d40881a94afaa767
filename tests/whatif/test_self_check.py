from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.cli.main import main
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, NODEPOOL, NODEPOOL_HASH, ZONE
from karptui.kube.quantity import parse_quantity
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.taints import Toleration
from karptui.kube.timestamps import format_timestamp, parse_timestamp
from karptui.provisioning.reporter import Cancelled
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.self_check import Reproduction, self_check
from karptui.whatif.situation import WhatIfBase
from tests.builders import (
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    SECOND_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_pod,
    an_instance_type,
    an_owner,
)
from tests.goldens_loading import scenarios
from tests.whatif.edits.test_apply import POOL
from tests.whatif.snapshots import FOLDER, base, base_of, decoded, with_objects
from tests.whatif.test_difference import another

TYPES = (an_instance_type(name="m5.large", cpu="2"), an_instance_type(name="m5.4xlarge", cpu="16", memory="64Gi"))
LIFECYCLE = ("Launched", "Registered", "Initialized")
Manifest = dict[str, Any]


def launched(start: WhatIfBase, **changes: Any) -> WhatIfBase:
    """Return the cluster after Karpenter has launched the model's NodeClaims and the pods are bound."""
    outcome = replay(start, Replay.PENDING)
    claims, nodes = [], []
    places: dict[str, str] = {}
    for index, result in enumerate(outcome.claims):
        names = tuple(result.instance_type_names)
        option = outcome.claim_types.of(result)[0]
        labels = {
            NODEPOOL: result.nodepool_name, INSTANCE_TYPE: option.name, ZONE: option.zone,
            CAPACITY_TYPE: option.capacity_type,
        }  # fmt: skip
        node = a_node(name=f"new-{index}", pool=result.nodepool_name, instance_type=option.name, labels=labels)
        claim = replace(a_nodeclaim(name=f"claim-{index}", labels=labels), node_name=node.name,
                        provider_id=node.provider_id, created_ns=start.now_ns + index % 2 * SECOND_NS,
                        requests=result.requests, requirements=(NodeSelectorRequirement(INSTANCE_TYPE, "In", names),),
                        conditions=(a_condition("Launched"),))  # fmt: skip
        claims.append(claim)
        nodes.append(node)
        places.update((pod.uid, node.name) for pod in result.pods)
    pods = tuple(
        replace(pod, node_name=places[pod.uid], phase="Running", scheduled_reason="") if pod.uid in places else pod
        for pod in start.inventory.pods
    )
    made = {"nodes": (*start.inventory.nodes, *nodes), "nodeclaims": (*start.inventory.nodeclaims, *claims)}
    return with_objects(start, start.now_ns + HOUR_NS, **{"pods": pods, **made, **changes})


def waiting(count: int, **fields: Any) -> tuple[Any, ...]:
    return tuple(a_pod(name=f"p-{i}", created_ns=NOW_NS - MINUTE_NS, **fields) for i in range(count))


def check(start: WhatIfBase, **fields: Any) -> tuple[Reproduction, str]:
    (claim,) = self_check(launched(start, **fields)).claims
    return claim.finding, claim.because


def test_nodeclaims_that_cannot_be_compared_have_a_reason() -> None:
    start = base(POOL, types=TYPES, pods=waiting(1, cpu="1"))
    result = launched(start)
    (pod,), (claim,) = result.inventory.pods, result.inventory.nodeclaims

    def now(**fields: Any) -> tuple[Reproduction, str]:
        (claim,) = self_check(with_objects(result, **fields)).claims
        return claim.finding, claim.because

    assert now(pods=()) == (Reproduction.NOT_COMPARABLE, "the pods that it was created for are gone")
    assert now(pods=(replace(pod, created_ns=result.now_ns),))[1] == "the pods that it was created for are gone"
    assert now(nodepools=()) == (Reproduction.NOT_COMPARABLE, "its NodePool is gone")
    edited = replace(claim, annotations={NODEPOOL_HASH: "other"})
    assert now(nodeclaims=(edited,)) == (Reproduction.NOT_COMPARABLE, "its NodePool was edited since")
    static = replace(result.inventory.nodepools[0], replicas=1, annotations={})
    assert now(nodepools=(static,)) == (
        Reproduction.NOT_COMPARABLE,
        "its NodePool is static: it was not created for pods",
    )
    bigger = replace(claim, requests={name: amount + amount + amount for name, amount in claim.requests.items()})
    assert now(nodeclaims=(bigger,)) == (
        Reproduction.NOT_COMPARABLE,
        "most of the pods that it was created for are gone",
    )
    assert self_check(with_objects(result, nodeclaims=(replace(claim, conditions=()),))).claims == ()
    none = self_check(with_objects(result, pods=()))
    assert (len(none.claims), none.comparable) == (1, 0)


def test_differences_have_a_reason() -> None:
    pools = (POOL, another("heavy", weight=90))
    start = base(POOL, types=TYPES, pods=waiting(1, cpu="1"))
    more = base(*pools, types=TYPES).inventory.nodepools
    assert check(start, nodepools=more) == (Reproduction.DIFFERS, "the model uses NodePool heavy")
    tight = {**POOL, "spec": {**POOL["spec"], "limits": {"cpu": "0"}}}
    finding, because = check(start, nodepools=base(tight).inventory.nodepools)
    assert finding is Reproduction.DIFFERS
    assert because.startswith("its pods are unschedulable in the model: ")
    assert "the limits of NodePool general" in because
    result = launched(start)
    other = replace(
        result.inventory.nodeclaims[0], labels={**result.inventory.nodeclaims[0].labels, INSTANCE_TYPE: "x9.huge"}
    )
    outcome = self_check(with_objects(result, nodeclaims=(other,)))
    assert "none that allows x9.huge" in outcome.claims[0].because
    assert (outcome.comparable, outcome.reproduced) == (1, 0)
    free = a_node(name="own", pool="", cpu="16", memory="64Gi")
    tolerant = base(POOL, types=TYPES, pods=waiting(1, cpu="1", tolerations=(Toleration(operator="Exists"),)))
    result = launched(tolerant)
    (claim,) = self_check(with_objects(result, nodes=(*result.inventory.nodes, free))).claims
    assert claim.because == "the model puts its pods on other nodes"


def test_the_self_check_reports_progress_and_can_be_cancelled() -> None:
    result = launched(base(POOL, types=TYPES, pods=waiting(1)))
    seen: list[tuple[int, int]] = []
    self_check(result, reporter=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 1), (1, 1)]

    def stop(done: int, total: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        self_check(result, reporter=stop)


def test_nodeclaims_of_one_run_of_the_provisioner_are_replayed_together() -> None:
    result = launched(base(POOL, types=TYPES, pods=waiting(30, cpu="1")))
    first, second = result.inventory.nodeclaims

    def reproductions(seconds: float, **pod_fields: Any) -> list[Reproduction]:
        apart = replace(second, created_ns=first.created_ns + int(seconds * SECOND_NS))
        pods = tuple(
            replace(pod, **pod_fields) if pod.node_name == second.node_name else pod for pod in result.inventory.pods
        )
        checked = self_check(with_objects(result, nodeclaims=(first, apart), pods=pods), last=1)
        return [claim.finding for claim in checked.claims]

    assert reproductions(1) == [Reproduction.REPRODUCED] * 2, (
        "both NodeClaims of the run, because they are replayed together"
    )
    assert reproductions(5) == [Reproduction.REPRODUCED]
    assert reproductions(1, created_ns=first.created_ns + 1) == [Reproduction.REPRODUCED], (
        "the second NodeClaim's pods did not exist at the first run"
    )


def test_nodeclaims_created_with_now_missing_ones_are_not_compared() -> None:
    result = launched(base(POOL, types=TYPES, pods=waiting(30, cpu="1")))
    pods = tuple(pod for pod in result.inventory.pods if pod.node_name != "new-0")
    claims = tuple(
        replace(claim, labels={**claim.labels, INSTANCE_TYPE: "x9.huge"}) if claim.node_name == "new-1" else claim
        for claim in result.inventory.nodeclaims
    )
    checked = self_check(with_objects(result, pods=pods, nodeclaims=claims))
    assert {claim.finding for claim in checked.claims} == {Reproduction.NOT_COMPARABLE}
    assert "other NodeClaims of its batch cannot be compared" in [claim.because for claim in checked.claims]


def test_requests_of_daemonset_pods_are_part_of_a_nodeclaims_requests() -> None:
    result = launched(base(POOL, types=TYPES, pods=waiting(1, cpu="100m")))
    (claim,) = result.inventory.nodeclaims
    asked = {"cpu": parse_quantity("800m"), "memory": parse_quantity("1152Mi")}
    bigger = replace(claim, requests=asked)
    daemon = a_pod(
        name="agent", node=claim.node_name, owner=an_owner(kind="DaemonSet", name="agent"), cpu="700m", memory="1Gi"
    )

    def reproductions(*pods: Any) -> Reproduction:
        changed = with_objects(result, nodeclaims=(bigger,), pods=(*result.inventory.pods, *pods))
        (claim,) = self_check(changed).claims
        return claim.finding

    assert reproductions() is Reproduction.NOT_COMPARABLE
    assert reproductions(daemon) is Reproduction.REPRODUCED


EVERY = 1 if os.environ.get("KARPTUI_ALL_GOLDENS") else 4
"""Step through the snapshots; 1 if KARPTUI_ALL_GOLDENS is set."""
FAMILIES = (
    "aws", "bigmem", "daemons", "existing", "flex", "hostports", "minvalues", "mixed", "overlays", "preferences",
    "reserved", "storyA", "storyB", "storyC", "storyD", "topology", "volumes", "weights", "zonal",
)  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_every_nodeclaim_that_karpenter_created_is_reproduced(family: str) -> None:
    claims = [
        claim
        for document in snapshots(family, EVERY)
        for claim in self_check(base_of(document)).claims
        if claim.claim_name.startswith("made-")
    ]
    assert claims
    assert [claim for claim in claims if claim.finding is not Reproduction.REPRODUCED or not claim.has_same_types] == []


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[dict[str, Any], Path]:
    """Return a snapshot of two NodePools with four new NodeClaims, and the path to write it to."""
    document = next(snapshot for snapshot in snapshots("weights") if len(_launched(snapshot)) == 4)
    packed = tmp_path / f"{document['catalog']}.gz"
    packed.parent.mkdir(parents=True, exist_ok=True)
    packed.write_bytes((FOLDER / f"{document['catalog']}.gz").read_bytes())
    return document, tmp_path / "recorded.json"


def _launched(document: dict[str, Any]) -> list[dict[str, Any]]:
    claims = [manifest for manifest in document["objects"] if manifest["kind"] == "NodeClaim"]
    return [claim for claim in claims if claim["metadata"]["name"].startswith("made-")]


def answer(document: dict[str, Any], path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    """Return exit status, JSON answer and table of ``karptui simulate --self-check``."""
    path.write_text(json.dumps(document))
    assert main(["simulate", str(path), "--self-check", "-o", "json"]) in (0, 1)
    result = json.loads(capsys.readouterr().out)
    return main(["simulate", str(path), "--self-check"]), result, capsys.readouterr().out


def test_headless_all_are_reproduced(recorded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    document, path = recorded
    status, result, table = answer(document, path, capsys)
    assert status == 0
    assert (result["reproduced"], result["comparable"]) == (4, 4)
    assert "of the last 4 NodeClaims 4 can be compared; the model reproduces 4" in table
    assert table.count("with the same list of types") == 4


def test_headless_differences_have_a_reason(recorded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    document, path = recorded
    claim = _launched(document)[2]
    right = claim["metadata"]["labels"]["karpenter.sh/nodepool"]
    wrong = next(
        manifest["metadata"]["name"]
        for manifest in document["objects"]
        if manifest["kind"] == "NodePool" and manifest["metadata"]["name"] != right
    )
    claim["metadata"]["labels"]["karpenter.sh/nodepool"] = wrong
    status, result, table = answer(document, path, capsys)
    assert status == 1
    assert (result["reproduced"], result["comparable"]) == (3, 4)
    (other,) = [node_claim for node_claim in result["nodeClaims"] if node_claim["finding"] != "reproduced"]
    assert other["name"] == "made-2"
    assert other["because"] == f"the model uses NodePool {right}"
    assert f"the model uses NodePool {right}" in table


@lru_cache(maxsize=8)
def _types(catalog: str) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(gzip.decompress((FOLDER / f"{catalog}.gz").read_bytes())))


def snapshots(family: str, every: int = 1) -> Iterator[Manifest]:
    """Yield a family's snapshots in which Karpenter launches NodeClaims, after it has launched them."""
    for line in islice(scenarios(FOLDER / f"{family}.jsonl.gz"), 0, None, every):
        if line["expected"]["provisioning"]["newNodeClaims"]:
            yield _after(line)


def _after(line: dict[str, Any]) -> Manifest:
    snapshot, answer = line["snapshot"], line["expected"]["provisioning"]
    types = _types(snapshot["catalog"]) if "catalog" in snapshot else tuple(snapshot["instanceTypes"])
    by_name = {document["name"]: document for document in types}
    decided_ns = parse_timestamp(snapshot["capturedAt"])
    pods = {_key(manifest): manifest for manifest in snapshot["objects"] if manifest["kind"] == "Pod"}
    for place in answer["existingNodes"]:
        for key in place["pods"]:
            _run(pods[key], place["name"])
    for number, result in enumerate(answer["newNodeClaims"]):
        node_name = f"made-{number}"
        snapshot["objects"] += _machine(result, by_name, node_name, decided_ns + number * SECOND_NS // 10)
        snapshot["objects"].append(_daemons(result, pods, node_name))
        for key in result["pods"]:
            _run(pods[key], node_name)
    snapshot["capturedAt"] = format_timestamp(decided_ns + HOUR_NS)
    snapshot.pop("disruption", None)
    return dict(snapshot)


def _key(manifest: Manifest) -> str:
    return f"{manifest['metadata'].get('namespace', 'default')}/{manifest['metadata']['name']}"


def _run(pod: Manifest, node_name: str) -> None:
    pod["spec"]["nodeName"] = node_name
    pod["status"] = {"phase": "Running"}


def _machine(document: dict[str, Any], types: dict[str, Any], node_name: str, created_ns: int) -> list[Manifest]:
    """Return a NodeClaim and its node, launched with the cheapest allowed offering."""
    name, offering = launched_claim(document, types)
    instance, stamp = types[name], format_timestamp(created_ns)
    labels = {item["key"]: item["values"][0] for item in instance["requirements"] if len(item.get("values") or ()) == 1}
    labels |= {
        requirement["key"]: requirement["values"][0]
        for requirement in offering["requirements"]
        if len(requirement.get("values") or ()) == 1
    }
    labels |= {"karpenter.sh/nodepool": document["nodePool"], "node.kubernetes.io/instance-type": name}
    allowed = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": document["instanceTypes"]}
    done = [{"type": text, "status": "True", "lastTransitionTime": stamp} for text in LIFECYCLE]
    claim = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": node_name, "uid": node_name, "creationTimestamp": stamp, "labels": labels},
        "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                 "requirements": [*document["requirements"], allowed], "resources": {"requests": document["requests"]}},
        "status": {"nodeName": node_name, "providerID": f"aws:///{node_name}", "capacity": instance["capacity"],
                   "conditions": done},
    }  # fmt: skip
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node_name, "creationTimestamp": stamp,
                     "labels": {**labels, "kubernetes.io/hostname": node_name, "karpenter.sh/registered": "true",
                                "karpenter.sh/initialized": "true"}},
        "spec": {"providerID": f"aws:///{node_name}"},
        "status": {"capacity": instance["capacity"], "allocatable": instance["capacity"],
                   "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp}]},
    }  # fmt: skip
    return [claim, node]


def _daemons(document: dict[str, Any], pods: dict[str, Manifest], node_name: str) -> Manifest:
    """Return one pod for all DaemonSets of a node: it requests the NodeClaim's requests minus those of its pods."""
    rest = {
        name: parse_quantity(amount).nano for name, amount in document["requests"].items() if name in ("cpu", "memory")
    }
    for key in document["pods"]:
        for name in rest:
            rest[name] -= requests_of(pods[key]).get(name, 0)
    asks = {"cpu": f"{max(rest.get('cpu', 0), 0)}n", "memory": str(max(rest.get("memory", 0), 0) // 10**9)}
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "all", "uid": "all", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"daemons-{node_name}", "namespace": "kube-system", "ownerReferences": [owner]},
        "spec": {"nodeName": node_name, "containers": [{"name": "all", "resources": {"requests": asks}}]},
        "status": {"phase": "Running"},
    }


def requests_of(pod: Manifest) -> Mapping[str, int]:
    """Return a pod's requests in billionths; pods with equal specs are parsed once."""
    return _requests_of(json.dumps(pod["spec"]))


@lru_cache(maxsize=256)
def _requests_of(spec: str) -> Mapping[str, int]:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "any"}, "spec": json.loads(spec)}
    return {name: amount.nano for name, amount in decoded(pod).requests.items()}


def launched_claim(document: dict[str, Any], types: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    allowed = {item["key"]: set(item["values"]) for item in document["requirements"] if item["operator"] == "In"}
    offers = [
        (offering["price"], name, at)
        for name in document["instanceTypes"]
        for at, offering in enumerate(types[name]["offerings"])
        if offering.get("available", True)
        and all(
            set(requirement.get("values") or ()) & allowed[requirement["key"]]
            for requirement in offering["requirements"]
            if requirement["key"] in allowed
        )
    ]
    _, name, at = min(offers)
    return name, types[name]["offerings"][at]
