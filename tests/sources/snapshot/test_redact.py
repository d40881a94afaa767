from __future__ import annotations

import gzip
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import karptui
from karptui.aws.case import answer, parse_case
from karptui.aws.evidence import Evidence
from karptui.aws.nodeclass import NodeClassError
from karptui.decode.kinds import Kind
from karptui.karpenter.scheduler_config import parse_scheduler_config
from karptui.karpenter.settings import parse_settings
from karptui.kube.generated_names import stem
from karptui.sources.snapshot.public import is_public_key
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.recording import build_recording, write_recording
from karptui.sources.snapshot.redact import Redactor
from karptui.sources.snapshot.text import SnapshotError
from tests.builders import NOW, NOW_NS, a_manifest, an_instance_type
from tests.sources.snapshot.canaries import OBJECTS, SETTINGS, TYPES, Canaries, kinds
from tests.sources.snapshot.redacted_answers import changed_decision

KEY = b"k"
CAPACITY = "karpenter.sh/capacity-type"
GOLDENS = Path(__file__).resolve().parents[2] / "goldens"
EVERY = 1 if os.environ.get("KARPTUI_ALL_GOLDENS") else 25
"""Every how many scenarios one is tested."""
SAMPLE = [
    json.loads(line)
    for path in (*sorted((GOLDENS / "rules").glob("*.gz")), *sorted((GOLDENS / "k115").glob("*.gz")))
    for line in gzip.decompress(path.read_bytes()).splitlines()[::EVERY]
]
AWS_CASES = [
    path
    for path in (*sorted((GOLDENS / "aws").glob("*.json*")), *sorted((GOLDENS / "aws-1.15.1").glob("*.json.gz")))
    if not re.search("reserv|block", path.name)  # their answers contain reservation ids
]
RECORDED_POD = a_manifest("Pod", "web-1", namespace="default", spec={"nodeName": "node-1"})
RECORDED_SETTINGS = {"PREFERENCE_POLICY": "Ignore", "CLUSTER_NAME": "acme", "AWS_SECRET_ACCESS_KEY": "hunter2"}
EVIDENCE = Evidence(settings=parse_settings(RECORDED_SETTINGS))


def redacted(*objects: dict[str, Any], key: bytes = KEY) -> list[dict[str, Any]]:
    return Redactor(key).redact(objects)


POD = a_manifest(
    "Pod",
    "checkout-7f9-abc",
    namespace="shop",
    metadata={
        "labels": {"app": "checkout", "acme.example/team": "falcon", "pod-template-hash": "7f9"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "checkout-7f9"}],
    },
    spec={
        "nodeName": "ip-10-0-1-2.ec2.internal",
        "nodeSelector": {"acme.example/team": "falcon", "kubernetes.io/arch": "amd64", "karpenter.sh/nodepool": "fast"},
        "containers": [{"name": "checkout", "image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/checkout:1"}],
        "volumes": [{"name": "scratch", "ephemeral": {}}],
    },
)
NODE = a_manifest(
    "Node",
    "ip-10-0-1-2.ec2.internal",
    metadata={
        "labels": {"kubernetes.io/hostname": "ip-10-0-1-2.ec2.internal", "node.kubernetes.io/instance-type": "m5.large",
                   "topology.kubernetes.io/zone": "us-east-1a", "karpenter.sh/nodepool": "fast"},
    },
    spec={
        "providerID": "aws:///us-east-1a/i-0123456789abcdef0",
        "taints": [{"key": "acme.example/team", "value": "falcon", "effect": "NoSchedule"}],
    },
    status={"addresses": [{"type": "InternalIP", "address": "10.0.1.2"}]},
)  # fmt: skip
CLAIM = a_manifest(
    "NodeClaim",
    "fast-x7k2p",
    api_version="karpenter.sh/v1",
    status={"providerID": "aws:///us-east-1a/i-0123456789abcdef0", "nodeName": "ip-10-0-1-2.ec2.internal"},
)
POOL = a_manifest(
    "NodePool",
    "fast",
    api_version="karpenter.sh/v1",
    spec={
        "template": {"spec": {"requirements": [{"key": "node.kubernetes.io/instance-type", "operator": "In",
                                                "values": ["m5.large"]},
                                               {"key": "acme.example/team", "operator": "In",
                                                "values": ["falcon", "eagle"]}]}},
    },
)  # fmt: skip
EVENT = a_manifest(
    "Event",
    "checkout.1",
    namespace="shop",
    involvedObject={"kind": "Pod", "namespace": "shop", "name": "checkout-7f9-abc"},
    message="Pod shop/checkout-7f9-abc waits for ip-10-0-1-2.ec2.internal (10.0.1.2); acme.example/team In [falcon]",
    reason="Nominated",
)
PVC = a_manifest("PersistentVolumeClaim", "checkout-7f9-abc-scratch", namespace="shop")
CLUSTER = (POD, NODE, CLAIM, POOL, EVENT, PVC)


def test_references_between_objects_are_kept() -> None:
    pod, node, claim, pool, event, pvc = redacted(*CLUSTER)
    name = node["metadata"]["name"]
    assert (
        name
        == pod["spec"]["nodeName"]
        == claim["status"]["nodeName"]
        == node["metadata"]["labels"]["kubernetes.io/hostname"]
    )
    assert node["spec"]["providerID"] == claim["status"]["providerID"]
    pool_name = pool["metadata"]["name"]
    assert pool_name == node["metadata"]["labels"]["karpenter.sh/nodepool"]
    assert pool_name == pod["spec"]["nodeSelector"]["karpenter.sh/nodepool"]
    (key,) = (key for key in pod["metadata"]["labels"] if "/" in key)
    value = pod["metadata"]["labels"][key]
    assert node["spec"]["taints"] == [{"key": key, "value": value, "effect": "NoSchedule"}]
    assert pod["spec"]["nodeSelector"][key] == value
    requirements = pool["spec"]["template"]["spec"]["requirements"]
    assert requirements[0]["values"] == ["m5.large"]
    assert requirements[1]["key"] == key
    assert requirements[1]["values"][0] == value
    namespace, pod_name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    words = event["message"].split()
    assert [*words[:2], words[4], *words[6:]] == ["Pod", f"{namespace}/{pod_name}", name, key, "In", f"[{value}]"]
    assert event["involvedObject"] == {"kind": "Pod", "namespace": namespace, "name": pod_name}
    assert pvc["metadata"]["name"] == f"{pod_name}-{pod['spec']['volumes'][0]['name']}"


def test_values_that_decisions_depend_on_are_kept() -> None:
    uid = "7b0a4c4e-2f0a-4b5e-9c3e-0a1b2c3d4e5f"
    pod, node, *_ = redacted({**POD, "metadata": {**POD["metadata"], "uid": uid}}, *CLUSTER[1:])
    assert pod["metadata"]["uid"] == uid
    assert pod["metadata"]["creationTimestamp"] == POD["metadata"]["creationTimestamp"]
    assert pod["spec"]["nodeSelector"]["kubernetes.io/arch"] == "amd64"
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "us-east-1a"
    assert node["spec"]["providerID"].startswith("aws:///us-east-1a/i-")


def test_a_redacted_scheduler_configuration_has_the_same_constraints() -> None:
    result = "{maxSkew: 2.0, TopologyKey: acme.example/rack, whenUnsatisfiable: DoNotSchedule}"
    text = f"PodTopologySpread: {{defaultConstraints: [{result}]}}\n---\nfor: somebody else\n"
    document = Redactor(KEY).redact_document({"settings": {"SCHEDULER_CONFIG": text}})
    (constraint,) = parse_scheduler_config(document["settings"]["SCHEDULER_CONFIG"])
    assert (constraint.max_skew, constraint.when_unsatisfiable) == (2, "DoNotSchedule")
    assert "acme" not in constraint.topology_key


def test_pseudonyms_depend_only_on_name_and_key() -> None:
    assert redacted(*CLUSTER) == redacted(*CLUSTER)
    alone, together = redacted(POD)[0], redacted(*CLUSTER)[0]
    assert alone["metadata"]["name"] == together["metadata"]["name"]
    assert redacted(POD, key=b"other")[0]["metadata"]["name"] != alone["metadata"]["name"]


@pytest.mark.parametrize(("kind", "version"), [
    ("NodePool", "karpenter.sh/v1"),
    ("Node", "v1"),
    ("NodeClaim", "karpenter.sh/v1"),
    ("NodeOverlay", "karpenter.sh/v1alpha1"),
    ("Namespace", "v1"),
    ("DaemonSet", "apps/v1"),
])  # fmt: skip
def test_pseudonyms_keep_the_order_of_names_that_break_ties(kind: str, version: str) -> None:
    names = ["b", "default", "a", "karpenter", "c", "kube-system", "kz", *(f"n{number}" for number in range(12))]
    result = [
        item["metadata"]["name"] for item in redacted(*(a_manifest(kind, name, api_version=version) for name in names))
    ]
    assert [name for _, name in sorted(zip(names, result, strict=True))] == sorted(result)
    assert len(set(result)) == len(names)


def test_redaction_removes_the_canaries_of_every_kind() -> None:
    canaries = Canaries()
    planted = [canaries.plant(manifest, manifest["kind"]) for manifest in OBJECTS]
    assert {kind for kind in Kind if kind is not Kind.NODECLASS} <= set(kinds())
    types, settings = canaries.plant(TYPES, "instanceTypes"), canaries.plant(SETTINGS, "settings")
    document = build_recording(planted, name="zqname", captured_at_ns=1)
    document["settings"] = settings
    assert len(canaries.left_in(json.dumps(document))) > 1500, "the corpus has too few recorded fields"
    redacted_document = Redactor(KEY).redact_document({**document, "instanceTypes": types})
    assert canaries.left_in(json.dumps(redacted_document)) == {}


def test_names_equal_to_karpenters_words_are_replaced_only_as_names() -> None:
    pools = [a_manifest("NodePool", name, api_version="karpenter.sh/v1") for name in ("spot", "on-demand")]
    node = {**NODE, "metadata": {**NODE["metadata"], "labels": {"karpenter.sh/nodepool": "spot", CAPACITY: "spot"}}}
    event = {**EVENT, "message": 'NodePool "spot" launches spot nodes'}
    *renamed, kept, said = redacted(*pools, node, event)
    on_demand, spot = sorted(manifest["metadata"]["name"] for manifest in renamed)
    assert said["message"] == f'NodePool "{spot}" launches spot nodes'
    labels = kept["metadata"]["labels"]
    assert labels == {"karpenter.sh/nodepool": spot, CAPACITY: "spot"}
    assert "-pool-" in on_demand


@pytest.mark.parametrize(
    ("message", "pattern"),
    [
        ("Pod should schedule on: nodeclaim/fast-x7k2p, node/ip-10-0-1-2.ec2.internal",
         r"Pod should schedule on: nodeclaim/n\d-claim-\w+, node/n\d-node-\w+"),
        (
            "NodeClaim fast-zzzz2 event: with fleet error(s), InsufficientInstanceCapacity: m5.large acme",
            (
                r"NodeClaim n\d-pool-\w+-[b-t]{5} event: with fleet error\(s\), "
                r"InsufficientInstanceCapacity: m5.large x-\w+"
            ),
        ),
        ("with fleet error(s), AcmeCode: subnet-0123456789abcdef0 and on; Unsupported: us-east-1a...",
         r"with fleet error\(s\), X\w+: subnet-[0-9a-f]{17} and on; Unsupported: us-east-1a\.\.\."),
        ('Error creating: admission webhook "policy.acme.example" denied the request: pods of checkout need a label',
         r'Error creating: admission webhook "x-[a-p]{8}" denied the request: pods of v-0-[a-p]{8} need a label'),
        ("the dog ate ip-10-9-9-9.ec2.internal", r"the( x-[a-p]{8}){3}"),
        ("sandbox 5f0c1d2e3f405162 on 10.1.2.3: Ärger", r"sandbox [0-9a-f]{16} on 10(\.\d+){3}: x-[a-p]{8}"),
        ("", ""),
    ],
)  # fmt: skip
def test_only_the_relevant_parts_of_messages_are_kept(message: str, pattern: str) -> None:
    result = redacted(*CLUSTER[:4], {**EVENT, "message": message})[4]["message"]
    assert re.fullmatch(pattern, result), result


def test_every_key_that_the_code_reads_is_public() -> None:
    source = "".join(file.read_text() for file in Path(karptui.__file__).parent.rglob("*.py"))
    keys = re.findall(r'"((?:[a-z0-9.-]+\.)?(?:karpenter\.sh|k8s\.aws|kubernetes\.io)/[A-Za-z0-9._-]+)"', source)
    assert len(set(keys)) > 60
    others = {"karpenter.sh/v1", "kubectl.kubernetes.io/last-applied-configuration"}
    assert {key for key in keys if not is_public_key(key) and not key.startswith("kubernetes.io/")} == others


def test_pods_without_owner_keep_their_grouping_by_name() -> None:
    names = [
        "runner-ab12cd34e-project-1-concurrent-0-x7k2p",
        "runner-zz9-project-2-concurrent-1",
        "etl-29384920",
        "etl-2",
    ]
    result = [manifest["metadata"]["name"] for manifest in redacted(*(a_manifest("Pod", name) for name in names))]
    assert stem(result[0]) == stem(result[1]) != stem(result[2]) == stem(result[3])
    assert len(set(result)) == 4


@pytest.mark.parametrize("scenario", SAMPLE, ids=lambda item: item["snapshot"]["name"])
def test_redaction_changes_no_decision(scenario: dict[str, Any]) -> None:
    assert changed_decision(scenario["snapshot"]) == "", scenario["rule"]


@pytest.mark.parametrize("path", AWS_CASES, ids=lambda path: path.name.split(".json")[0])
def test_redaction_changes_no_instance_type_of_a_nodeclass(path: Path) -> None:
    data = path.read_bytes()
    case = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    case = {key: value for key, value in case.items() if key not in ("types", "incompatible", "note", "answers")}
    (nodeclass,) = redacted({"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", **case["nodeClass"]})
    names = ["m5.large", "c7g.4xlarge", "p4d.24xlarge", "t3.small"]
    result = []
    for item in (case["nodeClass"], nodeclass):
        try:
            answered = answer(parse_case({**case, "nodeClass": item}), names)
        except NodeClassError:
            answered = {}
        result.append((answered.get("types"), answered.get("incompatible")))
    assert result[0] == result[1]


def test_forecast_nodes_sort_as_before_redaction() -> None:
    pools = [a_manifest("NodePool", name, api_version="karpenter.sh/v1") for name in ("general", "trino", "gpu")]
    names = ("ip-10-0-1-2", "general-44pzp", "general-v8dj8", "a1", "z9", "h")
    objects = redacted(*pools, *({**NODE, "metadata": {**NODE["metadata"], "name": name}} for name in names))
    pseudonyms = [manifest["metadata"]["name"] for manifest in objects]
    plain = [*(f"{pool['metadata']['name']}-f0001" for pool in pools), *names]
    changed = [*(f"{name}-f0001" for name in pseudonyms[:3]), *pseudonyms[3:]]
    assert [at for _, at in sorted(zip(changed, range(9), strict=True))] == [
        at for _, at in sorted(zip(plain, range(9), strict=True))
    ]


def test_the_selected_node_of_a_volume_gets_the_nodes_pseudonym() -> None:
    key = "volume.kubernetes.io/selected-node"
    claim = a_manifest("PersistentVolumeClaim", "data", metadata={"annotations": {key: NODE["metadata"]["name"]}})
    node, result = redacted(NODE, claim)
    assert result["metadata"]["annotations"] == {key: node["metadata"]["name"]}


def test_a_written_recording_can_be_read(tmp_path: Path) -> None:
    types = (an_instance_type(), msgspec.structs.replace(an_instance_type(name="x"), offerings=()))
    document = build_recording(
        [RECORDED_POD, a_manifest("Secret", "x")],
        name="a",
        captured_at_ns=NOW_NS,
        evidence=replace(EVIDENCE, instance_types=types),
    )
    assert document["capturedAt"] == NOW
    assert document["settings"] == {"PREFERENCE_POLICY": "Ignore", "CLUSTER_NAME": "acme"}
    for name in ("a.json", "a.json.gz"):
        size = write_recording(document, tmp_path / name)
        assert (tmp_path / name).stat().st_size == size
        snapshot = SnapshotReader().read([tmp_path / name])
        assert [pod.key for pod in snapshot.inventory.pods] == ["default/web-1"]
        assert (snapshot.name, snapshot.captured_at_ns) == ("a", NOW_NS)
        assert snapshot.evidence.settings.preference_policy == "Ignore"
        result = snapshot.evidence.instance_types or ()
        assert [msgspec.structs.astuple(item) for item in result] == [msgspec.structs.astuple(item) for item in types]
        assert not snapshot.unknown_kinds
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()) == (tmp_path / "a.json").read_bytes()


def test_only_the_owner_may_read_a_recording_and_no_temporary_file_is_left(tmp_path: Path) -> None:
    write_recording({"karptui": 1}, tmp_path / "a.json")
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_writing_neither_replaces_a_file_unasked_nor_creates_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("mine")
    with pytest.raises(SnapshotError, match="exists already; --force replaces it"):
        write_recording({}, tmp_path / "a.json")
    with pytest.raises(SnapshotError, match="cannot be written: No such file or directory"):
        write_recording({}, tmp_path / "none" / "a.json")
    write_recording({}, tmp_path / "a.json", may_replace=True)
    assert (tmp_path / "a.json").read_text() == "{}"


def test_kinds_that_could_not_be_listed_stay_unread_in_a_recording(tmp_path: Path) -> None:
    document = build_recording(
        [RECORDED_POD], name="a", captured_at_ns=NOW_NS, unread={"StorageClass", "PersistentVolume", "Pod"}
    )
    assert document["unread"] == ["PersistentVolume", "Pod", "StorageClass"]
    write_recording(document, tmp_path / "a.json")
    assert SnapshotReader().read([tmp_path / "a.json"]).inventory.unread == {"PersistentVolume", "StorageClass"}
