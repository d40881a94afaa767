"""Some hostile inputs per target; ``python tools/fuzz.py`` tries 50,000."""

from __future__ import annotations

import pytest

from tools import fuzz

TARGETS = {target.name: target for target in fuzz.targets()}


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_input_is_read_or_refused_with_an_expected_error(name: str) -> None:
    assert fuzz.fuzz((TARGETS[name],), range(30), seed=11) == []


def test_an_unexpected_error_is_reported() -> None:
    def fails(_: bytes) -> object:
        raise KeyError("x")

    (result, *_) = fuzz.fuzz((fuzz.Target("broken", fails, (ValueError,), (b"{}",)),), range(2), seed=1)
    assert result.problem.startswith("KeyError")
