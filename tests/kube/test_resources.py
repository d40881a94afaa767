from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from karptui.kube import resources
from karptui.kube.pod import ContainerRequests, ContainerStatusResources, effective_requests
from karptui.kube.quantity import Quantity, QuantityFormat, parse_quantity

lists = st.dictionaries(
    st.sampled_from(["cpu", "memory", "pods"]),
    st.builds(Quantity, st.integers(min_value=-(10**20), max_value=10**20), st.sampled_from(list(QuantityFormat))),
)


def of(**amounts: str) -> dict[str, Quantity]:
    return {name: parse_quantity(text) for name, text in amounts.items()}


def text(amounts: resources.ResourceList) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def test_amounts_are_added_by_name_in_the_first_format() -> None:
    assert text(resources.add(of(cpu="100m", memory="1Ki"), of(memory="1k", pods="1"), of(cpu="0.9"))) == {
        "cpu": "1",
        "memory": "2024",
        "pods": "1",
    }
    assert text(resources.add(of(memory="0"), of(memory="1Gi"), of(memory="1Gi"))) == {"memory": "2Gi"}
    assert resources.add() == {}


@given(lists, lists)
def test_addition_does_not_depend_on_order_but_for_the_format(a: dict[str, Quantity], b: dict[str, Quantity]) -> None:
    quantities, other = resources.add(a, b), resources.add(b, a)
    assert {name: amount.nano for name, amount in quantities.items()} == {
        name: amount.nano for name, amount in other.items()
    }


@given(lists, lists)
def test_the_maximum_bounds_every_list(a: dict[str, Quantity], b: dict[str, Quantity]) -> None:
    largest = resources.maximum((a, b))
    assert set(largest) == set(a) | set(b)
    for name, amount in largest.items():
        assert amount in (a.get(name), b.get(name))
        assert all(amount.nano >= amounts[name].nano for amounts in (a, b) if name in amounts)


def test_reads_the_common_resources_rounded_up_and_zero_where_missing() -> None:
    amounts = of(cpu="100100u", memory="1.5", pods="110")
    assert resources.cpu_millis(amounts) == 101
    assert resources.memory_bytes(amounts) == 2
    assert resources.pod_count(amounts) == 110
    assert resources.nano(amounts, "cpu") == 100_100_000
    assert [f(resources.EMPTY) for f in (resources.cpu_millis, resources.memory_bytes, resources.pod_count)] == [
        0,
        0,
        0,
    ]
    assert resources.nano(amounts, "nvidia.com/gpu") == 0


Amounts = dict[str, str]


def app(name: str = "app", /, **amounts: str) -> ContainerRequests:
    return ContainerRequests(name, of(**amounts))


def sidecar(name: str = "sidecar", /, **amounts: str) -> ContainerRequests:
    return ContainerRequests(name, of(**amounts), is_sidecar=True)


def status(actuated: Amounts, allocated: Amounts | None = None) -> ContainerStatusResources:
    return ContainerStatusResources(of(**actuated), of(**(allocated or {})))


containers = st.lists(st.integers(min_value=0, max_value=8), max_size=4)


@given(containers, containers, containers)
def test_effective_requests_cover_init_and_running_phases(
    apps: list[int], sidecars: list[int], inits: list[int]
) -> None:
    result = effective_requests(
        containers=[app(f"a{i}", cpu=str(cpu)) for i, cpu in enumerate(apps)],
        init_containers=[
            *(sidecar(f"s{i}", cpu=str(cpu)) for i, cpu in enumerate(sidecars)),
            *(app(f"i{i}", cpu=str(cpu)) for i, cpu in enumerate(inits)),
        ],
    )
    expected = sum(sidecars) + max([sum(apps), *inits])
    assert (result["cpu"].units if result else 0) == expected
