from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from karptui.decode.kinds import Kind
from karptui.kube.pod import Pod
from karptui.state.cluster import ClusterState, inventory_of
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.state.usage import NO_USAGE
from tests.builders import NOW_NS, a_node, a_nodeclaim, a_pod, a_pod_template, an_owner
from tests.builders.clusters import state_of
from tests.state.stories import after, content

TEMPLATES = (
    a_pod_template(owners=(an_owner(),), cpu="250m", memory="1Gi"),
    a_pod_template(owners=(an_owner(kind="DaemonSet", name="agent"),), cpu="50m", memory="64Mi"),
    a_pod_template(owners=(an_owner(),), cpu="", memory="", requests={"nvidia.com/gpu": "2", "cpu": "0"}),
)
NODES = ("", "node-1", "node-2", "node-3")

pods = st.builds(
    lambda name, node, template, phase, deletion: a_pod(
        name=name, node=node, template=template, phase=phase, deletion_ns=deletion
    ),
    st.sampled_from(["a", "b", "c", "d", "e"]),
    st.sampled_from(NODES),
    st.sampled_from(TEMPLATES),
    st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
    st.sampled_from([0, NOW_NS]),
)
nodes = st.builds(
    lambda name, provider: a_node(name=name, provider_id=provider),
    st.sampled_from(NODES[1:]),
    st.sampled_from(["", "aws:///a/i-1", "aws:///a/i-2"]),
)
claims = st.builds(
    lambda name, node, provider, stage: a_nodeclaim(name=name, node=node, provider_id=provider, stage=stage),
    st.sampled_from(["claim-1", "claim-2"]),
    st.sampled_from(NODES[1:]),
    st.sampled_from(["", "aws:///a/i-1", "aws:///a/i-2"]),
    st.sampled_from(["", "Launched", "Registered", "Initialized"]),
)
KINDS = {Kind.POD: pods, Kind.NODE: nodes, Kind.NODECLAIM: claims}


@st.composite
def changes(draw: Any) -> tuple[Kind, str, Any]:
    """Return one change: the new version of an object, or its deletion."""
    kind = draw(st.sampled_from(list(KINDS)))
    item = draw(KINDS[kind])
    return kind, item.key, item if draw(st.integers(0, 3)) else None


def batches(told: list[tuple[Kind, str, Any]], cuts: list[bool]) -> list[Batch]:
    """Return the changes split into batches: a new batch begins at each cut."""
    result: list[dict[Kind, dict[str, Any]]] = [{}]
    for index, (kind, key, item) in enumerate(told):
        if index < len(cuts) and cuts[index]:
            result.append({})
        result[-1].setdefault(kind, {})[key] = item
    return [Batch({kind: KindDelta(items) for kind, items in portion.items()}) for portion in result]


def from_scratch(state: ClusterState) -> ClusterState:
    """Return the state built in one step from the same objects."""
    return state_of(inventory_of(state))


@given(st.lists(changes(), max_size=40), st.lists(st.booleans(), max_size=40), st.lists(st.booleans(), max_size=40))
def test_the_split_into_batches_does_not_matter(told: list[Any], first: list[bool], second: list[bool]) -> None:
    assert content(after(*batches(told, first))) == content(after(*batches(told, second)))


@given(st.lists(changes(), max_size=40), st.lists(st.booleans(), max_size=40))
def test_many_changes_give_the_same_state_as_one_list(told: list[Any], cuts: list[bool]) -> None:
    state = after(*batches(told, cuts))
    assert content(state) == content(from_scratch(state))


@given(st.lists(changes(), max_size=20))
def test_repeating_the_last_version_of_every_object_changes_nothing(told: list[Any]) -> None:
    state = after(*batches(told, []))
    last = {(kind, key): item for kind, key, item in told}
    again = batches([(kind, key, item) for (kind, key), item in last.items()], [])
    assert after(*again, begin=state) is state


@given(st.lists(changes(), max_size=20), st.lists(changes(), max_size=20))
def test_a_new_list_replaces_everything_before_it(told: list[Any], listed: list[Any]) -> None:
    objects: dict[Kind, dict[str, Any]] = {kind: {} for kind in KINDS}
    for kind, key, item in listed:
        if item is not None:
            objects[kind][key] = item
    lists = Batch({kind: KindDelta(items, replaces=True) for kind, items in objects.items()})
    assert content(reduce(after(*batches(told, [])), lists)) == content(after(lists))


@given(st.permutations(["pods", "nodes", "claims"]), st.lists(pods, max_size=8), st.lists(nodes, max_size=4))
def test_the_order_of_kinds_does_not_matter(order: list[str], some_pods: list[Pod], some_nodes: list[Any]) -> None:
    portions = {
        "pods": [(Kind.POD, pod.key, pod) for pod in some_pods],
        "nodes": [(Kind.NODE, some_node.key, some_node) for some_node in some_nodes],
        "claims": [(Kind.NODECLAIM, "claim-1", a_nodeclaim(name="claim-1", provider_id="aws:///a/i-1"))],
    }
    expected = after(*batches([item for name in ("pods", "nodes", "claims") for item in portions[name]], []))
    assert content(after(*(batches(portions[name], [])[0] for name in order))) == content(expected)


@given(st.lists(pods, max_size=30))
def test_usage_is_the_sum_over_the_pods_of_each_node(some: list[Pod]) -> None:
    state = after(*(Batch({Kind.POD: KindDelta({pod.key: pod})}) for pod in some))
    for name in NODES[1:]:
        here = [pod for pod in state.pods.values() if pod.node_name == name and not pod.is_terminal]
        assert sorted(state.pods_on(name)) == sorted(pod.key for pod in here)
        total = sum(pod.requests["cpu"].nano for pod in here if "cpu" in pod.requests)
        usage = state.node_usage.get(name, NO_USAGE)
        assert usage.pods == len(here)
        assert sum(side["cpu"].nano for side in (usage.daemonset, usage.workload) if "cpu" in side) == total
