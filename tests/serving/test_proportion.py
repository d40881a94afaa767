from __future__ import annotations

import pytest

from karptui.disruption.analysis_steps import AnalysisSteps
from karptui.errors import RequestError
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.kube.pod import Pod
from karptui.provisioning import prepare
from karptui.provisioning.overlap import Overlap
from karptui.serving.objects import proportion
from karptui.session.cluster_view import ClusterView
from karptui.session.pools import pools_around
from karptui.state.cluster import EMPTY
from karptui.whatif.edits import ObjectRef
from karptui.whatif.proportion import first_shares, proportion_opening
from karptui.whatif.scenario import Opening, Replay
from tests.builders import NOW_NS, a_pod, a_pod_template, an_owner
from tests.builders.clusters import state_of
from tests.views.pools.rows import VIEW
from tests.whatif.remedies.asking import TYPES, a_pool

PODS = (
    a_pod(name="alone", template=a_pod_template(labels={"app": "alone"})),
    a_pod(name="job-1", labels={"app": "job"}, owner=an_owner(kind="Job", name="job", uid="job")),
    a_pod(name="job-2", labels={"app": "job"}, owner=an_owner(kind="Job", name="job", uid="job")),
    a_pod(name="bare", template=a_pod_template(labels={})),
)


def compared(*pods: Pod, weights: tuple[int, int] = (20, 10)) -> ClusterView:
    """Return a view of two NodePools that could take every pod, with their overlap."""
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


def test_the_pool_that_shares_most_pods_is_the_partner() -> None:
    overlap = overlap_of(VIEW)
    assert overlap.partners_of("primary") == ("primary", "spare")
    assert overlap.partners_of("rest") == ("rest", "primary")
    assert overlap.partners_of("gone") == ("gone",)


def test_a_pool_is_alone_until_it_is_known_who_shares_its_pods() -> None:
    assert pools_around(VIEW, NOW_NS).partners_of("primary") == ("primary", "spare")
    unknown = ClusterView(VIEW.state, VIEW.statuses, VIEW)
    assert pools_around(unknown, NOW_NS).partners_of("primary") == ("primary",)
    assert not proportion(unknown, ("primary",)).is_known


def test_shares_begin_with_the_weights() -> None:
    pools = VIEW.state.nodepools
    assert first_shares(("primary", "spare"), pools) == "primary=2 spare=1"
    assert first_shares(("rest", "primary"), pools) == "rest=1 primary=1", "a pool without a weight"
    assert first_shares(("primary", "gone"), pools) == "primary=1 gone=1"


def test_the_hint_names_the_pods_that_may_go_to_either() -> None:
    assert overlap_of(VIEW).shared_by(("primary", "spare")) == 64
    assert "; 64 pods of ReplicaSet/shop/web may go to either." in hint_of(("primary", "spare"), VIEW)
    assert "; 0 pods may go to either." in hint_of(("a", "b"), VIEW)
    assert not proportion(ClusterView(EMPTY, {}), ("a", "b")).is_known
    many = compared(
        *(a_pod(name=f"p{i}", labels={"app": f"p{i}"}, owner=an_owner(kind="Job", name=f"j{i}")) for i in range(5))
    )
    assert " and 2 more may go to either." in hint_of(("a", "b"), many)


def test_the_what_if_of_a_proportion() -> None:
    opening = opening_of({"a": 2, "b": 1}, compared(*PODS))
    assert (opening.name, opening.replay) == ("a 2, b 1", Replay.SCRATCH)
    assert [ref.key for ref in opening.documents] == ["a", "b"]
    touched = {edit.object for edit in opening.edits if hasattr(edit, "object")}
    assert {ref for ref in touched if ref.kind == "Pod"} == {
        ObjectRef("Pod", name, "default") for name in ("alone", "job-1", "job-2")
    }


def test_without_pods_to_spread_there_is_none() -> None:
    with pytest.raises(RequestError, match="no pod with labels fits a and b alike"):
        opening_of({"a": 1, "b": 1}, compared(a_pod(name="bare", labels={})))
