from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from karptui.karpenter.labels import HOSTNAME, ZONE
from karptui.kube.pod import PodAffinityTerm, TopologySpreadConstraint
from karptui.kube.selectors import LabelSelector, NodeSelectorTerm, PreferredSchedulingTerm
from karptui.kube.taints import Taint
from karptui.provisioning.solution import solve
from karptui.whatif.edits import DeleteObject, ObjectRef, SetField
from karptui.whatif.remedies.pending.remedy import Attempt, AttemptStep, RemedyKind, attempt, ref_of
from karptui.whatif.remedies.pending.search import FIXED_TYPES, MOST_TRIALS
from tests.builders import a_daemonset, a_pod, a_pod_template, a_requirement, amounts, an_instance_type, present
from tests.whatif.remedies.asking import a_base, a_pool, a_search, asked, fields_of, find_remedies, of_kind

WEB = LabelSelector((("app", "web"),))


class TestRequests:
    def test_the_largest_request_that_fits_the_nearest_type(self) -> None:
        pod = a_pod(cpu="3", memory="40Gi")
        daemonset = a_daemonset(cpu="100m", memory="200Mi")
        report = asked(a_base(pod, daemonsets=(daemonset,)), pod)
        [remedy] = of_kind(report, RemedyKind.REQUEST)
        assert remedy.words == "request at most 32,568Mi (31Gi) of memory"
        assert fields_of(remedy)[0].value == "32568Mi"
        assert remedy.gain.instance_type == "r5.xlarge"

    def test_equal_amounts_are_tried_once_and_zero_is_not_tried(self) -> None:
        pod = a_pod(cpu="8")
        pools = [a_pool(name="a"), a_pool(name="b")]
        assert len(of_kind(asked(a_base(pod, pools=pools), pod), RemedyKind.REQUEST)) == 1
        greedy = a_pod(cpu="8", memory="1Gi")
        daemonset = a_daemonset(cpu="5", memory="")
        assert of_kind(asked(a_base(greedy, daemonsets=(daemonset,)), greedy), RemedyKind.REQUEST) == []


class TestDaemonSets:
    def test_a_daemonset_that_requests_the_missing_amount(self) -> None:
        pod = a_pod(cpu="1900m")
        small, large = a_daemonset(name="small", cpu="50m"), a_daemonset(name="large", cpu="200m")
        types = (an_instance_type(name="m5.large", cpu="2"),)
        report = asked(a_base(pod, types=types, daemonsets=(small, large)), pod)
        [remedy] = of_kind(report, RemedyKind.DAEMONSET)
        assert remedy.subject == f"DaemonSet {large.key}"
        assert remedy.edits == (DeleteObject(ObjectRef("DaemonSet", large.name, large.namespace)),)


class TestOtherPods:
    def test_a_spread_that_cannot_be_satisfied(self) -> None:
        spread = TopologySpreadConstraint(1, "company.io/rack", "DoNotSchedule", WEB)
        soft = TopologySpreadConstraint(1, ZONE, "ScheduleAnyway", WEB)
        pod = a_pod(topology_spread=(soft, spread))
        [remedy] = of_kind(asked(a_base(pod), pod), RemedyKind.SPREAD)
        assert remedy.words == "spread over company.io/rack with ScheduleAnyway instead of DoNotSchedule"
        assert fields_of(remedy)[0].path == ("spec", "topologySpreadConstraints", 1, "whenUnsatisfiable")

    def test_an_affinity_without_matching_pods(self) -> None:
        pod = a_pod(pod_affinity=(PodAffinityTerm(ZONE, LabelSelector((("app", "nobody"),))),))
        [remedy] = of_kind(asked(a_base(pod), pod), RemedyKind.AFFINITY)
        assert remedy.words == f"no longer keep to the pods of its affinity by {ZONE}"

    def test_anti_affinity_that_allows_one_pod_per_run(self) -> None:
        term = PodAffinityTerm(ZONE, WEB)
        template = a_pod_template(pod_anti_affinity=(term,))
        pods = [a_pod(name=f"web-{i}", template=template) for i in range(3)]
        base = a_base(*pods)
        failing = [pod for pod in pods if pod.key in solve(base.prepared).errors]
        [remedy] = of_kind(asked(base, *failing), RemedyKind.AFFINITY)
        assert remedy.words == f"no longer keep away from the pods of its anti-affinity by {ZONE}"
        assert len(failing) == 2
        assert remedy.gain.placed == 2
        assert len(remedy.edits) == 3


NO_POOL = NodeSelectorTerm((a_requirement("karpenter.sh/nodepool", "DoesNotExist"),))


class TestIgnored:
    @pytest.mark.parametrize(("fields", "words"), [
        ({"node_selector": {HOSTNAME: "node-1"}}, f"no longer request {HOSTNAME}=node-1"),
        ({"preferred_node_terms": (PreferredSchedulingTerm(7, NO_POOL),)}, "drop the node preference of weight 7"),
        ({"required_node_terms": (NodeSelectorTerm(match_fields=(a_requirement("metadata.name", "In", "x"),)),)},
         "no longer request metadata.name In x"),
    ])  # fmt: skip
    def test_remedies_for_pods_that_karpenter_ignores(self, fields: Mapping[str, Any], words: str) -> None:
        pod = a_pod(**fields)
        base = a_base(pod)
        assert base.prepared.ignored
        report = find_remedies(base, (pod,), None)
        assert [remedy.words for remedy in report.remedies] == [words]

    @pytest.mark.parametrize(("name", "is_tried"), [("karpenter", False), ("keda", True)])
    def test_karpenters_own_pod_is_not_moved_to_managed_nodes(self, name: str, *, is_tried: bool) -> None:
        term = NodeSelectorTerm((a_requirement("karpenter.sh/nodepool", "DoesNotExist"),))
        pod = a_pod(required_node_terms=(term,), labels={"app.kubernetes.io/name": name})
        report = find_remedies(a_base(pod), (pod,), None)
        assert any("karpenter.sh/nodepool" in remedy.words for remedy in report.remedies) is is_tried


class TestSearch:
    def test_an_estimate_of_the_smallest_sufficient_step(self) -> None:
        pod = a_pod(cpu="64")
        search = a_search(a_base(pod), pod)
        search.step()
        steps = tuple(
            AttemptStep(
                f"to {cpu}", (SetField(ref_of(pod), ("spec", "containers", 0, "resources", "requests", "cpu"), cpu),)
            )
            for cpu in ("4", "3", "2", "1")
        )
        words: list[str] = []

        def tried(guess: int | None) -> Iterator[bool]:
            remedy = yield from search._try(Attempt(RemedyKind.REQUEST, "the pods", steps, guess))
            assert remedy is not None
            words.append(remedy.words)

        for guess in (0, 1, 3, None):
            list(tried(guess))
        assert words == ["to 4"] * 4

    def test_types_of_a_snapshot_do_not_follow_settings(self) -> None:
        pod = a_pod(memory="64Gi")
        assert asked(a_base(pod, fixed=True), pod).left_out == (FIXED_TYPES,)
        assert asked(a_base(pod, fixed=False), pod).left_out == ()

    def test_the_number_of_trials_is_limited(self) -> None:
        pools = [a_pool(name=f"pool-{i}", taints=(Taint(f"taint-{i}", "NoSchedule"),)) for i in range(MOST_TRIALS)]
        pod = a_pod()
        report = asked(a_base(pod, pools=pools), pod)
        assert report.tried == MOST_TRIALS
        assert any("are left out" in text for text in report.left_out)

    def test_displaced_pods_are_named(self) -> None:
        first, other = (
            a_pod(name="first", cpu="1950m", node_selector={"tier": "gold"}),
            a_pod(name="other", cpu="1900m"),
        )
        pools, types = [a_pool(limits=amounts({"cpu": "2"}))], (an_instance_type(name="m5.large", cpu="2"),)
        edits = (SetField(ref_of(first), ("spec", "nodeSelector"), None),)
        gain = present(attempt(a_base(first, other, pools=pools, types=types), edits, (first,), {first.key}))
        assert (gain.placed, gain.displaced) == (1, (other.key,))
