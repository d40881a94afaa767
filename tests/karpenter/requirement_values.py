"""Short constructors and random strategies of requirements on one key."""

from __future__ import annotations

from hypothesis import strategies as st

from karptui.karpenter.requirements import Requirement

VALUES = ["a", "b", "x", "1", "2", "5", "7", "9", "-3", "+5", "zebra", "99999999999999999999"]


def req(operator: str, *values: str, key: str = "k", min_values: int | None = None) -> Requirement:
    return Requirement.of(key, operator, values, min_values)


requirements = st.one_of(
    st.builds(
        lambda op, values, n: Requirement.of("k", op, values, n),
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from(VALUES), min_size=1, max_size=4),
        st.none() | st.integers(1, 5),
    ),
    st.sampled_from([req("Exists"), req("DoesNotExist")]),
    st.builds(lambda op, n: req(op, str(n)), st.sampled_from(["Gt", "Lt", "Gte", "Lte"]), st.integers(-5, 12)),
)
