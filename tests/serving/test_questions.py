"""Answers of the serving session: proportions, blockers, remedies, sweeps, known values."""

from __future__ import annotations

from functools import partial
from sys import getrefcount

import pytest

from karptui.aws.evidence import Evidence
from karptui.disruption.analysis_steps import AnalysisSteps
from karptui.errors import RequestError
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import ARCH, ZONE
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.pod import Pod
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.overlap import Overlap
from karptui.provisioning.prepared import prepare
from karptui.serving.blockers import PACED_FROM, Remedies, blockers
from karptui.serving.known_values import known_values, label_values
from karptui.serving.objects import proportion
from karptui.serving.studies import Studies
from karptui.session.answers import RowQuery, StudyAnswer
from karptui.session.blockers import BlockerGroup, blocker_entries
from karptui.session.cluster_view import ClusterView
from karptui.session.pools import pools_around
from karptui.session.replays import SharedBase
from karptui.state.cluster import EMPTY
from karptui.studies.policies import compare_values
from karptui.whatif.edits import ObjectRef
from karptui.whatif.proportion import first_shares, proportion_opening
from karptui.whatif.scenario import Opening, Replay
from karptui.whatif.sweep import Sweep, SweepPoint, parse_sweep
from tests.builders import NOW_NS, a_pod, a_pod_template, an_owner, present
from tests.builders.clusters import state_of
from tests.views.pools.rows import VIEW
from tests.views.why.test_words import analysed
from tests.whatif.remedies.asking import TYPES, a_pool

PODS = (
    a_pod(name="alone", template=a_pod_template(labels={"app": "alone"})),
    a_pod(name="job-1", labels={"app": "job"}, owner=an_owner(kind="Job", name="job", uid="job")),
    a_pod(name="job-2", labels={"app": "job"}, owner=an_owner(kind="Job", name="job", uid="job")),
    a_pod(name="bare", template=a_pod_template(labels={})),
)
WANTED = RowQuery(list="blockers", sort="held", group_by="owner", now_ns=NOW_NS)
VALUES = ("2", "0", "1")
SWEEP = Sweep(VALUES, setting="RESERVED_ENIS")


def compared(*pods: Pod, weights: tuple[int, int] = (20, 10)) -> ClusterView:
    """Return a view of two NodePools that both fit every pod, with their overlap."""
    pools = tuple(a_pool(name=name, weight=weight) for name, weight in zip("ab", weights, strict=True))
    inventory = Inventory(pods=pods, nodepools=pools)
    steps = AnalysisSteps(prepare(inventory, TYPES, Settings(), NOW_NS), 1)
    for _ in steps.compare_pools():
        pass
    return ClusterView(state_of(inventory), {}, ClusterView(EMPTY, {}), analysis=steps.analysis)


def overlap_of(view: ClusterView) -> Overlap:
    assert view.analysis is not None
    assert view.analysis.overlap is not None
    return view.analysis.overlap


def opening_of(values: dict[str, int], view: ClusterView) -> Opening:
    return proportion_opening(values, view.state, overlap_of(view))


def hint_of(pools: tuple[str, ...], view: ClusterView) -> str:
    return proportion(view, pools).hint


def test_the_partner_is_the_nodepool_that_shares_most_pods() -> None:
    overlap = overlap_of(VIEW)
    assert overlap.partners_of("primary") == ("primary", "spare")
    assert overlap.partners_of("rest") == ("rest", "primary")
    assert overlap.partners_of("gone") == ("gone",)


def test_a_nodepool_has_no_partner_until_the_overlap_is_known() -> None:
    assert pools_around(VIEW, NOW_NS).partners_of("primary") == ("primary", "spare")
    unknown = ClusterView(VIEW.state, VIEW.statuses, VIEW)
    assert pools_around(unknown, NOW_NS).partners_of("primary") == ("primary",)
    assert not proportion(unknown, ("primary",)).is_known


def test_the_first_shares_follow_the_weights() -> None:
    pools = VIEW.state.nodepools
    assert first_shares(("primary", "spare"), pools) == "primary=2 spare=1"
    assert first_shares(("rest", "primary"), pools) == "rest=1 primary=1", "a pool without a weight"
    assert first_shares(("primary", "gone"), pools) == "primary=1 gone=1"


def test_the_hint_counts_the_pods_that_fit_both_nodepools() -> None:
    assert overlap_of(VIEW).shared_by(("primary", "spare")) == 64
    assert "; 64 pods of ReplicaSet/shop/web may go to either." in hint_of(("primary", "spare"), VIEW)
    assert "; 0 pods may go to either." in hint_of(("a", "b"), VIEW)
    assert not proportion(ClusterView(EMPTY, {}), ("a", "b")).is_known
    many = compared(
        *(a_pod(name=f"p{i}", labels={"app": f"p{i}"}, owner=an_owner(kind="Job", name=f"j{i}")) for i in range(5))
    )
    assert " and 2 more may go to either." in hint_of(("a", "b"), many)


def test_the_scenario_of_a_proportion_edits_every_pod_with_labels() -> None:
    opening = opening_of({"a": 2, "b": 1}, compared(*PODS))
    assert (opening.name, opening.replay) == ("a 2, b 1", Replay.SCRATCH)
    assert [ref.key for ref in opening.documents] == ["a", "b"]
    touched = {edit.object for edit in opening.edits if hasattr(edit, "object")}
    assert {ref for ref in touched if ref.kind == "Pod"} == {
        ObjectRef("Pod", name, "default") for name in ("alone", "job-1", "job-2")
    }


def test_a_proportion_is_refused_if_no_pod_has_labels() -> None:
    with pytest.raises(RequestError, match="no pod with labels fits a and b alike"):
        opening_of({"a": 1, "b": 1}, compared(a_pod(name="bare", labels={})))


def keys_in(namespace: str) -> tuple[str, ...]:
    return tuple(entry.key for entry in blocker_entries(analysed()) if entry.namespace == namespace)


def test_groups_of_blockers_are_open_if_there_are_few_rows() -> None:
    served, view = blockers(), analysed()
    arranged = served.arrange(served.items(view, WANTED), WANTED)
    assert isinstance(arranged.items[0], BlockerGroup)
    assert len(arranged.items) > arranged.shown > 0


def test_many_rows_are_not_made_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.serving.blockers.PACED_FROM", 1)
    now = [0.0]

    def clock() -> float:
        now[0] += 1.0
        return now[0]

    assert PACED_FROM > 1
    served = blockers(clock)
    result = served.items(analysed(), WANTED)
    served.arrange(result, WANTED)
    assert served.items(analysed(), WANTED) is result
    now[0] += 20.0
    assert served.items(analysed(), WANTED) is not result


def test_remedies_follow_the_newest_analysis() -> None:
    keys = keys_in("gitlab")
    first, later = analysed(), analysed()
    asked = Remedies(SharedBase())
    remedy_list = asked.offered(first, keys, NOW_NS)
    assert remedy_list.remedies
    assert [entry.key for entry in remedy_list.members] == list(keys)
    again = asked.offered(later, keys, NOW_NS)
    assert again.members[0].findings is not remedy_list.members[0].findings
    assert not asked.offered(first, ("gone",), NOW_NS).members


def test_every_remedy_is_tried_and_one_is_best() -> None:
    asked, view, keys = Remedies(SharedBase()), analysed(), keys_in("gitlab")
    trials = asked.tried(view, keys, NOW_NS)
    assert len(trials.trials) == len(trials.kinds) > 0
    assert trials.best in trials.kinds
    assert asked.tried(view, (), NOW_NS).best is None


@pytest.fixture
def studies(monkeypatch: pytest.MonkeyPatch) -> Studies:
    monkeypatch.setattr("karptui.serving.studies.MOST_JOBS", 1)  # run points in this process
    view = analysed()
    return Studies(lambda: view)


def test_a_sweep_keeps_the_order_of_values_and_replays_all_pods_if_none_is_pending(studies: Studies) -> None:
    result = present(studies.sweep(SWEEP, Replay.PENDING, NOW_NS).value)
    assert [point.value for point in result.points] == list(VALUES)
    assert result.mode is Replay.SCRATCH
    chosen = present(studies.sweep(SWEEP, Replay.REMOVE, NOW_NS).value)
    assert chosen.mode is Replay.REMOVE, "the user chose it"


def test_a_cancelled_sweep_has_no_answer(studies: Studies, monkeypatch: pytest.MonkeyPatch) -> None:
    def cancelling(common: object, value: str, is_stopped: object) -> SweepPoint:
        studies.cancel()
        return SweepPoint(value=value)

    monkeypatch.setattr("karptui.session.sweeper.point_of", cancelling)
    assert studies.sweep(SWEEP, Replay.PENDING, NOW_NS) == StudyAnswer(None)


def test_values_of_a_disruption_setting_are_compared_with_the_current_cluster(studies: Studies) -> None:
    compared_values = partial(compare_values, horizon_ns=3600 * NS_PER_SECOND, seeds=1)
    sweep = parse_sweep("NodePool/general:spec.disruption.consolidateAfter=30s,1h")
    comparison = present(studies.answer(partial(compared_values, sweep=sweep), NOW_NS).value)
    assert [outcome.policy for outcome in comparison.outcomes] == ["", "30s", "1h"]
    assert comparison.recommended is not None
    bad = parse_sweep("NodePool/none:spec.disruption.consolidateAfter=30s")
    assert studies.answer(partial(compared_values, sweep=bad), NOW_NS).problem


def in_(key: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key, "In", values)


def of(name: str, *arches: str, zones: tuple[str, ...] = ()) -> InstanceType:
    offerings = tuple(Offering(requirements=(in_(ZONE, zone),), price_per_hour=1.0) for zone in zones)
    return InstanceType(name=name, requirements=(in_(ARCH, *arches),), capacity={}, offerings=offerings)


def test_label_values_of_types_and_offerings_are_unique_and_sorted() -> None:
    types = (of("a", "arm64", zones=("b", "a")), of("b", "amd64", "arm64", zones=("a",)))
    assert label_values(types) == {ARCH: ("amd64", "arm64"), ZONE: ("a", "b")}


def viewed(types: tuple[InstanceType, ...]) -> ClusterView:
    state = state_of(Inventory(nodepools=(NodePool(name="one"),)))
    return ClusterView(state, {}, evidence=Evidence(instance_types=types))


def test_values_are_computed_once_for_the_same_types_and_earlier_types_are_released() -> None:
    types = (of("a", "arm64"),)
    view, held = viewed(types), getrefcount(types)
    assert known_values(view).types is known_values(view).types
    assert getrefcount(types) > held
    assert known_values(viewed((of("b", "amd64"),))).labels == {ARCH: ("amd64",)}
    assert getrefcount(types) == held


def test_values_from_template_labels_of_nodepools_are_added() -> None:
    pools = (
        NodePool(name="one", template_labels={"team": "blue", ARCH: "riscv64"}),
        NodePool(name="two", template_labels={"team": "amber"}),
    )
    state = state_of(Inventory(nodepools=pools))
    view = ClusterView(state, {}, evidence=Evidence(instance_types=(of("a", "arm64"),)))
    assert known_values(view).labels == {ARCH: ("arm64", "riscv64"), "team": ("amber", "blue")}
