"""All NodePools together: pods that match several, the effect of weights, and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from karptui.kube.units import age_text, count_text, counted, first_of, instant_text
from karptui.provisioning.overlap import Overlap
from karptui.session.answers import Overview
from karptui.session.churn import LATELY_SECONDS
from karptui.session.nodes import NEEDED_FOR_WHY
from karptui.session.pools import PoolsAround
from karptui.session.status import plural
from karptui.views.prices import total_words
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean

_NAMED: Final = 3
_NAMED_SHORT: Final = 5
SPREAD: Final = (
    "weights give no ratio: for a ratio, spread the pods over a label that the pools' templates set (Q tries it as a "
    "what-if), or over karpenter.sh/capacity-type"
)


def cluster_lines(
    around: PoolsAround, overview: Overview, now_ns: int, *, is_short: bool = False
) -> tuple[Pieces, ...]:
    """Return the lines below the row's text: overlap, and the check of weights."""
    return (*overlap_lines(around.overlap, overview, is_short=is_short), check_line(around, now_ns, is_short=is_short))


def overlap_lines(overlap: Overlap | None, overview: Overview, *, is_short: bool = False) -> tuple[Pieces, ...]:
    """Return the number of pods that match several NodePools and their destinations, or the state of loading."""
    if overlap is None:
        if hidden := overview.hidden.intersection(NEEDED_FOR_WHY):
            named = " and ".join(map(plural, sorted(hidden)))
            return ((("overlap: ", Tone.MUTED), (f"unknown: {named} may not be listed", Tone.WARNING)),)
        return ((("overlap: ", Tone.MUTED), ("which pods match several pools is being computed", Tone.ACTIVE)),)
    if not overlap.pods:
        return ()
    if len(overlap.pools) < 2:
        return _without_others(overlap)
    share = f" ({100 * overlap.several // overlap.pods}%)" if not is_short else ""
    head = f"{count_text(overlap.several)} of {count_text(overlap.pods)} pods{share} match several pools"
    pieces: list[tuple[str, Tone]] = [("overlap: ", Tone.MUTED), (head, Tone.STRONG if overlap.several else Tone.MUTED)]
    if where := _where_they_go(overlap):
        pieces.append((f" · new nodes from: {where}", Tone.NORMAL))
    if overlap.stranded:
        pieces.append((f" · {_matching(overlap.stranded)} pools whose limits are used up", Tone.FAULT))
    if overlap.none:
        pieces.append((f" · {_matching(overlap.none)} no pool", Tone.WARNING))
    lines: list[Pieces] = [tuple(pieces)]
    if overlap.several and not is_short:
        lines.append(((f"  {SPREAD}", Tone.MUTED),))
    return tuple(lines)


def _without_others(overlap: Overlap) -> tuple[Pieces, ...]:
    """Return the number of pods without a NodePool, if no two NodePools overlap."""
    of = f"of {counted(overlap.pods, 'pod')} "
    pieces: list[tuple[str, Tone]] = []
    if overlap.stranded:
        text = f"{count_text(overlap.stranded)} {of}{_match(overlap.stranded)} a NodePool whose limits are used up"
        pieces.append((text, Tone.FAULT))
    if overlap.none:
        lead = " · " if pieces else ""
        text = f"{lead}{count_text(overlap.none)} {'' if pieces else of}{_match(overlap.none)} no NodePool"
        pieces.append((text, Tone.WARNING))
    return (tuple(pieces),) if pieces else ()


def _match(pods: int) -> str:
    return "matches" if pods == 1 else "match"


def _matching(pods: int) -> str:
    return f"{count_text(pods)} {_match(pods)}"


def _where_they_go(overlap: Overlap) -> str:
    """Return the NodePools that pods which match several would go to, most pods first."""
    counts: Counter[str] = Counter()
    for kind in overlap.kinds:
        if len(kind.pools) > 1 and kind.goes_to:
            counts[kind.goes_to] += kind.pods
    return first_of([f"{clean(name)} {count_text(count)}" for name, count in counts.most_common()], _NAMED)


def check_line(around: PoolsAround, now_ns: int, *, is_short: bool = False) -> Pieces:
    """Return the number of NodeClaims per NodePool, and the source of the counts."""
    source = around.source
    created = sorted(((count.created, count.name) for count in around.counts), key=lambda entry: (-entry[0], entry[1]))
    named = _counts_text(created, _NAMED_SHORT if is_short else len(created))
    if not source.is_by_controller:
        hours = LATELY_SECONDS // 3600
        why = f" · {clean(source.why_not)}" if source.why_not and not is_short else ""
        label = f"NodeClaims created in the last {hours} h{' that still exist' * (not is_short)}: "
        return ((label, Tone.MUTED), (named, Tone.NORMAL), (why, Tone.MUTED))
    since = f" since {instant_text(source.since_ns)}" if source.since_ns else ""
    label = f"NodeClaims created{since}, by Karpenter's own counters ({clean(source.endpoint)}): "
    if is_short:
        label = "NodeClaims created: "
    lately = [(count.since_look or 0, count.name) for count in around.counts]
    has_two = any(count.since_look is not None for count in around.counts)
    seen = ""
    if has_two:
        new = ", ".join(f"{clean(name)} {count_text(count)}" for count, name in sorted(lately, reverse=True) if count)
        seen = f" · since {age_text(source.first_read_ns, now_ns)} ago: {new or 'none'}"
    return ((label, Tone.MUTED), (named, Tone.NORMAL), (seen, Tone.ACTIVE))


def _counts_text(created: Sequence[tuple[int, str]], most: int) -> str:
    named = [f"{clean(name)} {count_text(count)}" for count, name in created if count]
    return first_of(named, most) or "none"


def cost_text(around: PoolsAround) -> str:
    """Return the cost of the nodes of all NodePools, deleted ones included; empty without nodes."""
    cost = around.cost
    if not (cost.priced or cost.unpriced):
        return ""
    strays = f", with {counted(around.strays, 'node')} whose NodePool is gone" if around.strays else ""
    return f"{total_words(cost)}{strays}"
