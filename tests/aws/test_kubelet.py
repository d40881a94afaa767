from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.kubelet import expression_results, expressions, failures
from karptui.aws.kubelet_rules import parse_problem, rule_breaks
from karptui.aws.nodeclass import NodeClassError
from karptui.aws.user_data import kubelet_settings, refused_labels, user_data_settings
from karptui.karpenter.settings import Settings, parse_settings
from tests.aws.builders import a_nodeclass, resolve

GATE = parse_settings({"AWS_FEATURE_GATES": "NodeClassCEL=true"}, "v1.15.1")
GATE_OFF = parse_settings({}, "v1.15.1")
NODE_CONFIG = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config:
      maxPods: 42
      kubeReserved: {memory: 9Gi, cpu: 100m}
    flags:
      - --node-labels=a=b
      - --max-pods=43
"""
MIME = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: text/x-shellscript; charset="us-ascii"

#!/bin/bash
# --max-pods=1 stays a remark
echo "$(jq '.maxPods=58' /etc/kubernetes/kubelet/config.json)"

--//
Content-Type: application/node.eks.aws

kind: NodeConfig
spec:
  kubelet:
    config:
      evictionHard:
        memory.available: 5%

--//--
"""
AL2_SCRIPT = """\
#!/bin/bash
/etc/eks/bootstrap.sh demo --use-max-pods false --kubelet-extra-args '--max-pods=110 \\
  --kube-reserved=cpu=250m,memory=1Gi --eviction-hard="memory.available<500Mi,nodefs.available<10%"'
"""
BOTTLEROCKET = """\
[settings.kubernetes]
max-pods = 30
[settings.kubernetes.kube-reserved]
memory = "2Gi"
[settings.kubernetes.eviction-hard]
"memory.available" = "20%"
"""


def pods_and_reserved(settings: Settings, **kubelet: Any) -> tuple[int, dict[str, str]]:
    """Return pods and reservations of an m5.large (2 vCPUs, 8192 MiB, 3 interfaces of 10 addresses, 29 pods)."""
    result = resolve("m5.large", a_nodeclass(kubelet=kubelet), settings)
    return result.capacity["pods"].units, {key: str(value) for key, value in result.overhead.kube_reserved.items()}


@pytest.mark.parametrize(("expression", "pods"), [
    ("42", 42),
    ("min(20, max_pods)", 20),
    ("max(double(vcpus), 3.9)", 3),
    ("min(3, 3.5) > 3.0 ? 1 : 2", 2),
    ("default_enis * (ips_per_eni - 1) + 2", 29),
    ("instance_type.startsWith('m5.') ? memory_mib / 1024 : 0", 8),
])  # fmt: skip
def test_max_pods_is_the_result_of_the_expression(expression: str, pods: int) -> None:
    assert pods_and_reserved(GATE, maxPods=expression)[0] == pods


def test_a_failing_or_negative_amount_keeps_the_default() -> None:
    default = pods_and_reserved(GATE)[1]
    for expression in ("vcpus / (vcpus - 2)", "1 - vcpus", "no such thing"):
        assert pods_and_reserved(GATE, kubeReserved={"cpu": expression})[1] == default


def test_results_include_their_expressions() -> None:
    kubelet = {"maxPods": "min(20, max_pods)", "kubeReserved": {"cpu": "vcpus * 31", "memory": "1 / 0", "pid": "9"}}
    facts = instance_type_facts()["m5.large"]
    assert expression_results(facts, a_nodeclass(kubelet=kubelet), GATE) == {
        "maxPods": "20 = min(20, max_pods)",
        "kubeReserved[cpu]": "70m = vcpus * 31",
        "kubeReserved[memory]": "1 / 0: no result, the default applies",
    }
    off = expression_results(facts, a_nodeclass(kubelet=kubelet), GATE_OFF)
    assert off["maxPods"] == "min(20, max_pods): not used, NodeClassCEL is off"
    assert expression_results(facts, a_nodeclass(kubelet={"maxPods": "-1"}), GATE)["maxPods"].endswith(
        "no instance types"
    )
    assert expression_results(facts, a_nodeclass(kubelet=kubelet), parse_settings({}, "v1.14.1")) == {}


@pytest.mark.parametrize("expression", ["1 - vcpus", "memory_mib * 1000000", "vcpus / 0", "vcpus * 1.5", "max(1,"])
def test_max_pods_without_a_result_leaves_no_types(expression: str) -> None:
    with pytest.raises(NodeClassError, match=r"spec\.kubelet\.maxPods: .* finds no instance types"):
        resolve("m5.large", a_nodeclass(kubelet={"maxPods": expression}), GATE)


def test_failures_include_their_position() -> None:
    kubelet = {
        "maxPods": "max_pods / 2",
        "kubeReserved": {"cpu": "100 - max_pods * 30", "memory": "1Gi"},
        "systemReserved": {"memory": "memory_mib / (vcpus - 2)"},
    }
    nodeclass = a_nodeclass(kubelet=kubelet)
    assert set(expressions(nodeclass.kubelet)) == {"maxPods", "kubeReserved[cpu]", "systemReserved[memory]"}
    texts = failures(instance_type_facts()["m5.large"], nodeclass, GATE)
    assert texts["kubeReserved[cpu]"] == "100 - max_pods * 30 is -320: an amount cannot be negative"
    assert "has no result on m5.large" in texts["systemReserved[memory]"]
    assert set(texts) == {"kubeReserved[cpu]", "systemReserved[memory]"}
    assert failures(instance_type_facts()["m5.large"], a_nodeclass(kubelet={"maxPods": "-1"}), GATE) == {
        "maxPods": "is -1, must be from 0 to 2147483647"
    }


def _refused(text: str, field: str, kind: str, reader: str = "KubeletConfiguration") -> str:
    return f"json: cannot unmarshal {text} into Go struct field {reader}.{field} of type {kind}"


def _unread(text: str, field: str, kind: str) -> str:
    return _refused(text, field, kind, "ParsedKubeletConfig")


@pytest.mark.parametrize(("kubelet", "refusal", "unread"), [
    ({"cpuCFSQuota": 1}, _refused("number", "cpuCFSQuota", "bool"), _unread("number", "cpuCFSQuota", "bool")),
    ({"podsPerCore": "4", "shutdownGracePeriod": -1}, _refused("number", "shutdownGracePeriod", "string"),
     _unread("string", "podsPerCore", "int32")),
    ({"evictionMaxPodGracePeriod": "x", "maxPods": [1]}, _refused("string", "evictionMaxPodGracePeriod", "int32"),
     _unread("array", "maxPods", "int32")),
    ({"evictionSoftGracePeriod": 7}, _refused("number", "evictionSoftGracePeriod", "map[string]string"),
     _unread("number", "evictionSoftGracePeriod", "map[string]v1.Duration")),
    ({"shutdownGracePeriod": None}, 'time: invalid duration ""', ""),
    ({"MaxPods": [1], "maxPods": 5}, 'unknown field "MaxPods"', _unread("array", "maxPods", "int32")),
])  # fmt: skip
def test_error_of_a_types_decoder_takes_precedence(kubelet: dict[str, Any], refusal: str, unread: str) -> None:
    """Follows ValidateKubeletConfig and ParseKubeletConfig of pkg/apis/v1, v1.15.1."""
    assert rule_breaks(kubelet) == (f"spec.kubelet: {refusal}",)
    assert parse_problem(kubelet) == unread


def facts(user_data: str | None, **spec: Any) -> list[str]:
    extra: dict[str, Any] = {} if user_data is None else {"userData": user_data}
    return [finding.fact for finding in user_data_settings(a_nodeclass(**extra, **spec))]


def test_a_node_config() -> None:
    texts = facts(NODE_CONFIG)
    enis = "the limit of the type's network interfaces"
    text = "which Karpenter ignores"
    overwritten = f"Karpenter overrides it on the node and assumes {enis}"
    outweighed = f"the flag overrides Karpenter's value on the node, but Karpenter assumes {enis}"
    differs = "nodes may have less or more allocatable than Karpenter assumes"
    assert texts == [
        f"userData sets maxPods 42 (NodeConfig), {text}: {overwritten}.",
        f"userData sets maxPods 43 (NodeConfig flags --max-pods), {text}: {outweighed}.",
        f"userData sets kubeReserved memory 9Gi, cpu 100m (NodeConfig), {text}: {differs}.",
    ]


@pytest.mark.parametrize(("user_data", "alias", "parts"), [
    (MIME, "al2023@latest",
     ("maxPods 58 (a script that edits the kubelet's configuration)", "evictionHard memory.available 5% (NodeConfig)")),
    (AL2_SCRIPT, "al2@latest",
     ("maxPods 110 (kubelet flags --max-pods)", "kubeReserved cpu 250m, memory 1Gi",
      "evictionHard memory.available 500Mi, nodefs.available 10%")),
    (BOTTLEROCKET, "bottlerocket@latest",
     ("maxPods 30 (settings.kubernetes)", "kubeReserved memory 2Gi", "evictionHard memory.available 20%")),
], ids=["each MIME part by its type", "kubelet flags in a shell script", "settings of Bottlerocket"])  # fmt: skip
def test_settings_of_each_format(user_data: str, alias: str, parts: tuple[str, ...]) -> None:
    for text, part in zip(facts(user_data, alias=alias), parts, strict=True):
        assert part in text


def test_reservations_of_a_custom_image_are_compared() -> None:
    script = "kubelet --kube-reserved=memory=1Gi,cpu=100m --pods-per-core=4"
    assert (
        facts(
            script, amiFamily="Custom", kubelet={"kubeReserved": {"memory": "1024Mi", "cpu": "100m"}, "podsPerCore": 4}
        )
        == []
    )
    (text,) = facts(
        script, amiFamily="Custom", kubelet={"kubeReserved": {"memory": "2Gi", "cpu": "0.1"}, "podsPerCore": 4}
    )
    assert "kubeReserved memory 1Gi (kubelet flags --kube-reserved)" in text
    assert "; spec.kubelet.kubeReserved is memory 2Gi:" in text
    (unreadable,) = facts(
        "kubelet --system-reserved=memory=lots", amiFamily="Custom", kubelet={"systemReserved": {"memory": "1Gi"}}
    )
    assert "systemReserved memory lots" in unreadable


@pytest.mark.parametrize(("user_data", "spec"), [
    (None, {}),
    ("", {}),
    ("#!/bin/bash\n# --max-pods=5\nyum install -y htop\n", {}),
    ("kind: NodeConfig\nspec: {instance: {localStorage: {strategy: RAID0}}}\n", {}),
    ("kind: NodeConfig\nspec: {kubelet: {config: {maxPods: 42}}}\n", {"kubelet": {"maxPods": 42}}),
    ("kind: NodeConfig\nspec: {kubelet: {config: {kubeReserved: {memory: 9Gi}}}}\n",
     {"kubelet": {"kubeReserved": {"memory": "1Gi"}}}),
    ("[settings.host-containers.admin]\nenabled = true\n", {"alias": "bottlerocket@latest"}),
    ("spec: [not, a, mapping]", {}),
    ("kind: NodeConfig\nspec: {kubelet: {config: {maxPods: true}, flags: none}}\n", {}),
    ("kubelet --eviction-hard=memory.available", {}),
    ("MIME-Version: 1.0\nContent-Type: text/plain; charset=no-such-thing\n\nhello\n", {}),
    ("a: &a [*a]\nb: ]", {}),
])  # fmt: skip
def test_user_data_without_findings(user_data: str | None, spec: dict[str, Any]) -> None:
    assert facts(user_data, **spec) == []


@given(
    st.text()
    | st.sampled_from([NODE_CONFIG, MIME, AL2_SCRIPT, BOTTLEROCKET]).flatmap(
        lambda t: st.permutations(t.splitlines()).map("\n".join)
    )
)
def test_any_text_is_accepted(user_data: str) -> None:
    assert all(setting.field and setting.place for setting in kubelet_settings(user_data))


def test_endless_nesting_gives_no_settings() -> None:
    assert kubelet_settings("[" * 100_000) == ()
    assert kubelet_settings("a = " + "[" * 100_000) == ()


@pytest.mark.parametrize(("user_data", "labels"), [
    (NODE_CONFIG, ()),
    (NODE_CONFIG.replace("a=b", "a=b,node-role.kubernetes.io/batch=true"), ("node-role.kubernetes.io/batch",)),
    ("/etc/eks/bootstrap.sh c --kubelet-extra-args '--node-labels=kops.k8s.io/x=y --v=2'", ("kops.k8s.io/x",)),
    ("# --node-labels=kubernetes.io/role=x\n--node-labels=node.kubernetes.io/x=y,kubernetes.io/os=linux", ()),
    ('[settings.kubernetes.node-labels]\n"kubernetes.io/role" = "x"\n"x.io/y" = "z"', ("kubernetes.io/role",)),
    ("--node-labels=sub.node.kubernetes.io/x=y,mykubernetes.io/x=y", ()),
])  # fmt: skip
def test_labels_with_which_the_kubelet_does_not_start(user_data: str, labels: tuple[str, ...]) -> None:
    assert refused_labels(user_data) == labels
