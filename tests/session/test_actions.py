from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.actions.action import Operation, action_on
from karptui.decode.kinds import Kind
from karptui.session.actions import Preview, is_shown
from karptui.state.cluster import EMPTY
from karptui.state.reducer import Batch, KindDelta, reduce
from tests.builders import NOW_NS, a_nodeclaim, a_pod


@pytest.mark.parametrize(
    ("operation", "kind", "item"),
    [(Operation.EVICT, Kind.POD, a_pod()), (Operation.DELETE, Kind.NODECLAIM, a_nodeclaim())],
)
def test_a_removal_is_shown_once_the_object_is_deleted_or_new(operation: Operation, kind: Kind, item: Any) -> None:
    preview = Preview(action=action_on(operation, str(kind), item.key), uid=item.uid)
    for seen, expected in (
        (item, False),
        (replace(item, deletion_ns=NOW_NS), True),
        (replace(item, uid="another"), True),
        (None, True),
    ):
        state = reduce(EMPTY, Batch({kind: KindDelta({item.key: seen} if seen is not None else {})}))
        assert is_shown(preview, state) is expected
