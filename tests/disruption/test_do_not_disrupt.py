"""What Karpenter says of the annotation of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.disruption.do_not_disrupt import record
from karptui.disruption.events import Recorder
from karptui.karpenter.do_not_disrupt import read_value
from tests.builders import HOUR_NS, NOW_NS, a_pod


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("true", {}),
        ("2h", ["DoNotDisruptUntil: The karpenter.sh/do-not-disrupt grace period will elapse at 2026-11-20T13:00:00Z"]),
        (
            "30m",
            [
                (
                    "DoNotDisruptGracePeriodElapsed: The karpenter.sh/do-not-disrupt grace period has elapsed, pod is"
                    " now disruptable"
                )
            ],
        ),
        (
            "1d",
            [
                (
                    "InvalidDoNotDisruptAnnotation: Invalid karpenter.sh/do-not-disrupt annotation: failed to parse"
                    ' "1d" as a duration: time: unknown unit "d" in duration "1d", ignoring annotation'
                )
            ],
        ),
        (
            "0s",
            [
                (
                    "InvalidDoNotDisruptAnnotation: Invalid karpenter.sh/do-not-disrupt annotation:"
                    ' duration "0s" must be positive, ignoring annotation'
                )
            ],
        ),
    ],
)
def test_karpenters_events(text: str, said: dict[str, Any] | list[str]) -> None:
    recorder = Recorder()
    record(recorder, a_pod(name="job"), read_value(text).at(NOW_NS - HOUR_NS, NOW_NS))
    assert recorder.by_object() == ({"Pod/default/job": said} if said else {})
    assert len(recorder.published) == len(said)
