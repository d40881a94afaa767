from __future__ import annotations

from typing import Any

import pytest

from karptui.disruption.no_place import NO_TYPES
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.settings import Settings
from karptui.kube.objects import Event
from karptui.kube.pod import Pod, PodVolume
from karptui.kube.selectors import NodeSelectorTerm
from karptui.kube.volumes import SELECTED_NODE, PersistentVolumeClaim
from karptui.pending.causes import Cause
from karptui.pending.groups import PendingGroup, PendingReport, folded_name
from karptui.pending.messages import PodMessage
from karptui.pending.report_steps import ReportSteps, report_of_pending
from karptui.provisioning.prepared import prepare
from karptui.views.pending.disagreements import disagreement_text
from karptui.views.pending.sentences import cause_sentence, now_text, now_words, requests_words, waiting_sentence
from tests.builders import (
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    SECOND_NS,
    a_condition,
    a_launch_failure,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pod,
    a_requirement,
    an_event,
    an_instance_type,
    an_owner,
    present,
)
from tests.builders.clusters import state_of

TYPES = (an_instance_type(name="m5.large", cpu="2", memory="8Gi"),)
AVOIDS = NodeSelectorTerm((a_requirement("karpenter.sh/nodepool", "DoesNotExist"),))


def report(*pods: Pod, **others: Any) -> PendingReport:
    inventory = Inventory(pods=pods, nodepools=others.pop("nodepools", (a_nodepool(),)), **others)
    return report_of_pending(prepare(inventory, TYPES, Settings(), NOW_NS), state_of(inventory))


def only(report: PendingReport) -> PendingGroup:
    [group] = report.groups
    return group


def pod_event(
    reason: str,
    message: str = "",
    *,
    ago: int = MINUTE_NS,
    source: str = "karpenter",
    pod: str = "web-1",
    name: str = "",
) -> Event:
    return an_event(name=name or f"{pod}.{reason}", about=f"Pod/default/{pod}", reason=reason, message=message,
                    source=source, last_ns=NOW_NS - ago)  # fmt: skip


class TestNames:
    @pytest.mark.parametrize(("names", "owner", "folded"), [
        (["front"], "front", "web/front"),
        (["worker-0", "worker-2", "worker-1"], "worker", "web/worker-{0,1,2}"),
        ([f"worker-{i}" for i in range(12)], "worker", "web/worker-{0..11}"),
        ([f"worker-{2 * i}" for i in range(12)], "worker", "web/worker-* (12)"),
        (["front-5c9-abc", "front-5c9-def"], "front", "web/front-* (2)"),
        (["front-5c9-abc", "front-5c9-def"], "", "web/front-5c9-* (2)"),
        (["a-1", "b-1"], "", "web/* (2)"),
        (["job", "job-2"], "", "web/* (2)"),
    ])  # fmt: skip
    def test_one_name_for_all(self, names: list[str], owner: str, folded: str) -> None:
        assert folded_name("web", names, owner) == folded


class TestTurns:
    @pytest.mark.parametrize(("pod", "cause", "words"), [
        (a_pod(), Cause.CLAIM, "call for a new node"),
        (a_pod(cpu="64"), Cause.UNPLACED, "no NodePool or existing node"),
        (a_pod(has_resource_claims=True), Cause.UNPLACED, "Karpenter does not support ResourceClaims"),
        (a_pod(scheduled_reason="SchedulingGated"), Cause.GATED, "its scheduling gates are set"),
        (a_pod(scheduled_reason=""), Cause.UNTRIED, "kube-scheduler has not tried yet"),
        (a_pod(scheduled_reason="", scheduler_name="volcano"), Cause.OTHER_SCHEDULER, "its scheduler volcano"),
        (a_pod(scheduled_reason="", deletion_ns=NOW_NS), Cause.LEAVING, "being deleted"),
        (a_pod(nominated_node="ip-10-0-1-2.ec2.internal"), Cause.PREEMPTING, "nominated to ip-10-0-1-2"),
        (a_pod(daemonset="agent"), Cause.DAEMON, "a DaemonSet created it"),
        (a_pod(owner=an_owner(kind="Node", name="n", api_version="v1")), Cause.STATIC, "a static pod of a node"),
        (a_pod(node_selector={"kubernetes.io/hostname": "x"}), Cause.IGNORED, "invalid"),
        (a_pod(required_node_terms=(AVOIDS,)), Cause.SILENT, "silently ignores pods whose node affinity"),
    ], ids=lambda value: str(value) if isinstance(value, Cause) else "")  # fmt: skip
    def test_what_a_pod_waits_for(self, pod: Pod, cause: Cause, words: str) -> None:
        group = only(report(pod))
        assert group.cause is cause
        assert words in waiting_sentence(group)

    @pytest.mark.parametrize(("given", "types", "text"), [
        ({"pods": (a_pod(node_selector={"kubernetes.io/hostname": "x"}),)}, TYPES,
         "✘ refused: using label kubernetes.io/hostname is not allowed"),
        ({"nodepools": (a_nodepool(is_ready=False),)}, TYPES, "✘ no NodePool accepts pods"),
        ({"nodepools": (), "unread": frozenset({"NodePool"})}, (), "NodePools not read"),
        ({"unread": frozenset({"Node"})}, TYPES, "nodes not read"),
        ({"unread": frozenset({"NodeClaim"})}, TYPES, "nodes not read"),
        ({}, (), f"✘ {NO_TYPES}"),
        ({"nodes": (a_node(),)}, TYPES, "→ node-1 of general"),
    ])  # fmt: skip
    def test_the_text_of_a_row(self, given: dict[str, Any], types: tuple[InstanceType, ...], text: str) -> None:
        inventory = Inventory(**{"pods": (a_pod(),), "nodepools": (a_nodepool(),), **given})
        group = only(report_of_pending(prepare(inventory, types, Settings(), NOW_NS), state_of(inventory)))
        assert (now_text(group), group.is_faulty) == (text, "not read" not in text)

    def test_another_scheduler_that_says_nothing(self) -> None:
        pod = a_pod(scheduled_reason="", scheduler_name="volcano", created_ns=NOW_NS - 10 * MINUTE_NS)
        silent = only(report(pod))
        assert silent.is_stuck(NOW_NS)
        assert now_text(silent) == "scheduler volcano has reported no condition or event"
        queued = only(report(pod, events=(pod_event("Scheduling", source="volcano"),)))
        assert (queued.is_stuck(NOW_NS), now_text(queued)) == (False, "scheduler volcano")

    @pytest.mark.parametrize(
        ("volume", "reason", "cause"),
        [("", "", Cause.BINDING), ("pv", "", Cause.UNTRIED), ("", "SchedulerError", Cause.UNTRIED)],
    )
    def test_kube_scheduler_waits_for_the_volume_of_a_selected_node(
        self, volume: str, reason: str, cause: Cause
    ) -> None:
        claim = PersistentVolumeClaim(
            name="data", namespace="default", volume_name=volume, annotations={SELECTED_NODE: "node-1"}
        )
        pod = a_pod(scheduled_reason=reason, volumes=(PodVolume("data", "data"),))
        assert only(report(pod, claims=(claim,))).cause is cause

    def test_a_node_that_is_not_there(self) -> None:
        pod = a_pod(node="gone", phase="Pending")
        group = only(report(pod, nodes=(a_node(),)))
        assert group.cause is Cause.LOST_NODE
        assert "gone, which does not exist" in cause_sentence(pod, group.cause)

    def test_within_a_sentence_no_mark_stands(self) -> None:
        fits, launch = only(report(a_pod(), nodes=(a_node(),))), only(report(a_pod()))
        assert now_words(fits) == "it fits on node-1 of general"
        assert waiting_sentence(fits) == "it fits on a node that exists or is starting, so Karpenter launches none"
        assert now_words(launch).startswith("Karpenter would launch ")
        assert now_words(only(report(a_pod(), nodepools=(a_nodepool(is_ready=False),)))) == "no NodePool accepts pods"

    @pytest.mark.parametrize(
        ("room", "causes"),
        [(1, {Cause.CLAIM, Cause.RESERVED}), (0, {Cause.FULL})],
        ids=["another claim holds it", "full"],
    )
    def test_reserved_capacity(self, room: int, causes: set[Cause]) -> None:
        from msgspec.structs import replace

        from karptui.karpenter.instance_type import Offering
        from karptui.karpenter.labels import CAPACITY_TYPE, RESERVATION_ID, ZONE

        offering = Offering(requirements=(a_requirement(CAPACITY_TYPE, "In", "reserved"),
                                          a_requirement(ZONE, "In", "us-east-1a"),
                                          a_requirement(RESERVATION_ID, "In", "r-1")),
                            price_per_hour=0.0001, reservation_capacity=room)  # fmt: skip
        kind = an_instance_type(name="m5.large", prices={"reserved": 1.0})
        types = (replace(kind, offerings=(offering,)),)
        pods = tuple(a_pod(name=f"web-{i}", cpu="1500m") for i in range(2))
        pool = a_nodepool(requirements=(a_requirement(CAPACITY_TYPE, "In", "reserved"),))
        inventory = Inventory(pods=pods, nodepools=(pool,))
        report = report_of_pending(prepare(inventory, types, Settings(), NOW_NS), state_of(inventory))
        assert {group.cause for group in report.groups} == causes
        if not room:
            (group,) = report.groups
            assert (now_text(group), group.is_faulty) == ("✘ general: its reservations are full", True)


class TestFolding:
    def test_pods_with_other_requests_another_workload_or_a_nomination_are_other_rows(self) -> None:
        pods = (
            a_pod(name="web-0", cpu="64"),
            a_pod(name="web-1", cpu="65"),
            a_pod(name="api-0", cpu="64", owner=an_owner(name="api")),
            a_pod(name="web-2", cpu="64"),
        )
        result = report(*pods, events=(pod_event("Nominated", pod="web-2"),))
        assert len(result.groups) == 4
        assert len({group.key for group in result.groups}) == 4
        assert result.by_pod["default/web-1"].first.name == "web-1"

    def test_a_pod_without_an_event_is_in_the_row_of_those_with_one(self) -> None:
        pods = [a_pod(name=f"web-{index}", cpu="64") for index in range(3)]
        [group] = report(*pods, events=(pod_event("FailedScheduling", pod="web-1"),)).groups
        assert len(group.pods) == 3
        assert not group.disagreements

    def test_explanations_come_one_by_one(self) -> None:
        pods = [a_pod(name=f"{name}-0", cpu="64", owner=an_owner(name=name)) for name in "ab"]
        inventory = Inventory(pods=tuple(pods), nodepools=(a_nodepool(),))
        steps = ReportSteps(prepare(inventory, TYPES, Settings(), NOW_NS), state_of(inventory))
        steps.solve()
        first, second = steps.report.groups
        assert steps.report.explained == 0
        assert now_text(first) == "✘ general: instance types"
        assert steps.explain_next(second.key)
        assert steps.report.by_pod[second.first.key].explanation is not None
        assert steps.explain_next()
        assert not steps.explain_next()
        assert steps.report.explained == 2
        assert steps.explanation(pods[0]) is steps.report.by_pod[pods[0].key].explanation
        assert steps.explanation(a_pod(name="stranger")) is None


class TestRequests:
    @pytest.mark.parametrize(("requests", "words"), [
        ({"cpu": "28", "memory": "240Gi"}, "28 cpu 240Gi"),
        ({"cpu": "250m", "memory": "", "requests": {"nvidia.com/gpu": "2"}}, "250m 2 gpu"),
        ({"cpu": "", "memory": ""}, "nothing"),
    ])  # fmt: skip
    def test_in_words(self, requests: dict[str, Any], words: str) -> None:
        assert requests_words(a_pod(**requests)) == words


def nominated(claim: str = "general-x", *, ago: int) -> Event:
    return pod_event("Nominated", f"Pod should schedule on: nodeclaim/{claim}, node/node-9", ago=ago)


def unlaunched(age_ns: int) -> NodeClaim:
    return a_nodeclaim(name="general-x", provider_id="", conditions=(), created_ns=NOW_NS - age_ns)


REFUSED = a_condition("Launched", status="Unknown", reason="LaunchFailed", message="Request limit exceeded")


class TestRemarks:
    @pytest.mark.parametrize(("ago", "claims", "nodes", "disagreement"), [
        (30 * MINUTE_NS, (), (), "nominated 30m ago to general-x, which is gone; still pending"),
        (30 * SECOND_NS, (), (), ""),
        (2 * MINUTE_NS, ("stage",), (), ""),
        (6 * MINUTE_NS, ("stage",), (), "nominated 6m ago, still pending: general-x is registering"),
        (2 * MINUTE_NS, ("ready",), (), "nominated 2m ago, still pending, although general-x is ready"),
        (2 * MINUTE_NS, (), ("node-9",), "nominated 2m ago, still pending, although general-x is ready"),
    ])  # fmt: skip
    def test_nominations_that_lead_nowhere(
        self, ago: int, claims: tuple[str, ...], nodes: tuple[str, ...], disagreement: str
    ) -> None:
        result = []
        if claims == ("stage",):
            result = [a_nodeclaim(name="general-x", node="", conditions=(a_condition("Launched"),))]
        elif claims:
            done = tuple(a_condition(kind) for kind in ("Launched", "Registered", "Initialized"))
            result = [a_nodeclaim(name="general-x", node="", conditions=done)]
        outcome = report(a_pod(created_ns=NOW_NS - SECOND_NS), events=(nominated(ago=ago),), nodeclaims=tuple(result),
                         nodes=tuple(a_node(name=name, cpu="10m") for name in nodes))  # fmt: skip
        texts = [disagreement_text(disagreement) for disagreement in only(outcome).disagreements]
        assert texts == ([disagreement] if disagreement else [])

    @pytest.mark.parametrize(("given", "text"), [
        ({"events": (pod_event("Nominated", "who knows", ago=HOUR_NS),)}, "nominated 60m ago, still pending"),
        ({"events": (pod_event("Nominated", "who knows", ago=SECOND_NS),)}, ""),
        ({"pod": a_pod(cpu="64"), "events": (nominated(ago=30 * SECOND_NS),)},
         "Karpenter nominated a node 30s ago, but now it is computed to be unschedulable"),
        ({"events": (pod_event("FailedScheduling"),)},
         "Karpenter found it unschedulable 60s ago; computed now it fits on a new node in general"),
        ({"events": (pod_event("FailedScheduling"),), "nodes": (a_node(),)},
         "Karpenter found it unschedulable 60s ago; computed now it fits on node-1"),
        ({"events": (a_launch_failure("", "", code="VcpuLimitExceeded", last_ns=NOW_NS - MINUTE_NS),
                     pod_event("FailedScheduling"))},
         "a launch in general failed 60s ago: vCPU quota reached; the next may fail too"),
        ({"nodeclaims": (a_nodeclaim(name="general-x", provider_id="", conditions=(REFUSED,)),)},
         "Karpenter launches nothing until general-x has a provider ID: Request limit exceeded"),
        ({"nodeclaims": (unlaunched(14 * MINUTE_NS),)},
         "Karpenter launches nothing until general-x has a provider ID"),
        ({"nodeclaims": (unlaunched(MINUTE_NS),)}, ""),
        ({"events": (a_launch_failure("", "", code="VcpuLimitExceeded", last_ns=NOW_NS - MINUTE_NS),),
          "nodeclaims": (a_nodeclaim(name="general-y", created_ns=NOW_NS - SECOND_NS),)}, ""),
        ({"events": (a_launch_failure("m5.large", "us-east-1b", last_ns=NOW_NS - MINUTE_NS),),
          "nodeclaims": (a_nodeclaim(name="general-y", created_ns=NOW_NS - SECOND_NS),)},
         "a launch in general failed 60s ago: insufficient capacity in EC2; the next may fail too"),
    ])  # fmt: skip
    def test_what_karpenter_says_or_does_otherwise(self, given: dict[str, Any], text: str) -> None:
        pod = given.get("pod", a_pod(created_ns=NOW_NS - SECOND_NS))
        group = only(report(pod, **{name: value for name, value in given.items() if name != "pod"}))
        texts = [disagreement_text(disagreement) for disagreement in group.disagreements]
        assert texts[:1] == ([text] if text else [])
        if "launch" in text:
            assert (len(texts), now_words(group)) == (1, text)

    def test_silence_where_karpenter_speaks_of_others(self) -> None:
        other = pod_event("FailedScheduling", pod="another")
        [disagreement] = only(report(a_pod(cpu="64"), events=(other,))).disagreements
        assert "without an event from Karpenter" in disagreement_text(disagreement)
        assert only(report(a_pod(cpu="64"))).disagreements == ()
        assert only(report(a_pod(required_node_terms=(AVOIDS,)), events=(other,))).disagreements == ()

    def test_room_that_the_scheduler_does_not_see(self) -> None:
        [disagreement] = only(report(a_pod(), nodes=(a_node(),))).disagreements
        assert "by Karpenter's rules it fits on node-1" in disagreement_text(disagreement)

    def test_room_without_volumes_that_were_not_read_is_no_promise_of_karpenters(self) -> None:
        pod = a_pod(volumes=[PodVolume(name="data", claim_name="data")])
        unread = frozenset({"PersistentVolumeClaim"})
        group = only(report(pod, nodes=(a_node(),), events=(pod_event("FailedScheduling"),), unread=unread))
        assert [disagreement_text(disagreement) for disagreement in group.disagreements] == [
            ("Karpenter found it unschedulable 60s ago; computed without its volumes, which were not read, it fits "
             "on node-1"),
            "kube-scheduler refuses it; without its volumes, which were not read, it fits on node-1",
        ]  # fmt: skip

    def test_pods_that_have_room_on_several_nodes_are_told_together(self) -> None:
        nodes = (a_node(name="node-1", labels={"a": "1"}), a_node(name="node-2", labels={"a": "2"}))
        pods = tuple(
            a_pod(
                name=f"web-{n}", created_ns=NOW_NS - HOUR_NS, node_selector={"a": n}, scheduled_reason="Unschedulable"
            )
            for n in "12"
        )
        [disagreement] = only(report(*pods, nodes=nodes)).disagreements
        assert disagreement_text(disagreement) == (
            "kube-scheduler refuses them, but by Karpenter's rules they fit on node-1 and 1 more,"
            " so Karpenter launches no node for them"
        )


class TestVoices:
    def test_the_newest_of_each_speaker(self) -> None:
        events = (
            pod_event("FailedScheduling", "old", ago=HOUR_NS, name="a"),
            pod_event("FailedScheduling", "new", ago=MINUTE_NS, name="b"),
            pod_event("FailedScheduling", "0/3", source="default-scheduler", ago=SECOND_NS, name="c"),
            pod_event("Pulled", "image", source="kubelet", name="d"),
            pod_event("FailedScheduling", "of a node", pod="other", name="e"),
        )
        messages = only(report(a_pod(cpu="64"), events=events)).messages
        assert (present(messages.karpenter).message, present(messages.scheduler).message) == ("new", "0/3")
        assert not present(messages.scheduler).is_condition

    @pytest.mark.parametrize(("message", "targets"), [
        ("Pod should schedule on: nodeclaim/a, node/b", (("nodeclaim", "a"), ("node", "b"))),
        ("Pod should schedule on: ", ()),
        ("something else", ()),
    ])  # fmt: skip
    def test_what_a_nomination_names(self, message: str, targets: tuple[tuple[str, ...], ...]) -> None:
        assert PodMessage("Nominated", message, NOW_NS).targets == targets
        assert PodMessage("FailedScheduling", message, NOW_NS).targets == ()
