"""The do-not-disrupt clock."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.disruption.events import Recorder
from karptui.karpenter.do_not_disrupt import UNPROTECTED, ProtectionKind, read_value
from tests.builders import HOUR_NS, NOW_NS, a_pod


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("true", ProtectionKind.ALWAYS), ("30m", ProtectionKind.ELAPSED), ("2h", ProtectionKind.TIMED),
        ("1.5h", ProtectionKind.TIMED), (".5h", ProtectionKind.ELAPSED), ("+2h", ProtectionKind.TIMED),
        ("false", ProtectionKind.INVALID), ("", ProtectionKind.INVALID), ("True", ProtectionKind.INVALID),
        ("true ", ProtectionKind.INVALID), ("1d", ProtectionKind.INVALID), ("90", ProtectionKind.INVALID),
        ("0", ProtectionKind.INVALID), ("0s", ProtectionKind.INVALID), ("-5m", ProtectionKind.INVALID),
        ("2H", ProtectionKind.INVALID), ("1h", ProtectionKind.ELAPSED),
    ],
)  # fmt: skip
def test_values_on_a_pod_that_began_an_hour_ago(text: str, kind: ProtectionKind) -> None:
    protection = read_value(text).at(NOW_NS - HOUR_NS, NOW_NS)
    assert protection.kind is kind
    assert protection.is_active is (kind in (ProtectionKind.ALWAYS, ProtectionKind.TIMED))


def test_the_clock_begins_when_the_kubelet_takes_the_pod() -> None:
    protection = read_value("2h").at(NOW_NS - HOUR_NS, NOW_NS)
    assert protection.until_ns == NOW_NS + HOUR_NS
    assert read_value("2h").at(0, NOW_NS).kind is ProtectionKind.NOT_STARTED
    assert read_value("2h").at(0, NOW_NS).is_active


def test_no_annotation_is_no_protection() -> None:
    assert not UNPROTECTED.is_active


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
def test_what_karpenter_says(text: str, said: dict[str, Any] | list[str]) -> None:
    recorder = Recorder()
    recorder.protection(a_pod(name="job"), read_value(text).at(NOW_NS - HOUR_NS, NOW_NS))
    assert recorder.by_object() == ({"Pod/default/job": said} if said else {})
    assert len(recorder.said) == len(said)
