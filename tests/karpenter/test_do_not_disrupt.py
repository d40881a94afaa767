from __future__ import annotations

import pytest

from karptui.karpenter.do_not_disrupt import ProtectionKind, read_value
from tests.builders import HOUR_NS, NOW_NS


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
def test_values_on_an_hour_old_pod(text: str, kind: ProtectionKind) -> None:
    protection = read_value(text).at(NOW_NS - HOUR_NS, NOW_NS)
    assert protection.kind is kind
    assert protection.is_active is (kind in (ProtectionKind.ALWAYS, ProtectionKind.TIMED))


def test_the_clock_begins_when_the_kubelet_takes_the_pod() -> None:
    protection = read_value("2h").at(NOW_NS - HOUR_NS, NOW_NS)
    assert protection.until_ns == NOW_NS + HOUR_NS
    assert read_value("2h").at(0, NOW_NS).kind is ProtectionKind.NOT_STARTED
    assert read_value("2h").at(0, NOW_NS).is_active
