"""The verdict's findings about one object, for `karptui explain`."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any, Final

from karptui.cli.loading import Loaded
from karptui.cli.verdict import answered
from karptui.session.verdict import verdict_of_view
from karptui.verdict.finding import ClusterFinding, FindingCode
from karptui.views.row import Pieces, Tone
from karptui.views.verdict.lines import MARKS, verdict_values
from karptui.views.verdict.sentence import pending_reasons

_KEYS: Final = ("severity", "code", "text", "since", "objects")
_OF_ALL: Final = (FindingCode.KARPENTER_DOWN, FindingCode.NO_LEADER, FindingCode.STOPPED)
"""They concern whatever Karpenter manages."""
_OWNERS: Final = ("Pod/", "NodePool/")


def findings_about(
    loaded: Loaded, own: AbstractSet[str], around: AbstractSet[str] = frozenset()
) -> tuple[list[dict[str, Any]], list[Pieces]]:
    """Return the verdict's findings about an object, as values and as lines.

    Args:
        own: the keys of the object, ``Kind/namespace/name``.
        around: keys of what it depends on, such as the node of a pod; not for findings about other pods
            or NodePools.
    """
    view = answered(loaded, simulates=None, forecasts=False).view
    found = [finding for finding in verdict_of_view(view, loaded.now_ns) if _is_about(finding, own, around)]
    rows = verdict_values(found, loaded.now_ns, pending_reasons(view))
    marked = [(MARKS[row["severity"]], row["text"]) for row in rows]
    lines: list[Pieces] = [((f"{mark} ", tone), (text, Tone.NORMAL)) for (mark, tone), text in marked]
    return [{key: row[key] for key in _KEYS} for row in rows], lines


def _is_about(finding: ClusterFinding, own: AbstractSet[str], around: AbstractSet[str]) -> bool:
    if finding.code in _OF_ALL and any(key.startswith(("NodeClaim/", "NodePool/")) for key in own):
        return True
    # The reason of pending pods follows in the answer anyway.
    objects = () if finding.code is FindingCode.PENDING else finding.objects
    pods = {f"Pod/{key}" for key in (*finding.pending.pods, *finding.stuck_pods)}
    is_of_others = any(key.startswith(_OWNERS) for key in objects)
    return not own.isdisjoint((*objects, *pods)) or not (is_of_others or around.isdisjoint(objects))
