"""What the garbage collector does while a cluster is read."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from karptui.cli.loading import collector_at_rest


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_it_rests_and_then_leaves_alone_what_was_read() -> None:
    with collector_at_rest():
        assert not gc.isenabled()
        read: list[list[object]] = [[] for _ in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() > len(read)


def test_it_works_again_where_reading_fails() -> None:
    with pytest.raises(ValueError, match="no snapshot"), collector_at_rest():
        raise ValueError("no snapshot")
    assert gc.isenabled()


def test_what_another_cluster_was_made_of_is_let_go() -> None:
    with collector_at_rest():
        pass
    with collector_at_rest():
        assert gc.get_freeze_count() == 0
