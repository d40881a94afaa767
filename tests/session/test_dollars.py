from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.aws.prices import Price, PriceOrigin, PriceSource
from karptui.session.costs import total_of
from karptui.session.dollars import Dollars, Part, Payer, dollars_of, over_time
from karptui.session.nodes import NodeEntry
from karptui.session.pods import PodEntry, PodOwner
from tests.builders import a_node, a_nodeclaim, a_pod


def priced(per_hour: float) -> Price:
    return Price(per_hour, per_hour, "USD", PriceOrigin(PriceSource.AWS, 0))


def entry(name: str, price: float | None, cpu: str = "4", memory: str = "16Gi", gpus: str = "0") -> NodeEntry:
    node = a_node(name=name, allocatable={"cpu": cpu, "memory": memory, "pods": "50", "nvidia.com/gpu": gpus})
    return NodeEntry(node, None, price=priced(price) if price is not None else None)


def pod(name: str, node: str, cpu: str = "1", memory: str = "1Gi", **more: object) -> PodEntry:
    namespace = str(more.pop("namespace", "web"))
    result = a_pod(name=name, node=node, cpu=cpu, memory=memory, namespace=namespace, **more)  # type: ignore[arg-type]
    return PodEntry(result.key, result, made_by=PodOwner("Deployment", name[:3]))


def by_name(dollars: Dollars) -> dict[str, Payer]:
    return {payer.name or str(payer.part): payer for payer in dollars.payers}


NODES = st.lists(
    st.tuples(
        st.one_of(st.none(), st.floats(0, 100)), st.sampled_from(["0", "2", "64"]), st.sampled_from(["0", "1Gi", "2Ti"])
    ),
    max_size=5,
)
PODS = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.sampled_from(["0", "250m", "90"]),
        st.sampled_from(["0", "1Mi", "3Ti"]),
        st.sampled_from(["a", "b", "c"]),
        st.booleans(),
        st.sampled_from(["Running", "Succeeded"]),
    ),
    max_size=12,
)


@given(NODES, PODS, st.sampled_from(["namespace", "owner", "label=team"]))
def test_the_parts_add_up_to_the_clusters_cost(
    nodes: list[tuple[float | None, str, str]],
    pods: list[tuple[int, str, str, str, bool, str]],
    grouping: str,
) -> None:
    entries = [entry(f"n{at}", price, cpu, memory) for at, (price, cpu, memory) in enumerate(nodes)]
    entries.append(NodeEntry(None, a_nodeclaim(name="new"), price=priced(0.25)))
    bound = [
        pod(
            f"p{at}", f"n{node}", cpu, memory, namespace=name, phase=phase, daemonset="agent" if is_daemon else "",
            labels={"team": name} if name != "c" else {},
        )
        for at, (node, cpu, memory, name, is_daemon, phase) in enumerate(pods)
    ]  # fmt: skip
    dollars = dollars_of(entries, bound, grouping)
    assert dollars.per_hour == pytest.approx(total_of(entries).per_hour, abs=1e-9)
    assert all(payer.per_hour >= 0 for payer in dollars.payers)
    assert {payer.part for payer in dollars.payers} >= {Part.DAEMONSETS, Part.IDLE}
    assert len({payer.key for payer in dollars.payers}) == len(dollars.payers)
    on_nodes = sum(entry.pod.phase == "Running" and int(entry.pod.node_name[1:]) < len(nodes) for entry in bound)
    assert sum(payer.pods for payer in dollars.payers) == on_nodes
    assert len(dollars.unpriced) == total_of(entries).unpriced


def test_a_pod_that_requests_a_quarter_of_everything_pays_a_quarter() -> None:
    payers = by_name(
        dollars_of(
            [entry("n", 1.0)],
            [pod("a", "n", "1", "4Gi"), pod("b", "n", "2", "8Gi", namespace="db"), pod("c", "", "3", "9Gi")],
            "namespace",
        )
    )
    assert payers["web"].per_hour == pytest.approx(0.25)
    assert payers["db"].per_hour == pytest.approx(0.5)
    assert payers["idle"].per_hour == pytest.approx(0.25)
    assert (payers["idle"].cpu_millis, payers["idle"].memory_bytes) == (1000, 4 * 2**30)
    assert payers["daemonsets"].per_hour == 0


def test_a_pod_with_the_gpu_pays_most_of_its_node() -> None:
    with_gpu = pod("train", "n", "1", "1Gi", requests={"nvidia.com/gpu": "1"}, namespace="ml")
    payers = by_name(dollars_of([entry("n", 1.0, gpus="1")], [with_gpu, pod("web", "n", "3", "15Gi")], "namespace"))
    assert payers["ml"].per_hour > 0.8
    assert payers["idle"].per_hour == pytest.approx(0)


def test_nothing_is_idle_if_requests_exceed_the_capacity() -> None:
    payers = by_name(dollars_of([entry("n", 1.0)], [pod("a", "n", "12", "48Gi")], "namespace"))
    assert (payers["web"].per_hour, payers["idle"].per_hour) == (pytest.approx(1.0), pytest.approx(0.0))
    assert payers["idle"].cpu_millis == 0


def test_daemonsets_and_static_pods_are_separate_in_every_grouping() -> None:
    static = a_pod(name="proxy", node="n", cpu="1", memory="4Gi", annotations={"kubernetes.io/config.mirror": "x"})
    for grouping in ("namespace", "owner", "label=app"):
        entries = [pod("agent", "n", "1", "4Gi", daemonset="agent"), PodEntry(static.key, static)]
        dollars = dollars_of([entry("n", 1.0)], entries, grouping)
        assert [payer.part for payer in dollars.payers] == [Part.DAEMONSETS, Part.IDLE]
        assert dollars.payers[0].per_hour == pytest.approx(0.5)


def test_owners_are_named_with_kind_and_namespace_and_bare_pods_alone() -> None:
    bare = PodEntry("ops/shell", a_pod(name="shell", namespace="ops", node="n"))
    dollars = dollars_of([entry("n", 1.0)], [pod("web-1", "n"), bare], "owner")
    assert [payer.name for payer in dollars.payers[:2]] == ["Deployment/web/web", "Pod/ops/shell"]


def test_nodes_without_a_price_are_named_and_marked() -> None:
    dollars = dollars_of([entry("a", None), entry("b", 1.0)], [pod("x", "a"), pod("y", "b")], "namespace")
    assert dollars.unpriced == ("a",)
    assert (by_name(dollars)["web"].unpriced, by_name(dollars)["idle"].unpriced) == (1, 1)


def test_costs_are_averaged_over_recorded_moments() -> None:
    alone = dollars_of([entry("n", 1.0)], [pod("a", "n", "1", "4Gi")], "namespace")
    both = dollars_of(
        [entry("n", 1.0)], [pod("a", "n", "1", "4Gi"), pod("b", "n", "1", "4Gi", namespace="db")], "namespace"
    )
    dollars = over_time({30: both, 10: alone, 20: None})
    payers = by_name(dollars)
    assert (dollars.recorded, dollars.asked) == (2, 3)
    assert payers["web"].per_hour == pytest.approx(0.25)
    assert payers["db"].per_hour == pytest.approx(0.125)
    assert [(spent.at_ns, round(spent.per_hour, 9)) for spent in payers["db"].series] == [(10, 0.0), (30, 0.25)]
    assert dollars.per_hour == pytest.approx(1.0)
    assert all(payer.all_per_hour == pytest.approx(1.0) for payer in dollars.payers)
    assert over_time({1: None}) == Dollars((), (), 0, 1)
