"""What took the place of what."""

from __future__ import annotations

import pytest

from karptui.disruption.churn.life import Life
from karptui.disruption.churn.removal import Removal
from karptui.disruption.churn.succession import Succession, is_same_kind
from tests.builders import MINUTE_NS
from tests.disruption.churn.lives import a_life, ago


def names(found: tuple[Life, ...]) -> list[str]:
    return [life.claim for life in found]


LEFT = a_life("left", left=10, commanded_ns=ago(12))
MEANT = a_life("meant", born=11.9, made_for=Removal.UNDERUTILIZED)
ELSEWHERE = a_life("elsewhere", born=11.8, pool="spare", made_for=Removal.UNDERUTILIZED)
BYSTANDER = a_life("bystander", born=11.5)
LATE = a_life("late", born=8)


@pytest.mark.parametrize(
    ("life", "others", "events_since", "found"),
    [
        # Events name the replacements, in whatever NodePool they are.
        (LEFT, (MEANT, ELSEWHERE, BYSTANDER, LATE), 60, ["meant", "elsewhere"]),
        # They would have, had there been any.
        (LEFT, (BYSTANDER, LATE), 60, []),
        # The command is older than the events that are left, or there are none.
        (LEFT, (BYSTANDER, LATE), 5, ["bystander"]),
        (LEFT, (BYSTANDER, LATE), 0, ["bystander"]),
        # The beginning of the command is not known.
        (a_life("left", left=10), (a_life("made", born=20), a_life("older", born=30)), 0, ["made"]),
        # By force: pods wait first, and are provisioned for then.
        (a_life("left", left=10, why=Removal.EXPIRED), (BYSTANDER, LATE, a_life("much-later", born=2)), 60, ["late"]),
        (a_life("left", left=10, why=Removal.EXPIRED), (a_life("late", born=8, pool="spare"),), 60, []),
        # Nothing takes the place of what was empty, or never ran, or stays.
        (a_life("left", left=10, why=Removal.EMPTY), (BYSTANDER, LATE), 0, []),
        (a_life("left", left=10, why=Removal.SCALED_DOWN), (LATE,), 0, []),
        (a_life("left", left=10, why=Removal.LAUNCH_FAILED), (LATE,), 0, []),
        (a_life("stays"), (LATE,), 0, []),
    ],
)
def test_successors(life: Life, others: tuple[Life, ...], events_since: int, found: list[str]) -> None:
    since_ns = ago(events_since) if events_since else 0
    assert names(Succession((life, *others), since_ns).of(life)) == found


def test_the_same_again() -> None:
    life = a_life("left", left=10)
    others = (
        a_life("again", born=5),
        a_life("other-type", born=5, instance_type="c5.large"),
        a_life("other-price", born=5, capacity_type="on-demand"),
        a_life("other-pool", born=5, pool="spare"),
        a_life("before", born=11),
        Life(claim="unknown", pool="general", removed_ns=ago(1)),
    )
    assert names(Succession((life, *others), 0).again(life, 6 * MINUTE_NS)) == ["again"]
    assert names(Succession((life, *others), 0).again(life, 4 * MINUTE_NS)) == []


def test_what_is_not_known_is_not_the_same() -> None:
    assert not is_same_kind(a_life(instance_type=""), a_life(instance_type=""))
    life = a_life("left", left=10, instance_type="")
    assert Succession((life, a_life("late", born=5, instance_type="")), 0).again(life, 6 * MINUTE_NS) == ()
