"""Details of a pending pod: gates, nearest misses, nodes, quoted messages and remedies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.evidence import Evidence
from karptui.decode.kinds import Kind
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import ARCH, CAPACITY_TYPE, INSTANCE_TYPE, ZONE
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.pod import HostPort, Pod, PodAffinityTerm, PodVolume, TopologySpreadConstraint
from karptui.kube.selectors import LabelSelector, NodeSelectorTerm, PreferredSchedulingTerm
from karptui.kube.taints import Taint
from karptui.kube.volumes import PersistentVolume, PersistentVolumeClaim
from karptui.pending.messages import PodMessage, PodMessages
from karptui.pending.report_steps import ReportSteps, report_of_pending
from karptui.provisioning.explain import PodExplanation, PoolExplanation, explain
from karptui.provisioning.nearest import furthest
from karptui.provisioning.prepared import Prepared, prepare
from karptui.provisioning.rejection import NoTemplates, NotReservable, ReservationsFull
from karptui.provisioning.solution import solve
from karptui.session.cluster_view import ClusterView
from karptui.session.pending import PendingQuestions, pending_entries, surroundings_of
from karptui.session.pending_report import PendingEntry, answer_of
from karptui.session.prepare import prepare_view
from karptui.session.row_server import overview_of
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.views.pending.explained import explained_lines
from karptui.views.pending.gates import COLUMNS, gate_lines, gate_rows
from karptui.views.pending.rejections import miss_text, refusal_counts, refusals_text
from karptui.views.pending.remedies import REMEDIES, gain_text, remedy_entries, remedy_text, remedy_values, remedy_words
from karptui.views.pending.sentences import now_text, pending_freshness, pending_sentences, quote_lines
from karptui.views.table import build_rows
from karptui.whatif.edits import DeleteObject, ObjectRef, SetField, SetSetting
from karptui.whatif.remedies.pending.remedy import Gain, Remedy, RemedyKind, RemedyReport
from tests.builders import (
    MINUTE_NS,
    NOW_NS,
    a_daemonset,
    a_node,
    a_nodepool,
    a_pod,
    a_requirement,
    amounts,
    an_instance_type,
    an_owner,
    present,
)
from tests.builders.clusters import state_of
from tests.stories import plain_text
from tests.views.pending.asking import answer_all

A, B = "us-east-1a", "us-east-1b"
OWN = LabelSelector((("app", "web"),))
TYPES = (
    an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.096, "spot": 0.04}),
    an_instance_type(name="m5.xlarge", cpu="4", memory="16Gi", prices={"on-demand": 0.192}),
)


def explained(pod: Pod, *pools: NodePool, types: Sequence[InstanceType] = TYPES, **others: Any) -> PodExplanation:
    inventory = Inventory(pods=(pod,), nodepools=pools or (a_nodepool(),), **others)
    return explain(solve(prepare(inventory, types, Settings(), NOW_NS)), pod)


CASES: Sequence[tuple[Pod, NodePool, str, str, str]] = [
    (a_pod(), a_nodepool(taints=(Taint("ci", "NoSchedule"),)), "TAINTS", "taint ci:NoSchedule not tolerated",
     "taint ci:NoSchedule not tolerated"),
    (a_pod(), a_nodepool(limits=amounts({"cpu": "1"})), "LIMITS", "no allowed type fits under its limits",
     "no allowed type fits under its limits"),
    (a_pod(cpu="3"), a_nodepool(limits=amounts({"cpu": "2"})), "RESOURCES",
     "cpu short by 1000m on m5.large; its limits leave 1 of 2 types", "cpu −1000m"),
    (a_pod(node_selector={"tier": "gold"}), a_nodepool(), "LABELS",
     "its nodes have no label tier=gold", "no label tier"),
    (a_pod(node_selector={"topology.kubernetes.io/zon": "a"}), a_nodepool(), "LABELS",
     f"its nodes have no label {ZONE[:-1]}=a (did you mean {ZONE}?)",
     "no label zon (did you mean topology.kubernetes.io/zone?)"),
    (a_pod(node_selector={CAPACITY_TYPE: "spot"}), a_nodepool(), "LABELS",
     f"requires {CAPACITY_TYPE} In [spot], the pool has In [on-demand]",
     "requires capacity-type In [spot], the pool has In [on-demand]"),
    (a_pod(node_selector={ARCH: "arm64"}), a_nodepool(), "LABELS", f"no type has {ARCH} In [arm64]",
     f"no type has {ARCH} In [arm64]"),
    (a_pod(pod_affinity=(PodAffinityTerm(ZONE, LabelSelector((("app", "nobody"),))),)), a_nodepool(), "TOPOLOGY",
     f"no {ZONE} satisfies its pod affinity: no pod app=nobody is on a node in namespace default",
     "no zone satisfies its pod affinity"),
    (a_pod(topology_spread=(TopologySpreadConstraint(0, ZONE, "DoNotSchedule", OWN, min_domains=3),)), a_nodepool(),
     "TOPOLOGY",
     f"no {ZONE} satisfies its topology spread (minDomains 3, but 2 domains; maxSkew 0; pods: {A}=0, {B}=0)",
     "no zone satisfies its topology spread"),
    (a_pod(topology_spread=(TopologySpreadConstraint(1, "x.io/rack", "DoNotSchedule", OWN),)), a_nodepool(), "TOPOLOGY",
     "no x.io/rack satisfies its topology spread: no node that it may use has this label",
     "no x.io/rack satisfies its topology spread"),
    (a_pod(cpu="3"), a_nodepool(requirements=(a_requirement(INSTANCE_TYPE, "Exists", min_values=2),)), "OFFERING",
     f"minValues: only 1 of {INSTANCE_TYPE}", f"minValues: only 1 of {INSTANCE_TYPE}"),
]  # fmt: skip


class TestGates:
    @pytest.mark.parametrize(("requests", "hint"), [
        ({"ephemeral-storage": "60Gi"}, "ephemeral-storage short by 40,960Mi on m5.large (its disk has 20Gi)"),
        ({"memory": "4Gi"},
         "memory short by 2,048Mi on m5.large (the kubelet and the system reserve 6,144Mi of 8,192Mi of memory)"),
        ({"memory": "12Gi"}, "memory short by 10,240Mi on m5.large"),
    ])  # fmt: skip
    def test_the_nodeclass_setting_that_decides(self, requests: dict[str, str], hint: str) -> None:
        kind = an_instance_type(reserved={"memory": "6Gi"})
        kind = replace(kind, capacity={**kind.capacity, **amounts({"ephemeral-storage": "20Gi"})})
        [row] = gate_rows(explained(a_pod(requests=requests), types=(kind,)))
        assert row.reason == hint

    @pytest.mark.parametrize(("pod", "pool", "column", "reason", "short"), CASES, ids=[case[3][:30] for case in CASES])
    def test_first_failing_gate_as_text(self, pod: Pod, pool: NodePool, column: str, reason: str, short: str) -> None:
        explanation = explained(pod, pool)
        [row] = gate_rows(explanation)
        assert miss_text(explanation.pools[0], is_short=True) == short
        assert (COLUMNS[row.failed], row.reason) == (column, reason)
        marks = [str(mark) for mark in row.marks]
        assert marks == ["passed"] * row.failed + ["failed"] + ["not asked"] * (len(COLUMNS) - 1 - row.failed)

    def test_narrow_screens_show_only_the_failing_gate(self) -> None:
        explanation = explained(a_pod(cpu="64"), a_nodepool(), a_nodepool(name="with-a-very-long-name-for-a-nodepool"))
        for width in (40, 80, 120, 200):
            lines = gate_lines(explanation, width)
            assert max(sum(len(text) for text, _ in line) for line in lines) <= max(width, 44)
        narrow = plain_text(gate_lines(explanation, 80))
        assert "RESOURCES: cpu short by 60 on m5.xlarge" in narrow
        assert "POOL" not in narrow
        assert "POOL" in plain_text(gate_lines(explanation, 120))
        assert "✔ accepts it" in plain_text(gate_lines(explained(a_pod()), 60))
        assert "✔" in plain_text(gate_lines(explained(a_pod()), 160))
        assert "is excluded" in plain_text(
            gate_lines(explained(a_pod(), a_nodepool(is_ready=False), a_nodepool(name="b")), 60)
        )

    @pytest.mark.parametrize(("operator", "values", "label"), [
        ("In", ["b", "a"], "team (a, b)"),
        ("Exists", [], "team (any value)"),
        ("Gt", ["5"], "team above 5"),
        ("Lt", ["9"], "team below 9"),
    ])  # fmt: skip
    def test_required_values_follow_a_label_that_no_node_has(
        self, operator: str, values: Sequence[str], label: str
    ) -> None:
        terms = (NodeSelectorTerm((a_requirement("team", operator, *values),)),)
        result = present(furthest(explained(a_pod(required_node_terms=terms))))
        assert miss_text(result) == f"its nodes have no label {label}"

    @pytest.mark.parametrize(("fields", "pool", "words"), [
        ({"node_selector": {ARCH: "arm64"}}, "full",
         f"no type has {ARCH} In [arm64]; no allowed type fits under its limits"),
        ({"node_selector": {"team": "a"}}, "full",
         "its nodes have no label team=a; no allowed type fits under its limits"),
        ({"cpu": "1"}, "full", "no allowed type fits under its limits"),
        ({"cpu": "64"}, "full", "cpu short by 60 on m5.xlarge; no allowed type fits under its limits"),
    ])  # fmt: skip
    def test_limits_are_named_after_other_reasons(self, fields: Mapping[str, Any], pool: str, words: str) -> None:
        tainted = a_nodepool(name="tainted", taints=(Taint("x", "NoSchedule"),))
        result = furthest(explained(a_pod(**fields), a_nodepool(name="full", limits=amounts({"cpu": "0"})), tainted))
        assert result is not None
        assert (result.nodepool, miss_text(result)) == (pool, words)

    @pytest.mark.parametrize("fields", [
        {"node_selector": {"karpenter.sh/nodepool": "idle"}},
        {"required_node_terms": (NodeSelectorTerm((a_requirement("karpenter.sh/nodepool", "In", "idle"),)),)},
    ])  # fmt: skip
    def test_the_nodepool_selected_by_the_pod_is_named(self, fields: Mapping[str, Any]) -> None:
        idle = a_nodepool(name="idle", requirements=(a_requirement(INSTANCE_TYPE, "In", "*"),))
        result = present(furthest(explained(a_pod(**fields), a_nodepool(), idle)))
        assert (result.nodepool, miss_text(result)) == ("idle", "no compatible instance type is available")


class TestNodes:
    def test_refusals_are_counted_by_reason(self) -> None:
        nodes = (
            a_node(name="a", taints=(Taint("x", "NoSchedule"),)),
            a_node(name="b", cpu="1"),
            a_node(name="c", cpu="1", memory="1Gi"),
            a_node(name="d", cpu="1"),
        )
        explanation = explained(a_pod(cpu="64", memory="2Gi"), nodes=nodes)
        assert refusal_counts(explanation) == (("cpu", 2), ("cpu and memory", 1), ("taint", 1))
        assert refusals_text(explanation) == "4 tried: 2 cpu · 1 cpu and memory · 1 taint"
        assert refusals_text(explained(a_pod(cpu="64"))) == "none to try"
        assert refusals_text(explained(a_pod(), nodes=(a_node(name="a", cpu="8"),))) == "no other to try"


def a_view(*pods: Pod, pools: Sequence[NodePool] = (), **others: Any) -> ClusterView:
    inventory = Inventory(pods=pods, nodepools=tuple(pools) or (a_nodepool(),), **others)
    return ClusterView(state_of(inventory), {}, evidence=Evidence(instance_types=TYPES))


class TestDesk:
    def test_questions_are_answered_step_by_step(self) -> None:
        pods = [a_pod(name=f"{name}-0", cpu="64", owner=an_owner(name=name)) for name in "ab"]
        view = a_view(*pods)
        desk = PendingQuestions()
        assert desk.report is None
        assert not desk.step()
        assert not desk.look_at("x")
        prepared, notes = prepare_view(view, NOW_NS)
        desk.begin(prepared, view, notes)
        report = answer_all(desk, pods[1].key)
        assert report.detail is not None
        assert report.detail.remedies is not None
        assert report.detail.remedies.is_complete
        assert report.explained == 2
        other = answer_all(desk, pods[0].key)
        assert other.detail is not None
        assert other.detail.pod_key == pods[0].key
        again = answer_all(desk, pods[1].key)
        assert again.detail is report.detail
        assert answer_all(desk, "nobody/here").detail is None

    def test_an_unfinished_search_is_restarted(self) -> None:
        pods = [a_pod(name=f"{name}-0", cpu="64", owner=an_owner(name=name)) for name in "ab"]
        view = a_view(*pods)
        desk = PendingQuestions()
        desk.begin(*_begin(prepare_view(view, NOW_NS), view))
        for _ in range(3):
            desk.step(pods[0].key)
        answer_all(desk, pods[1].key)
        report = answer_all(desk, pods[0].key)
        assert report.detail is not None
        assert report.detail.remedies is not None
        assert report.detail.remedies.is_complete

    def test_an_answer_is_reused_for_less_than_a_minute(self) -> None:
        pod = a_pod(cpu="64")
        view = a_view(pod)
        desk = PendingQuestions()
        desk.begin(*_begin(prepare_view(view, NOW_NS), view))
        first = answer_all(desk, pod.key).detail
        other = a_pod(name="other", node="node-1")
        state = reduce(view.state, Batch({Kind.POD: KindDelta({other.key: other})}))
        later = ClusterView(state, {}, view, evidence=view.evidence)
        desk.begin(*_begin(prepare_view(later, NOW_NS + 1), later))
        assert answer_all(desk, pod.key).detail is first
        desk.begin(*_begin(prepare_view(later, NOW_NS + 60 * 10**9), later))
        assert answer_all(desk, pod.key).detail is not first

    def test_gated_and_invalid_pods_have_no_explanation(self) -> None:
        gated, faulty = a_pod(scheduled_reason="SchedulingGated"), a_pod(name="x", node_selector={"a b": "c"})
        view = a_view(gated, faulty)
        desk = PendingQuestions()
        desk.begin(*_begin(prepare_view(view, NOW_NS), view))
        report = answer_all(desk, gated.key)
        assert report.detail is not None
        assert (report.detail.explanation, report.detail.remedies) == (None, None)
        report = answer_all(desk, faulty.key)
        assert report.detail is not None
        assert report.detail.explanation is None
        assert report.detail.remedies is not None
        assert len(report.detail.remedies.remedies) == 1


def _begin(
    prepared: tuple[Prepared, tuple[str, ...]], view: ClusterView
) -> tuple[Prepared, ClusterView, tuple[str, ...]]:
    return prepared[0], view, prepared[1]


class TestRows:
    def test_messages_are_in_the_detail_and_not_in_the_list(self) -> None:
        view = a_view(a_pod(cpu="64"))
        group = report_of_pending(prepare_view(view, NOW_NS)[0], view.state).groups[0]
        pod, diagnosis, _ = group.members[0]
        spoken = PodMessages(karpenter=PodMessage("FailedScheduling", "word " * 300, NOW_NS))
        group = replace(group, members=((pod, diagnosis, spoken),))
        listed = plain_text(pending_sentences(PendingEntry(group)))
        assert "word" not in listed
        assert "enter shows the messages of Karpenter and kube-scheduler" in listed
        assert "word…" in plain_text(quote_lines(group, NOW_NS))

    def test_the_own_messages_of_the_named_pod_come_first(self) -> None:
        view = a_view(a_pod(cpu="64", uid="1"), a_pod(name="web-2", cpu="64", uid="2"))
        group = report_of_pending(prepare_view(view, NOW_NS)[0], view.state).groups[0]
        (first, diagnosis, _), (second, _, _) = group.members
        older = PodMessages(karpenter=PodMessage("Nominated", "to node-1", NOW_NS - MINUTE_NS))
        newer = PodMessages(PodMessage("Nominated", "to node-2", NOW_NS), PodMessage("FailedScheduling", "no", NOW_NS))
        group = replace(group, members=((first, diagnosis, older), (second, diagnosis, newer)))
        assert "Karpenter 0s ago: Nominated: to node-2" in plain_text(quote_lines(group, NOW_NS))
        text = plain_text(quote_lines(group.about(first.key), NOW_NS))
        assert "Karpenter 60s ago: Nominated: to node-1" in text
        assert "kube-scheduler 0s ago, about another pod: FailedScheduling: no" in text

    def test_deleted_pods_are_left_out(self) -> None:
        pods = (a_pod(cpu="64"), a_pod(name="api-1", owner=an_owner(name="api"), cpu="64"))
        view = a_view(*pods)
        report = report_of_pending(prepare_view(view, NOW_NS)[0], view.state, ("types are guessed",))
        now = ClusterView(view.state, {}, evidence=view.evidence, pending=answer_of(report))
        assert len(pending_entries(now)) == 2
        assert (
            plain_text([pending_freshness(overview_of(now), NOW_NS)])
            == "computed by karptui just now · types are guessed"
        )
        bound = a_pod(cpu="64", node="node-1")
        state = reduce(view.state, Batch({Kind.POD: KindDelta({bound.key: bound})}))
        later = ClusterView(state, {}, evidence=view.evidence, pending=answer_of(report))
        assert [entry.group.first.name for entry in pending_entries(later)] == ["api-1"]
        assert "1 change behind" in plain_text([pending_freshness(overview_of(later), NOW_NS + 5 * 10**9)])
        assert pending_entries(ClusterView(state, {})) == ()


GAIN = Gain(
    placed=1, asked=2, nodepools=("a",), new_nodes=2, instance_type="m5.large", other_types=1, price_per_hour=0.2
)


class TestRemedies:
    def test_rows(self) -> None:
        remedy = Remedy(RemedyKind.LIMIT, "NodePool a", "raise it", (), GAIN)
        lost = Remedy(
            RemedyKind.REQUEST, "the pods", "ask less", (), Gain(1, 1, nodes=("n",), displaced=("x/y", "x/z"))
        )
        unpriced = Remedy(RemedyKind.REQUEST, "the pods", "x", (), Gain(1, 1, nodepools=("p",), new_nodes=1))
        entries = remedy_entries(RemedyReport(3, 3, (remedy, lost, unpriced)))
        rows = build_rows(REMEDIES, entries, now_ns=NOW_NS)
        cells = [[cell.text for cell in row.cells] for row in rows]
        assert cells[0] == ["raise it", "NodePool a", "1 of 2", "2 × m5.large or 1 other in a", "+$0.2000", "-", "1"]
        mixed = replace(GAIN, mixed_types=("c6i.xlarge", "m6i.xlarge"))
        assert gain_text(mixed) == "2 new nodes (c6i.xlarge, m6i.xlarge) in a"
        assert cells[1][4:6] == ["0", "2 other pods: x/y"]
        assert cells[2][4] == "n/a"
        for column in REMEDIES.columns:
            for entry in entries:
                column.sort(entry)
        assert remedy_words(lost, "x/web") == "x/web: ask less"
        assert remedy_entries(None) == ()
        assert remedy_values(remedy)["price_per_hour"] == 0.2

    @pytest.mark.parametrize(("edit", "line"), [
        (SetField(ObjectRef("NodePool", "a"), ("spec", "limits", "cpu"), "9"),
         'kubectl patch nodepool a --type=merge -p \'{"spec": {"limits": {"cpu": "9"}}}\''),
        (SetField(ObjectRef("NodePool", "a"), ("spec", "x", 0), ["b"]),
         '--type=json -p \'[{"op": "replace", "path": "/spec/x/0", "value": ["b"]}]\''),
        (SetField(ObjectRef("NodePool", "a"), ("spec", "a/b", 0), None), '{"op": "remove", "path": "/spec/a~1b/0"}'),
        (SetSetting("VM_MEMORY_OVERHEAD_PERCENT", "0.05"), "settings.vmMemoryOverheadPercent=0.05"),
        (SetSetting("BATCH", "1"), "in the environment of Karpenter's controller: BATCH=1"),
        (DeleteObject(ObjectRef("DaemonSet", "logs", "kube-system")), "kubectl delete daemonset -n kube-system logs"),
        (DeleteObject(ObjectRef("NodePool", "a")), "kubectl delete nodepool a"),
        (SetField(ObjectRef("Pod", "web-1", "x"), ("spec", "containers", 0, "resources", "requests", "cpu"), "1"),
         "in the pod template of Deployment x/web (spec.template):"),
        (SetField(ObjectRef("Pod", "web-1", "x"), ("spec", "nodeSelector", "a"), None), "(removed)"),
    ])  # fmt: skip
    def test_as_text_to_copy(self, edit: DeleteObject | SetField | SetSetting, line: str) -> None:
        gain = Gain(1, 1, nodes=("n",), displaced=("x/y",))
        remedy = Remedy(RemedyKind.LIMIT, "NodePool a", "raise it", (edit,), gain)
        text = remedy_text(remedy, "x/web-1", "Deployment/x/web")
        assert line in text
        assert "1 others become unschedulable: x/y" in text

    def test_a_pod_without_an_owner_must_be_recreated(self) -> None:
        edit = SetField(ObjectRef("Pod", "a", "x"), ("spec", "nodeSelector", "a"), None)
        text = remedy_text(Remedy(RemedyKind.POD_SELECTOR, "the pods", "w", (edit,), GAIN), "x/a", "Pod/x/a")
        assert "in pod x/a, which must be recreated:" in text
        assert "$0.2000/h" in text
        assert "In the list ctrl+t opens it" in text


def test_preferences_dropped_without_success_are_named() -> None:
    wish = PreferredSchedulingTerm(5, NodeSelectorTerm((a_requirement(ZONE, "In", "us-east-1a"),)))
    pod = a_pod(cpu="64", preferred_node_terms=(wish,))
    view = a_view(pod)
    report = report_of_pending(prepare_view(view, NOW_NS)[0], view.state)
    [group] = report.groups
    text = plain_text(explained_lines(group, None, surroundings_of(group.first, view.state), now_ns=NOW_NS, width=120))
    assert "relaxed without success: preferred node affinity of weight 5" in text


SMALL = an_instance_type(name="small", cpu="2", memory="8Gi")
SPOT = an_instance_type(prices={"on-demand": 0.1, "spot": 0.04})
SPOT_ELSEWHERE = replace(
    SPOT,
    offerings=tuple(
        offering for offering in SPOT.offerings if (offering.price_per_hour == 0.1) == ("1a" in str(offering))
    ),
)
IN_1A, IN_1B = (a_requirement(ZONE, "In", f"us-east-1{zone}") for zone in "ab")
BOUND = PersistentVolumeClaim(name="data", namespace="default", volume_name="pv", phase="Bound",
                              annotations={"pv.kubernetes.io/bind-completed": "yes"})  # fmt: skip
KEYS = ("company.io/a", "company.io/b")
ONE_OF_BOTH = tuple(
    an_instance_type(name=name, requirements=(a_requirement(KEYS[0], "In", a), a_requirement(KEYS[1], "In", b)))
    for name, a, b in (("one", "x", "y"), ("two", "y", "x"))
)
RARER = [
    pytest.param(a_pod(node_selector={ZONE: "us-east-1a", CAPACITY_TYPE: "spot"}), a_nodepool(requirements=()),
                 {"types": (SPOT_ELSEWHERE,)}, "OFFERING", "no type with these labels is available",
                 id="labels that no offering has together"),
    pytest.param(a_pod(), a_nodepool(),
                 {"types": (an_instance_type(name="small", pods="2"),),
                  "daemonsets": (a_daemonset(name="a"), a_daemonset(name="b"))},
                 "DAEMONSETS", "pod slots short by 1: 2 of 3 on small", id="pod slots"),
    pytest.param(a_pod(cpu="1"), a_nodepool(), {"types": (SMALL,), "daemonsets": (a_daemonset(cpu="1500m"),)},
                 "DAEMONSETS", "cpu short by 500m on small; DaemonSets use 1500m there",
                 id="daemonsets without which the pod would fit"),
    pytest.param(a_pod(cpu="3"), a_nodepool(), {"types": (SMALL,), "daemonsets": (a_daemonset(cpu="1500m"),)},
                 "RESOURCES", "cpu short by 2500m on small", id="daemonsets without which it would not fit either"),
    pytest.param(a_pod(host_ports=(HostPort(8080),)), a_nodepool(),
                 {"daemonsets": (a_daemonset(host_ports=(HostPort(8080),)),)}, "DAEMONSETS",
                 "its host ports are used by DaemonSets", id="host ports of DaemonSets"),
    pytest.param(a_pod(volumes=(PodVolume("data", "data"),)), a_nodepool(requirements=(IN_1A,)),
                 {"claims": (BOUND,),
                  "volumes": (PersistentVolume(name="pv", required_node_terms=(NodeSelectorTerm((IN_1B,)),)),)},
                 "TOPOLOGY", f"its volume requires {ZONE} In [us-east-1b], the pool has In [us-east-1a]",
                 id="a volume in another zone"),
    pytest.param(a_pod(), a_nodepool(limits=amounts({"nodes": "0"})), {}, "LIMITS", "at its limit of nodes",
                 id="the number of nodes"),
    pytest.param(a_pod(node_selector=dict.fromkeys(KEYS, "x")),
                 a_nodepool(requirements=(a_requirement(KEYS[0], "Exists"), a_requirement(KEYS[1], "Exists"))),
                 {"types": ONE_OF_BOTH}, "LABELS", "no type has both company.io/a In [x] and company.io/b In [x]",
                 id="labels that only fail together"),
]  # fmt: skip


class TestRarerMisses:
    @pytest.mark.parametrize(("pod", "pool", "others", "column", "reason"), RARER)
    def test_gate_and_reason(
        self, pod: Pod, pool: NodePool, others: Mapping[str, Any], column: str, reason: str
    ) -> None:
        [row] = gate_rows(explained(pod, pool, **others))
        assert (COLUMNS[row.failed], row.reason) == (column, reason)

    @pytest.mark.parametrize(("rejection", "text"), [
        (NotReservable(), "waiting for reserved capacity that other new nodes hold"),
        (ReservationsFull(), "its reservations are full, and it allows neither on-demand nor spot"),
        (NoTemplates(), "nodepool requirements filtered out all available instance types"),
    ])  # fmt: skip
    def test_other_reasons_as_text(self, rejection: NoTemplates | NotReservable | ReservationsFull, text: str) -> None:
        pool = PoolExplanation(nodepool="a", weight=0, position=0, failed=rejection.gate, rejection=rejection)
        assert miss_text(pool) == text

    def test_groups_without_an_explanation_yet(self) -> None:
        pods = [a_pod(name=f"{name}-0", cpu="64", owner=an_owner(name=name)) for name in "ab"]
        view = a_view(*pods)
        steps = ReportSteps(prepare_view(view, NOW_NS)[0], view.state)
        steps.solve()
        steps.explain_next()
        now = ClusterView(view.state, {}, evidence=view.evidence, pending=answer_of(steps.report))
        assert "1 of 2 groups explained" in plain_text([pending_freshness(overview_of(now), NOW_NS)])
        open_group = next(group for group in steps.report.groups if group.explanation is None)
        assert "why is being computed" in plain_text(pending_sentences(PendingEntry(open_group)))
        assert "✘ general: instance types" in now_text(open_group)
