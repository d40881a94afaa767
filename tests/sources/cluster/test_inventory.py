from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from karptui.sources.cluster.inventory import Inventory

KEYS = st.sampled_from(["a", "b", "c", "d"])


def listed(*keys: str) -> Inventory:
    inventory = Inventory()
    inventory.begin()
    inventory.add(keys)
    inventory.finish()
    return inventory


def test_a_list_tells_what_is_gone() -> None:
    inventory = listed("a", "b")
    inventory.begin()
    inventory.add_one("b")
    assert (inventory.count, inventory.known_count) == (1, 2)
    assert inventory.finish() == {"a"}
    assert inventory.count == 1


def test_a_list_that_breaks_off_leaves_everything_known() -> None:
    inventory = listed("a", "b")
    inventory.begin()
    inventory.add(["c"])
    inventory.abandon()
    assert inventory.count == 3
    inventory.begin()
    assert inventory.finish() == {"a", "b", "c"}


def test_beginning_again_keeps_what_the_first_try_told() -> None:
    inventory = Inventory()
    inventory.begin()
    inventory.add(["a"])
    inventory.begin()
    assert inventory.finish() == {"a"}


def test_changes_outside_a_list() -> None:
    inventory = listed("a")
    inventory.add_one("b")
    inventory.remove_one("a")
    inventory.remove_one("nobody")
    assert inventory.count == 1
    assert inventory.finish() == frozenset()


def test_forgetting() -> None:
    inventory = listed("a")
    inventory.begin()
    inventory.add(["b"])
    assert inventory.forget() == {"a", "b"}
    assert inventory.count == 0


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KEYS),
        st.tuples(st.just("remove"), KEYS),
        st.tuples(st.sampled_from(["begin", "finish", "abandon", "forget"]), st.just("")),
    )
)


@given(OPERATIONS)
def test_consumers_that_heed_every_answer_hold_what_is_known(operations: list[tuple[str, str]]) -> None:
    """A consumer adds and removes what it is told; outside a list it holds exactly what the inventory knows."""
    inventory, held = Inventory(), set[str]()
    for operation, key in operations:
        match operation:
            case "add":
                inventory.add_one(key)
                held.add(key)
            case "remove":
                inventory.remove_one(key)
                held.discard(key)
            case "begin":
                inventory.begin()
            case "finish":
                held -= inventory.finish()
            case "abandon":
                inventory.abandon()
            case _:
                held -= inventory.forget()
    inventory.abandon()
    assert inventory.count == len(held)
    assert inventory.forget() == held
