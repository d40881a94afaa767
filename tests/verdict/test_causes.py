"""Each cause of the verdict: the facts that make it a finding, the pods that it explains, and when it stays silent."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.advice.finding import Finding, Severity
from karptui.advice.report import AdviceReport
from karptui.aws.launch_refusals import LaunchRefusal
from karptui.disruption.analysis import Analysis, NodeFindings
from karptui.disruption.churn.loops import Loop, LoopKind
from karptui.disruption.codes import Blocker, Code, WhyCode
from karptui.disruption.lanes import Why
from karptui.karpenter.instance_type import NodeOverlay
from karptui.karpenter.labels import RESERVATION_ID
from karptui.karpenter.nodeclass import NodeClass, NodeClassRef
from karptui.kube.objects import Condition, Event
from karptui.kube.taints import Taint, Toleration
from karptui.kube.timestamps import format_second
from karptui.kube.workload import DaemonSet
from karptui.pending.causes import Cause
from karptui.verdict.advice import advice_findings, with_unreported
from karptui.verdict.case import Controller, LimitLine, PendingLine, StartingPod, VerdictCase, VerdictNode
from karptui.verdict.creation import read_refusal
from karptui.verdict.finding import ClusterFinding, ControllerPod, FindingCode, FindingSeverity, Manner
from karptui.verdict.verdict import verdict_of
from karptui.views.verdict.sentence import sentence
from karptui.whatif.edits import ObjectRef
from tests.builders import (
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pod_template,
    amounts,
    an_event,
)

TEAM = Taint("team", "NoSchedule", "a")
WEB = PendingLine("shop/web-* (2)", ("shop/web-a", "shop/web-b"), NOW_NS - 3 * MINUTE_NS, "k", cause=Cause.UNPLACED)


def findings(**given: Any) -> dict[FindingCode, ClusterFinding]:
    return {finding.code: finding for finding in verdict_of(VerdictCase(now_ns=NOW_NS, **given))}


def a_line(name: str, *, zone: str = "us-east-1a", minutes: int = 600, **given: Any) -> VerdictNode:
    claim = a_nodeclaim(name=f"c-{name}", created_ns=NOW_NS - minutes * MINUTE_NS, node_name=name)
    return VerdictNode(**{"name": name, "pool": "general", "claim": claim, "has_node": True, "zone": zone, **given})


def text(finding: ClusterFinding) -> str:
    return sentence(finding, NOW_NS, {})


CRASHING = ControllerPod(key="kube-system/karpenter-a", is_ready=False, waiting_reason="CrashLoopBackOff",
                         exit_reason="OOMKilled", restarts=11, since_ns=NOW_NS - 35 * MINUTE_NS)  # fmt: skip


def test_karpenter_that_is_down_explains_pending_pods_and_has_no_next_command() -> None:
    controller = Controller(pods=(CRASHING, CRASHING), replicas=2, deployment="kube-system/karpenter")
    by_code = findings(controller=controller, pending=[replace(WEB, cause=Cause.CLAIM)])
    assert list(by_code) == [FindingCode.KARPENTER_DOWN]
    assert text(by_code[FindingCode.KARPENTER_DOWN]) == (
        "Karpenter is not running: 0 of 2 pods ready for 35m (CrashLoopBackOff, last exit OOMKilled, 11 restarts). "
        "No node is launched or removed; 2 pods pending (shop/web-*)"
    )


@pytest.mark.parametrize("cause", [Cause.UNPLACED, Cause.OTHER_SCHEDULER])
def test_karpenter_that_is_down_does_not_explain_pods_that_it_could_not_help(cause: Cause) -> None:
    controller = Controller(pods=(CRASHING, CRASHING), replicas=2, deployment="kube-system/karpenter")
    by_code = findings(controller=controller, pending=[replace(WEB, cause=cause)])
    assert list(by_code) == [FindingCode.KARPENTER_DOWN, FindingCode.PENDING]
    assert not by_code[FindingCode.KARPENTER_DOWN].pending.pods


@pytest.mark.parametrize(("stage", "is_explained"), [("Launched", True), ("Registered", False), ("Initialized", True)])
def test_karpenter_that_is_down_does_not_explain_pods_that_wait_for_registered_nodes(
    stage: str, *, is_explained: bool
) -> None:
    line = VerdictNode("n", "general", a_nodeclaim(node="n", stage=stage), has_node=True)
    waiting = replace(WEB, cause=Cause.NODE, nodes=frozenset({"n", "general-abcde"}))
    down = findings(controller=Controller(pods=(CRASHING,)), nodes=[line], pending=[waiting])[
        FindingCode.KARPENTER_DOWN
    ]
    assert bool(down.pending.pods) is is_explained


@pytest.mark.parametrize(("suits", "code"), [(("old",), FindingCode.POOL_DELETED), ((), FindingCode.PENDING)])
def test_a_deleted_pool_explains_only_pods_that_it_suits(suits: tuple[str, ...], code: FindingCode) -> None:
    pool = replace(a_nodepool(name="old"), deletion_ns=NOW_NS - HOUR_NS)
    waiting = replace(WEB, suited_pools=suits)
    by_code = findings(pools=[pool], nodes=[a_line("n", pool="old")], pending=[waiting])
    finding = by_code[code]
    assert (finding.pending.pods or tuple(ref.removeprefix("Pod/") for ref in finding.objects)) == WEB.pods
    assert (FindingCode.PENDING in by_code) is not bool(suits)


@pytest.mark.parametrize("controller", [
    Controller(),
    Controller(pods=(CRASHING, ControllerPod(key="kube-system/karpenter-b", is_ready=True)), replicas=2),
])  # fmt: skip
def test_karpenter_counts_as_running_if_nothing_shows_it_or_one_pod_is_ready(controller: Controller) -> None:
    assert FindingCode.KARPENTER_DOWN not in findings(controller=controller)


@pytest.mark.parametrize(("holder", "minutes", "has_leader"), [("p", 0, True), ("p", 5, False), ("", 0, False)])
def test_a_lease_without_a_live_holder_means_no_leader(holder: str, minutes: int, *, has_leader: bool) -> None:
    controller = Controller(
        pods=(ControllerPod(key="kube-system/p", is_ready=True),),
        lease_holder=holder,
        lease_renewed_ns=NOW_NS - minutes * MINUTE_NS,
        lease_seen_ns=NOW_NS,
        lease_seconds=15,
    )
    assert (FindingCode.NO_LEADER in findings(controller=controller)) is not has_leader


@pytest.mark.parametrize(("minutes", "manner"), [(5, "unwritten"), (0, ""), (90, "")])
def test_no_leader_anywhere_means_that_the_api_server_may_accept_no_writes(minutes: int, manner: str) -> None:
    controller = Controller(
        pods=(ControllerPod(key="kube-system/p", is_ready=True),),
        lease_holder="p",
        lease_renewed_ns=NOW_NS - 5 * MINUTE_NS,
        lease_seen_ns=NOW_NS,
        lease_seconds=15,
        others_renewed_ns=NOW_NS - minutes * MINUTE_NS,
    )
    assert findings(controller=controller)[FindingCode.NO_LEADER].manner == manner


def failed_create(message: str, *, minutes: int = 1) -> Event:
    return replace(
        an_event(about="ReplicaSet/shop/web-1", reason="FailedCreate", message=message),
        first_ns=NOW_NS - 13 * MINUTE_NS,
        last_ns=NOW_NS - minutes * MINUTE_NS,
    )


@pytest.mark.parametrize(("message", "manner", "name", "reason"), [
    (('Error creating: Internal error occurred: failed calling webhook "v.gate.sh": failed to call webhook: Post '
      '"https://gate.sys.svc:443/v1/admit?timeout=3s": no endpoints available for service "gate"'),
     Manner.WEBHOOK_FAILS, "v.gate.sh", "no endpoints for service gate"),
    (('Error creating: Internal error occurred: failed calling webhook "m.kyverno.svc": failed to call webhook: Post '
      '"https://k.svc:443/mutate": context deadline exceeded'),
     Manner.WEBHOOK_FAILS, "m.kyverno.svc", "context deadline exceeded"),
    ('Error creating: admission webhook "policy.sh" denied the request: image has no digest', Manner.WEBHOOK_DENIES,
     "policy.sh", "image has no digest"),
    ('Error creating: pods "web-1-x" is forbidden: exceeded quota: team, requested: pods=1, used: pods=9', Manner.QUOTA,
     "team", "requested: pods=1, used: pods=9"),
    ('Error creating: pods "web-1-x" is forbidden: maximum cpu usage per Container is 4, but limit is 8', Manner.LIMIT,
     "", "maximum cpu usage per Container is 4, but limit is 8"),
])  # fmt: skip
def test_the_error_that_keeps_pods_from_being_created_is_named(
    message: str, manner: Manner, name: str, reason: str
) -> None:
    assert read_refusal(message) == (manner, name, reason)
    created = findings(events=[failed_create(message)])[FindingCode.PODS_NOT_CREATED]
    assert (created.names, created.severity) == ((name or reason, "shop/web-1"), FindingSeverity.ERROR)
    assert FindingCode.PODS_NOT_CREATED not in findings(events=[failed_create(message, minutes=40)])


UNPULLED = "image registry.example/shop/web:7 cannot be pulled"


def starting(name: str, reason: str, *, minutes: int = 12) -> StartingPod:
    image = "registry.example/shop/web:7"
    return StartingPod(f"shop/web-{name}", "n1", NOW_NS - minutes * MINUTE_NS, reason, image, "Deployment/shop/web")


@pytest.mark.parametrize(("waiting", "event", "result"), [
    ("ContainerCreating", ("FailedMount", 'MountVolume.SetUp failed for volume "tls" : secret "tls" not found'),
     'FailedMount: secret "tls" not found'),
    ("ErrImagePull", ("Failed", "Error: ErrImagePull"), f"{UNPULLED}: ErrImagePull"),
    ("ImagePullBackOff", ("Pulled", "x"), f"{UNPULLED}: ImagePullBackOff"),
    ("ImagePullBackOff", ("Failed", "Failed to pull image: no match for platform in manifest"),
     "image registry.example/shop/web:7 has no build for linux/arm64, the platform of that node"),
    ("CreateContainerConfigError", ("Failed", 'Error: configmap "env" not found'),
     'CreateContainerConfigError: configmap "env" not found'),
])  # fmt: skip
def test_pods_that_do_not_start_are_one_finding_for_each_reason(
    waiting: str, event: tuple[str, str], result: str
) -> None:
    pods = [starting("a", waiting), starting("b", waiting), starting("late", waiting, minutes=2)]
    events = [an_event(name=pod.key, about=f"Pod/{pod.key}", reason=event[0], message=event[1]) for pod in pods]
    node = replace(a_node(name="n1"), architecture="arm64")
    finding = findings(starting=pods, events=events, nodes=[a_line("n1", node=node)])[FindingCode.PODS_NOT_STARTING]
    assert text(finding) == f"2 pods shop/web-* on node n1 have not started for 12m: {result}"
    down = findings(starting=pods, events=events, nodes=[a_line("n1", not_ready_ns=NOW_NS)])
    assert FindingCode.PODS_NOT_STARTING not in down


def a_nodeclass(*conditions: Condition) -> NodeClass:
    return NodeClass(name="default", group="karpenter.k8s.aws", kind="EC2NodeClass", conditions=conditions)


def test_a_nodeclass_that_is_not_ready_is_the_cause_of_its_nodepools_and_their_pods() -> None:
    pool = a_nodepool(is_ready=False)
    key = pool.node_class_ref.key
    ami = a_condition("AMIsReady", status="False", message="no AMI matches", since_ns=NOW_NS - HOUR_NS)
    ready = a_condition("Ready", status="False", message="AMIsReady=False")
    waiting = PendingLine("shop/web-*", ("shop/web-a",), NOW_NS, cause=Cause.NO_POOL)
    by_code = findings(pools=[pool], nodeclasses={key: a_nodeclass(ami, ready)}, pending=[waiting])
    assert list(by_code) == [FindingCode.NODECLASS_NOT_READY]
    finding = by_code[FindingCode.NODECLASS_NOT_READY]
    assert (finding.detail, finding.pending.pods) == ("AMIsReady: no AMI matches", ("shop/web-a",))
    not_found = replace(pool, conditions=(a_condition("NodeClassReady", status="False", reason="NodeClassNotFound"),))
    missing = findings(pools=[not_found])[FindingCode.NODECLASS_NOT_READY]
    assert text(missing).endswith("does not exist: NodePool general launches no nodes")
    assert FindingCode.NODECLASS_NOT_READY not in findings(pools=[pool])


def test_of_several_nodeclasses_that_are_not_ready_each_explains_the_pods_that_its_nodepools_suit() -> None:
    refs = {name: NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", name) for name in ("a", "b")}
    missing = (a_condition("NodeClassReady", status="False", reason="NodeClassNotFound"),)
    pools = [
        replace(a_nodepool(name=name, is_ready=False), node_class_ref=ref, conditions=missing)
        for name, ref in refs.items()
    ]
    waiting = [PendingLine(name, (name,), NOW_NS, cause=Cause.NO_POOL, suited_pools=(name,)) for name in ("b", "a")]
    told = verdict_of(VerdictCase(now_ns=NOW_NS, pools=pools, pending=waiting))
    assert [f.pending.pods for f in told if f.code is FindingCode.NODECLASS_NOT_READY] == [("a",), ("b",)]


@pytest.mark.parametrize(("seconds", "is_told"), [(20, False), (200, True)])
def test_a_changed_nodeclass_is_not_ready_while_karpenter_checks_it(seconds: int, *, is_told: bool) -> None:
    pool, since_ns = a_nodepool(is_ready=False), NOW_NS - seconds * 1_000_000_000
    unknown = a_condition("Ready", status="Unknown", message="object is awaiting reconciliation", since_ns=since_ns)
    by_code = findings(pools=[pool], nodeclasses={pool.node_class_ref.key: a_nodeclass(unknown)})
    assert (FindingCode.NODECLASS_NOT_READY in by_code) is is_told


def test_a_zone_whose_nodes_are_all_not_ready_is_one_finding_with_its_pods_and_volumes() -> None:
    since = NOW_NS - 4 * MINUTE_NS
    nodes = [a_line(f"b{i}", zone="us-east-1b", not_ready_ns=since) for i in range(4)]
    database = PendingLine("db/db-0", ("db/db-0",), since, cause=Cause.UNPLACED, zones=frozenset({"us-east-1b"}))
    by_code = findings(nodes=[*nodes, a_line("a")], pending=[WEB, database])
    assert FindingCode.PENDING not in by_code
    assert text(by_code[FindingCode.ZONE_NOT_READY]) == (
        "Zone us-east-1b: 4 of 4 Karpenter nodes have not been ready for 4m; 3 pods pending (shop/web-* (2), db/db-0); "
        "the volume of db/db-0 is in us-east-1b"
    )
    partly = findings(nodes=[*nodes, a_line("b9", zone="us-east-1b")])
    assert FindingCode.ZONE_NOT_READY not in partly
    assert partly[FindingCode.UNHEALTHY].zones == ("us-east-1b",)


def interruption(name: str, seconds: int = 90, reason: str = "SpotInterrupted", kind: str = "NodeClaim") -> Event:
    instant = NOW_NS - seconds * 1_000_000_000
    event = an_event(name=f"e-{name}-{reason}", about=f"{kind}/{name}", reason=reason, last_ns=instant)
    return replace(event, first_ns=instant)


def test_a_wave_is_called_spot_only_if_all_its_nodes_are() -> None:
    nodes = [
        a_line(f"n{i}", capacity_type="spot" if i < 3 else "on-demand", slow_pods=(f"video/encode-{i}",))
        for i in range(5)
    ]
    stopped = [interruption(f"c-n{i}", reason="TerminatingOnInterruption") for i in (3, 4)]
    wave = findings(nodes=nodes, events=[*(interruption(f"c-n{i}") for i in range(3)), *stopped])
    assert text(wave[FindingCode.INTERRUPTED]).startswith("5 of 5 nodes in NodePool general were interrupted")
    assert wave[FindingCode.INTERRUPTED].pods == 3


def test_each_annotation_without_effect_is_named_with_its_pods() -> None:
    ends = {"n1": 12, "n2": 15, "n3": 20}
    lines = [
        VerdictNode(
            name,
            "ml",
            a_nodeclaim(name=name, node=name, created_ns=NOW_NS, expire_after_ns=minutes * MINUTE_NS),
            has_node=True,
            unread_pods=(f"ml/{name}",),
            unread_annotation="old" if name == "n1" else "safe",
        )
        for name, minutes in ends.items()
    ]
    unread = [text(f) for f in verdict_of(VerdictCase(now_ns=NOW_NS, nodes=lines)) if f.manner is Manner.UNREAD]
    safe = "the first (n2) in 15m: Karpenter does not read their annotation safe"
    assert unread == [
        "ml/n1 is not protected when node n1 expires in 12m: Karpenter does not read its annotation old",
        f"ml/* (2) are not protected when their nodes expire, {safe}",
    ]


def test_pods_whose_grace_period_is_cut_short_on_several_nodes_are_all_named() -> None:
    lines = [
        VerdictNode(
            name,
            "ml",
            a_nodeclaim(
                name=name, node=name, deletion_ns=NOW_NS - MINUTE_NS, termination_grace_period_ns=minutes * MINUTE_NS
            ),
            has_node=True,
            deleted_ns=NOW_NS - MINUTE_NS,
            cut_pods=(f"ml/{name}",),
        )
        for name, minutes in {"n1": 6, "n2": 9}.items()
    ]
    [cut] = [text(f) for f in verdict_of(VerdictCase(now_ns=NOW_NS, nodes=lines)) if f.manner is Manner.OWN_GRACE]
    assert cut == (
        "ml/* (2) will be killed, the first by 12:05 UTC (in 5m): their nodes are draining, and the first (node n1)'s "
        "terminationGracePeriod of 6m is shorter than their own"
    )


def test_the_workload_with_most_pending_pods_is_named_first() -> None:
    lines = [
        PendingLine(
            f"{name}/web-* ({count})", tuple(f"{name}/web-{n}" for n in range(count)), NOW_NS, cause=Cause.CLAIM
        )
        for name, count in (("a", 2), ("b", 5))
    ]
    down = findings(controller=Controller(pods=(CRASHING,)), pending=lines)[FindingCode.KARPENTER_DOWN]
    assert down.pending.names == ("b/web-* (5)", "a/web-* (2)")


def test_a_wave_of_interruptions_is_one_finding_and_a_single_one_is_no_alarm() -> None:
    nodes = [a_line(f"n{i}", capacity_type="spot") for i in range(6)]
    wave = findings(nodes=nodes, events=[interruption(f"c-n{i}") for i in range(3)], pending=[WEB])
    finding = wave[FindingCode.INTERRUPTED]
    assert (finding.nodes, finding.of_nodes, finding.severity) == (3, 6, FindingSeverity.ERROR)
    others = [a_line(f"o{i}", pool="gpu", capacity_type="spot") for i in range(30)]
    apart = findings(nodes=[*nodes, *others], events=[interruption(f"c-n{i}") for i in range(3)])
    assert text(apart[FindingCode.INTERRUPTED]).startswith("3 of 6 spot nodes in NodePool general were interrupted")
    single = findings(nodes=nodes, events=[interruption("c-n1")])[FindingCode.INTERRUPTED]
    assert single.severity is FindingSeverity.INFO
    assert FindingCode.INTERRUPTED not in findings(nodes=nodes, events=[interruption("c-n1", 3600)])


def ended(name: str, *more: Event) -> tuple[Event, ...]:
    reasons = ("InstanceTerminating", "TerminatingOnInterruption")
    return (*(interruption(name, reason=reason) for reason in reasons), *more)


def test_instances_that_end_otherwise_are_no_interruptions() -> None:
    waiting = PendingLine("batch/etl-1", ("batch/etl-1",), NOW_NS, cause=Cause.CLAIM, pools=("general",))
    events, pools = [*ended("general-aaaaa"), *ended("general-bbbbb")], [a_nodepool()]
    by_code = findings(pools=pools, events=events, pending=[waiting])
    assert list(by_code) == [FindingCode.CLAIM_STUCK]
    assert text(by_code[FindingCode.CLAIM_STUCK]) == (
        "2 instances of general ended before they became nodes (in 90s, last 90s ago): "
        "see their StateReason in EC2; 1 pod pending (batch/etl-1)"
    )
    of_node = interruption("n1", reason="InstanceTerminating", kind="Node")
    assert FindingCode.INTERRUPTED in findings(pools=pools, events=[*events, of_node])
    events = [interruption(f"c-n{i}", reason="InstanceTerminating") for i in range(4)]
    assert FindingCode.INTERRUPTED not in findings(nodes=[a_line(f"n{i}") for i in range(4)], events=events)


def test_the_cluster_autoscaler_is_named_if_it_serves_the_same_pods() -> None:
    pods = ["shop/web-1-aaaaa", "shop/web-1-bbbbb"]
    scaled = [an_event(name=f"s{pod}", about=f"Pod/{pod}", reason="TriggeredScaleUp", last_ns=NOW_NS) for pod in pods]
    nominated = [an_event(name=f"n{pod}", about=f"Pod/{pod}", reason="Nominated", last_ns=NOW_NS) for pod in pods]
    assert text(findings(events=[*scaled, *nominated])[FindingCode.TWO_AUTOSCALERS]) == (
        "Cluster Autoscaler and Karpenter both add nodes for the same pods: 2 pods (shop/web-1-*) in the last hour, "
        "last 0s ago"
    )
    assert FindingCode.TWO_AUTOSCALERS not in findings(events=[*scaled, *nominated[:0]])


def test_pods_that_the_cluster_autoscaler_adds_a_node_for_are_no_finding_for_a_while() -> None:
    event = an_event(name="s", about="Pod/shop/web-a", reason="TriggeredScaleUp", last_ns=NOW_NS)
    of_one = replace(WEB, owner="Deployment/shop/web")
    late = replace(of_one, since_ns=NOW_NS - 16 * MINUTE_NS)
    all_pods = replace(WEB, name="", group="")
    for waiting, is_found in ((of_one, False), (late, True), (all_pods, True)):
        assert (FindingCode.PENDING in findings(events=[event], pending=[waiting])) is is_found


def refusal(name: str, minutes: int, **given: Any) -> LaunchRefusal:
    usual: dict[str, Any] = {
        "nodepool": "batch",
        "error_code": "InsufficientInstanceCapacity",
        "instance_types": ("c7i.4xlarge",),
        "zones": ("us-east-1a",),
        "capacity_types": ("spot",),
    }
    instant = NOW_NS - minutes * MINUTE_NS
    return LaunchRefusal(
        **{**usual, "nodeclaim": name, "message": "m", "first_ns": instant, "last_ns": instant, **given}
    )


@pytest.mark.parametrize(("kinds", "named"), [(("spot",), "c7i.4xlarge spot"), (("on-demand", "spot"), "c7i.4xlarge")])
def test_refused_launches_are_one_finding_for_each_nodepool_and_explain_its_pods(
    kinds: tuple[str, ...], named: str
) -> None:
    """A launch asks for one capacity type: the message does not say which of two."""
    waiting = PendingLine("batch/etl-*", ("batch/etl-1",), NOW_NS, cause=Cause.UNPLACED, pools=("batch",))
    by_code = findings(refusals=[refusal("b-1", 17), refusal("b-2", 1, capacity_types=kinds)], pending=[waiting])
    assert list(by_code) == [FindingCode.LAUNCH_REFUSED]
    assert text(by_code[FindingCode.LAUNCH_REFUSED]) == (
        "EC2 refused 2 launches of batch in 17m, last 60s ago: insufficient capacity in EC2 "
        f"({named}; us-east-1a); 1 pod pending (batch/etl-*)"
    )
    assert FindingCode.LAUNCH_REFUSED not in findings(refusals=[refusal("b-1", 17)])


def test_only_spread_keys_that_all_pods_have_are_named() -> None:
    waiting = PendingLine("a", ("a/a",), NOW_NS, cause=Cause.UNPLACED, pools=("batch",), spread_keys=("zone", "rack"))
    others = replace(waiting, name="b", pods=("b/b",), spread_keys=("zone",))
    by_code = findings(refusals=[refusal("b-1", 1)], pending=[waiting, others])
    assert by_code[FindingCode.LAUNCH_REFUSED].pending.spread_keys == ("zone",)


def test_pods_that_a_limit_holds_back_belong_to_the_limit() -> None:
    limit = LimitLine("general", "cpu 76 of 80", resource="cpu", is_open=True)
    waiting = PendingLine("shop/web-*", ("shop/web-a",), NOW_NS, "k", cause=Cause.UNPLACED, limited_pool="general")
    by_code = findings(limits=[limit], pending=[waiting])
    assert list(by_code) == [FindingCode.POOL_AT_LIMIT]
    assert by_code[FindingCode.POOL_AT_LIMIT].manner is Manner.LIMIT
    assert FindingCode.POOL_AT_LIMIT not in findings(limits=[limit])


def test_a_daemonset_whose_pods_do_not_fit_is_the_cause_of_pods_next_to_it() -> None:
    agent = PendingLine("ops/agent-*", ("ops/agent-1", "ops/agent-2"), NOW_NS - HOUR_NS, cause=Cause.DAEMON,
                        owner="DaemonSet/ops/agent", requests=amounts({"cpu": "1500m"}))  # fmt: skip
    daemonsets = ("DaemonSet/ops/agent",)
    web = PendingLine("shop/web-*", ("shop/web-a",), NOW_NS, cause=Cause.UNPLACED, daemonsets=daemonsets)
    by_code = findings(pending=[agent, web])
    assert list(by_code) == [FindingCode.DAEMONSET_PENDING]
    finding = by_code[FindingCode.DAEMONSET_PENDING]
    assert (finding.pods, finding.pending.pods) == (2, web.pods)


def test_the_overlay_that_promises_a_missing_resource_is_named() -> None:
    joined = a_condition("Registered", since_ns=NOW_NS - 34 * MINUTE_NS)
    claim = a_nodeclaim(node_name="n", conditions=(joined,), requests=amounts({"devices/fuse": "1"}))
    node = VerdictNode("n", "general", claim, has_node=True, node=a_node(name="n"))
    overlays = [NodeOverlay(name=name, capacity=amounts({f"devices/{name}": "8"})) for name in ("fuse", "kvm")]
    result = text(findings(nodes=[node], overlays=overlays)[FindingCode.NOT_INITIALIZED])
    assert result.endswith("missing resource devices/fuse, which NodeOverlay fuse promises")


@pytest.mark.parametrize(("name", "taints", "tolerated", "end"), [
    ("fsx-csi", (TEAM,), ("fsx.csi/agent",), ", and DaemonSet k/fsx-csi does not tolerate team=a:NoSchedule"),
    ("fsx-csi", (TEAM,), ("fsx.csi/agent", "team"), ""),
    ("ebs-csi", (TEAM,), ("fsx.csi/agent",), ""),
    ("fsx-csi", (TEAM,), ("team2",), ""),
    ("fsx-csi", (replace(TEAM, effect="PreferNoSchedule"),), ("fsx.csi/agent",), ""),
])  # fmt: skip
def test_a_daemonset_that_cannot_run_where_it_would_remove_a_startup_taint(
    name: str, taints: tuple[Taint, ...], tolerated: tuple[str, ...], end: str
) -> None:
    startup = Taint("fsx.csi/agent", "NoExecute")
    joined = a_condition("Registered", since_ns=NOW_NS - 34 * MINUTE_NS)
    claim = a_nodeclaim(node_name="n", conditions=(joined,), taints=taints, startup_taints=(startup,))
    node = VerdictNode("n", "general", claim, has_node=True, node=replace(a_node(name="n"), taints=(startup, *taints)))
    template = a_pod_template(tolerations=tuple(Toleration(key, "Exists") for key in tolerated))
    daemonset = DaemonSet(name=name, namespace="k", template=template)
    result = text(findings(nodes=[node], daemonsets=[daemonset])[FindingCode.NOT_INITIALIZED])
    assert result.endswith(f"after 34m: startup taint fsx.csi/agent:NoExecute{end}")


@pytest.mark.parametrize(("owner", "reason", "nodes", "ready", "is_told"), [
    ("DaemonSet/k/aws-node", "CrashLoopBackOff", "nm", "NetworkPluginNotReady", True),
    ("DaemonSet/k/aws-node", "ImagePullBackOff", "nm", "NetworkPluginNotReady", True),
    ("DaemonSet/k/aws-node", "PodInitializing", "nm", "NetworkPluginNotReady", False),
    ("DaemonSet/k/aws-node", "CrashLoopBackOff", "n", "NetworkPluginNotReady", False),
    ("DaemonSet/k/aws-node", "CrashLoopBackOff", "nm", "PLEG is not healthy", False),
    ("DaemonSet/k/falco", "CrashLoopBackOff", "nm", "NetworkPluginNotReady", False),
])  # fmt: skip
def test_the_network_agent_that_fails_on_all_nodes_without_a_network_is_named(
    owner: str, reason: str, nodes: str, ready: str, is_told: bool
) -> None:
    joined = a_condition("Registered", since_ns=NOW_NS - 34 * MINUTE_NS)
    down = Condition(type="Ready", status="False", reason="KubeletNotReady", message=ready)
    lines = [
        VerdictNode(name, "general", a_nodeclaim(name=name, node_name=name, conditions=(joined,)), has_node=True,
                    node=replace(a_node(name=name), conditions=(down,)))
        for name in "nm"
    ]  # fmt: skip
    pods = [StartingPod(f"k/{name}", name, NOW_NS, reason, owner=owner, controller="uid") for name in nodes]
    result = text(findings(nodes=lines, crashing=pods)[FindingCode.NOT_INITIALIZED])
    told = f", and DaemonSet {owner[10:]} does not run there ({reason})"
    assert (told in result) is is_told


@pytest.mark.parametrize(("name", "reason", "obstacle", "is_told"), [
    ("nvidia-device-plugin", "CrashLoopBackOff", 'Resource "nvidia.com/gpu" was requested but not registered', True),
    ("neuron-device-plugin", "CrashLoopBackOff", "aws.amazon.com/neuron", True),
    ("nvidia-device-plugin", "PodInitializing", "nvidia.com/gpu", False),
    ("nvidia-device-plugin", "CrashLoopBackOff", "vpc.amazonaws.com/efa", False),
    ("nvidia-dcgm-exporter", "CrashLoopBackOff", "nvidia.com/gpu", False),
])  # fmt: skip
def test_the_plugin_that_fails_on_nodes_without_its_device_is_named_once(
    name: str, reason: str, obstacle: str, is_told: bool
) -> None:
    joined = a_condition("Registered", since_ns=NOW_NS - 34 * MINUTE_NS)
    waits = Condition(type="Initialized", status="Unknown", reason="ResourceNotRegistered", message=obstacle)
    claim = a_nodeclaim(name="n", node_name="n", conditions=(joined, waits))
    line = VerdictNode("n", "general", claim, has_node=True, node=a_node(name="n"))
    pod = StartingPod("k/p", "n", NOW_NS - HOUR_NS, reason, owner=f"DaemonSet/k/{name}", controller="uid")
    found = findings(nodes=[line], crashing=[pod])
    told = f", and DaemonSet k/{name} does not run there"
    assert (told in text(found[FindingCode.NOT_INITIALIZED])) is is_told
    assert (FindingCode.PODS_NOT_STARTING in found) is not is_told


@pytest.mark.parametrize(("spec", "why"), [
    ({"amiFamily": "Custom"}, ": EC2NodeClass batch has amiFamily Custom and no userData, so nothing but the AMI"),
    ({"amiFamily": "Custom", "userData": "join"}, "; Karpenter gives up"),
    ({"amiFamily": "Custom", "userData": ""}, "; Karpenter gives up"),
    ({"userData": "--node-labels=kubernetes.io/x=y"}, ": the kubelet does not start with the node label kubernetes"),
])  # fmt: skip
def test_user_data_that_keeps_instances_from_joining_is_named(spec: dict[str, str], why: str) -> None:
    ref = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "batch")
    claim = a_nodeclaim(name="c-a", stage="Launched", created_ns=NOW_NS - 7 * MINUTE_NS, node_class_ref=ref)
    nodeclass = NodeClass(name="batch", group="karpenter.k8s.aws", kind="EC2NodeClass", spec=spec)
    line = VerdictNode("c-a", "general", claim, has_node=False)
    pending = replace(WEB, since_ns=NOW_NS - HOUR_NS, nodes=frozenset({"c-a"}))
    finding = findings(nodes=[line], pending=[pending], nodeclasses={nodeclass.key: nodeclass})[FindingCode.CLAIM_STUCK]
    assert f"has not registered as a node for 7m{why}" in text(finding)
    assert text(finding).endswith("; 2 pods pending for up to 60m (shop/web-*)")


def test_an_instance_that_joined_as_two_nodes_counts_once() -> None:
    unmet = Condition(type="Registered", status="False", reason="MultipleNodesFound", message="matched multiple nodes")
    claim = a_nodeclaim(name="c", created_ns=NOW_NS - 9 * MINUTE_NS, conditions=(a_condition("Launched"), unmet))
    lines = [VerdictNode(name, "general", claim, has_node=True, per_hour=0.2) for name in ("localhost", "ip-1")]
    finding = findings(nodes=lines)[FindingCode.CLAIM_STUCK]
    assert (finding.nodes, finding.price_per_hour) == (1, 0.2)
    result = "1 instance of general joined as 2 nodes (localhost, ip-1) and is still not registered after 9m"
    assert text(finding).startswith(f"{result}: matched multiple nodes")


@pytest.mark.parametrize(("ends_in", "kind", "pods", "severity"), [
    (65, "capacity-block", 3, FindingSeverity.ERROR),
    (300, "capacity-block", 3, FindingSeverity.WARNING),
    (65, "default", 3, None),
    (65, "capacity-block", 0, None),
    (3000, "capacity-block", 3, None),
    (30, "capacity-block", 3, None),
])  # fmt: skip
def test_pods_on_capacity_blocks_that_end_soon_are_named(
    ends_in: int, kind: str, pods: int, severity: FindingSeverity | None
) -> None:
    block = {"id": "cr-1", "reservationType": kind, "endTime": format_second(NOW_NS + ends_in * MINUTE_NS)}
    broken = {"id": "cr-2", "reservationType": "capacity-block", "endTime": None}
    nodeclass = NodeClass(
        name="ml", group="karpenter.k8s.aws", kind="EC2NodeClass", status={"capacityReservations": [broken, block]}
    )
    claim = a_nodeclaim(name="c", labels={RESERVATION_ID: "cr-1"})
    node = VerdictNode("n", "ml", claim, has_node=True, pods=pods, protected_pods=("ml/train-0",) if pods else ())
    finding = findings(nodes=[node], nodeclasses={nodeclass.key: nodeclass}).get(FindingCode.EXPIRY)
    assert (finding.severity if finding else None) is severity
    if finding is not None and severity is FindingSeverity.ERROR:
        assert text(finding).startswith(
            "Capacity block cr-1 ends: Karpenter drains its 1 node of ml in 25m, EC2 ends it from "
        )
        assert text(finding).endswith(" UTC (3 pods on it, protected: ml/train-0)")


def test_refused_replacements_count_the_nodes_that_stay_drifted() -> None:
    drifted = a_condition("Drifted", since_ns=NOW_NS - 2 * HOUR_NS)
    claim = a_nodeclaim(name="c", pool="batch", created_ns=NOW_NS - 20 * HOUR_NS, conditions=(drifted,))
    node = VerdictNode("n", "batch", claim, has_node=True)
    launching = an_event(about="NodeClaim/b-1", reason="DisruptionLaunching", message="Launching NodeClaim: Drifted")
    given: dict[str, Any] = {"refusals": [refusal("b-1", 1)], "nodes": [node], "events": [launching]}
    finding = findings(**given)[FindingCode.LAUNCH_REFUSED]
    assert finding.severity is FindingSeverity.WARNING
    assert text(finding).endswith("; 1 drifted node is not replaced (drifted for 120m)")
    assert not findings(**given | {"events": []})[FindingCode.LAUNCH_REFUSED].drifted
    fresh = VerdictNode("m", "batch", a_nodeclaim(name="d", pool="batch", created_ns=NOW_NS), has_node=True)
    assert not findings(**given | {"nodes": [node, fresh]})[FindingCode.LAUNCH_REFUSED].drifted


def test_a_job_that_failed_is_named_with_the_evictions_of_its_pods() -> None:
    loop = Loop(kind=LoopKind.MOVED, workload="Job/ml/sweep", times=3, first_ns=NOW_NS - HOUR_NS, last_ns=NOW_NS,
                moved_for=("Underutilized",))  # fmt: skip
    report = AdviceReport(loops=(loop,))
    moved = "Pods of ml/sweep are moved again and again: 3 evictions in the last 60m (Underutilized)"
    assert text(findings(advice=report)[FindingCode.CHURN]) == moved
    failed = replace(interruption("sweep", reason="BackoffLimitExceeded", kind="Job"), involved_namespace="ml")
    assert text(findings(advice=report, events=[failed])[FindingCode.CHURN]) == (
        "Job ml/sweep failed (BackoffLimitExceeded); Karpenter evicted its pods 3 times in the last 60m (Underutilized)"
    )
    other = replace(failed, involved_name="other")
    assert text(findings(advice=report, events=[other])[FindingCode.CHURN]) == moved


def test_a_kubelet_may_be_three_minor_versions_behind_the_newest() -> None:
    def lines(*minors: int) -> list[VerdictNode]:
        versions = [f"v1.{minor}.4-eks-a737599" for minor in minors]
        return [
            a_line(f"n{i}", node=replace(a_node(name=f"n{i}"), kubelet_version=result))
            for i, result in enumerate(versions)
        ]

    assert FindingCode.OLD_KUBELETS not in findings(nodes=lines(32, 35))
    assert text(findings(nodes=lines(30, 31, 32, 35))[FindingCode.OLD_KUBELETS]) == (
        "2 nodes of general (n0, n1) run kubelet 1.30 and 1.31, other nodes 1.35: "
        "more than 3 minor versions behind the API server is not supported"
    )


def test_pods_without_an_owner_are_lost_with_a_node_that_is_removed() -> None:
    going = a_line("n", lost_pods=("tools/debug",), is_disrupted=True)
    assert text(findings(nodes=[going, a_line("m")])[FindingCode.PODS_LOST]).startswith(
        "tools/debug has no owner: lost when"
    )
    assert FindingCode.PODS_LOST not in findings(nodes=[a_line("n", lost_pods=("tools/debug",))])


def test_a_cluster_is_called_fine_only_if_everything_was_checked() -> None:
    assert findings(nodes=[a_line("n")])[FindingCode.FINE].manner is Manner.PLAIN
    unchecked = findings(nodes=[a_line("n")], unchecked=["the rules of Advice"])[FindingCode.FINE]
    assert text(unchecked) == "nothing found that needs attention, but not everything is checked: the rules of Advice"


def test_a_cluster_with_notes_is_not_called_free_of_problems() -> None:
    crash = StartingPod("db/pg-0", "n", NOW_NS - HOUR_NS, "CrashLoopBackOff", owner="StatefulSet/db/pg", controller="u")
    assert FindingCode.FINE not in findings(nodes=[a_line("n")], crashing=[crash])
    full = LimitLine("general", "cpu 16 of 16", NOW_NS - HOUR_NS, "cpu", user="Deployment/ml/infer", user_pods=2)
    assert findings(nodes=[a_line("n")], limits=[full])[FindingCode.FINE].manner is Manner.WITH_NOTES
    assert findings(nodes=[a_line("n", per_hour=None)])[FindingCode.FINE].manner is Manner.PLAIN


def advice(*rules: str) -> AdviceReport:
    pdb = (ObjectRef("PodDisruptionBudget", "pg", "db"),)
    return AdviceReport(findings=tuple(Finding(severity=Severity.WARNING, objects=pdb, fact="", rule=r) for r in rules))


def test_a_cluster_with_blockers_or_advice_is_not_called_free_of_them() -> None:
    noted = findings(nodes=[a_line("n", per_hour=1.0)], advice=advice("pdb-never-allows"))
    assert [*noted] == [FindingCode.FINE]
    assert noted[FindingCode.FINE].manner is Manner.WITH_NOTES
    for is_wanted, manner in ((False, Manner.PLAIN), (True, Manner.WITH_NOTES)):
        blocker = Blocker(code=Code.BUDGET_ZERO, is_wanted=is_wanted)
        held = NodeFindings("n", "n", "general", why=Why(code=WhyCode.OK), blockers=(blocker,))
        for analysis in (Analysis(findings={"n": held}), Analysis(cluster=(blocker,) if is_wanted else ())):
            assert findings(nodes=[a_line("n")], analysis=analysis)[FindingCode.FINE].manner is manner


def test_the_line_of_advice_counts_warnings_that_no_other_line_reports() -> None:
    report = advice("pool-no-grace-period", "pdb-never-allows")
    assert findings(nodes=[a_line("n")], advice=report)[FindingCode.ADVICE].of_nodes == 2
    pdb = ClusterFinding(severity=FindingSeverity.INFO, code=FindingCode.PDB, objects=("PodDisruptionBudget/db/pg",))
    case = VerdictCase(now_ns=NOW_NS, advice=report)
    assert [finding.of_nodes for finding in with_unreported([pdb, *advice_findings(case)], case)] == [0, 1]


def test_groups_of_one_workload_have_one_name() -> None:
    old = PendingLine("shop/web-* (2)", ("shop/web-1", "shop/web-2"), NOW_NS, owner="Deployment/shop/web")
    new = PendingLine("shop/web-9", ("shop/web-9",), NOW_NS, owner="Deployment/shop/web")
    down = findings(controller=Controller(pods=(CRASHING,)), pending=[old, new])[FindingCode.KARPENTER_DOWN]
    assert down.pending.names == ("shop/web-{1,2,9}",)


@pytest.mark.parametrize(("message", "minutes", "drifted_hours", "is_told"), [
    ("Node is nominated for a pending pod", 50, 9, True),
    ("Node is nominated for a pending pod", 10, 9, False),
    ("Node is nominated for a pending pod", 50, 0, False),
    ("Pod has a PDB", 50, 9, False),
])  # fmt: skip
def test_repeated_nominations_explain_stuck_drift(
    message: str, minutes: int, drifted_hours: int, *, is_told: bool
) -> None:
    drifted = a_condition("Drifted", since_ns=NOW_NS - drifted_hours * HOUR_NS)
    claim = a_nodeclaim(name="c", pool="batch", created_ns=NOW_NS - 20 * HOUR_NS, conditions=(drifted,))
    first_ns = NOW_NS - minutes * MINUTE_NS
    blocked = an_event(about="Node/n1", reason="DisruptionBlocked", message=message, count=30, first_ns=first_ns)
    pods = [
        an_event(about=f"Pod/qa/{name}", reason="Nominated", message=f"Pod should schedule on: node/{node}", count=9)
        for name, node in (("recorder-0", "n1"), ("other-0", "n2"))
    ]
    line = VerdictNode("n1", "batch", claim, has_node=True)
    found = findings(nodes=[line], events=[blocked, *pods])
    assert (FindingCode.DRIFT in found) is is_told
    assert not is_told or text(found[FindingCode.DRIFT]) == (
        "batch: drift of 1 node stuck for 9h, Karpenter nominates it again and again for pending pods (qa/recorder-0)"
    )
