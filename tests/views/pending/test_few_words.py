"""What a row of Pending says where there is little room."""

from __future__ import annotations

import pytest

from karptui.disruption.no_place import NO_TYPES, NO_ZONE_WORDS
from karptui.pending.messages import PodMessage
from karptui.provisioning.waiting_pods import problem_in_short
from karptui.views.pending.sentences import in_few_words, short_verdict
from tests.builders import MINUTE_NS, NOW_NS, SECOND_NS

_CLAIM = "PersistentVolumeClaim"
_NO_CLASS = 'storageclasses.storage.k8s.io "none" not found'
_UNBOUND = "pvc is considered unbound because it does not contain annotation"


@pytest.mark.parametrize(
    ("text", "few"),
    [
        ("✘ trino: memory short by 6,846Mi on r5a.8xlarge", "✘ trino: mem −6,846Mi on r5a.8xlarge"),
        (
            "✘ general: cpu short by 42.6, memory short by 13,698Mi on m6a.8xlarge; its limits leave 3 of 4",
            "✘ general: cpu −42.6, mem −13,698Mi",
        ),
        ("✘ resv: no type has topology.kubernetes.io/zone In [us-east-1f]", "✘ resv: no type has zone In [us-east-1f]"),
        (f"✘ {NO_TYPES}", "✘ no NodePool has any type"),
        (f"✘ general: {NO_ZONE_WORDS}", "✘ general: no zone is left"),
        ("✘ general: its nodes have no label company.io/tier", "✘ general: no label company.io/tier"),
        (
            "✘ a-pool-with-a-very-long-name: no compatible instance type is available",
            "✘ a-pool-with-a-very-long-name: no type is on offer",
        ),
        ("→ ip-10-0-67-16 of gpu", "→ ip-10-0-67-16 of gpu"),
    ],
)
def test_why_no_place_in_few_words(text: str, few: str) -> None:
    assert in_few_words(text) == few


@pytest.mark.parametrize(
    ("problem", "short", "few"),
    [
        (
            f'getting persistent volume claim, persistentvolumeclaims "data-db-2" not found ({_CLAIM}=data-db-2)',
            'persistentvolumeclaims "data-db-2" not found',
            'PVC "data-db-2" not found',
        ),
        (
            f"failed to validate pvc, failed to get storage class, {_NO_CLASS} ({_CLAIM}=db/data-db-3, StorageClass=a)",
            f"data-db-3: {_NO_CLASS}",
            'data-db-3: StorageClass "none" not found',
        ),
        (
            f"{_UNBOUND} (PersistentVolume=pv-1, {_CLAIM}=data-db-1, annotation=pv.kubernetes.io/bind-completed)",
            f"data-db-1: {_UNBOUND}",
            "data-db-1: pvc is considered unbound",
        ),
        (
            "failed to do, as it (perhaps) is",
            "failed to do, as it (perhaps) is",
            "failed to do, as it (perhaps) is",
        ),
    ],
)
def test_what_is_faulty_begins_with_the_innermost_error(problem: str, short: str, few: str) -> None:
    assert problem_in_short(problem) == short
    assert in_few_words(f"✘ refused: {short}") == f"✘ {few}"


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("FailedScheduling", "failed 4m"),
        ("Unschedulable", "refused 4m"),
        ("Nominated", "nominated"),
        ("InsufficientCapacityError", "sold out"),
    ],
)
def test_a_verdict_in_few_words(reason: str, text: str) -> None:
    said = PodMessage(reason=reason, message="", at_ns=NOW_NS - 4 * MINUTE_NS - 43 * SECOND_NS)
    assert short_verdict(said, NOW_NS) == text
