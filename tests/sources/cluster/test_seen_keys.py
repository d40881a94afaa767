from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from karptui.sources.cluster.resource_versions import SeenKeys

KEYS = st.sampled_from(["a", "b", "c", "d"])


def listed(*keys: str) -> SeenKeys:
    inventory = SeenKeys()
    inventory.begin()
    inventory.change(dict.fromkeys(keys, "object"))
    inventory.finish()
    return inventory


def test_a_list_that_breaks_off_leaves_everything_known() -> None:
    inventory = listed("a", "b")
    inventory.begin()
    inventory.change({"c": "object"})
    inventory.abandon()
    assert inventory.count == 3
    inventory.begin()
    assert inventory.finish() == {"a", "b", "c"}


def test_beginning_again_keeps_what_the_first_try_told() -> None:
    inventory = SeenKeys()
    inventory.begin()
    inventory.change({"a": "object"})
    inventory.begin()
    assert inventory.finish() == {"a"}


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
    inventory, held = SeenKeys(), set[str]()
    for operation, key in operations:
        match operation:
            case "add":
                inventory.change({key: "object"})
                held.add(key)
            case "remove":
                inventory.change({key: None})
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
