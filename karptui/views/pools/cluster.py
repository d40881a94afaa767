"""What holds for all NodePools together: pods that several match, what nodes cost, and whether a weight has worked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from karptui.kube.units import age_text, count_text, instant_text
from karptui.provisioning.overlap import Overlap
from karptui.session.cluster_view import ClusterView
from karptui.session.controller_counts import LATELY_SECONDS, count_source
from karptui.session.costs import total_of
from karptui.session.nodes import NEEDED_FOR_WHY
from karptui.session.pools import PoolRow
from karptui.session.status import plural
from karptui.views.prices import total_words
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean

_NAMED: Final = 3
SPREAD: Final = (
    "no weight makes a ratio: for one, spread the pods over a label that the pools' templates set (p tries it as a "
    "what-if), or over karpenter.sh/capacity-type"
)


def cluster_lines(
    view: ClusterView, rows: Sequence[PoolRow], now_ns: int, *, is_short: bool = False
) -> tuple[Pieces, ...]:
    """Return the lines under the sentences of the row: overlap, and the check of what has come of weights."""
    return (*overlap_lines(view, is_short=is_short), check_line(view, rows, now_ns, is_short=is_short))


def overlap_lines(view: ClusterView, *, is_short: bool = False) -> tuple[Pieces, ...]:
    """Return how many pods match several NodePools and where they go; what is being waited for before that is known."""
    analysis = view.analysis
    if analysis is None or analysis.overlap is None:
        hidden = view.hidden.intersection(NEEDED_FOR_WHY)
        if hidden:
            named = " and ".join(map(plural, sorted(hidden)))
            return ((("overlap: ", Tone.MUTED), (f"not known: {named} may not be listed", Tone.WARNING)),)
        return ((("overlap: ", Tone.MUTED), ("which pods match several pools is being worked out", Tone.ACTIVE)),)
    found = analysis.overlap
    share = f" ({100 * found.several // found.pods}%)" if found.pods and not is_short else ""
    head = f"{count_text(found.several)} of {count_text(found.pods)} pods{share} match several pools"
    pieces: list[tuple[str, Tone]] = [("overlap: ", Tone.MUTED), (head, Tone.STRONG if found.several else Tone.MUTED)]
    where = where_they_go(found)
    if where:
        pieces.append((f"{',' if is_short else ' and'} go to {where}", Tone.NORMAL))
    if found.stranded:
        pieces.append((f" · {_matching(found.stranded)} pools whose limits are used up", Tone.FAULT))
    if found.none:
        pieces.append((f" · {_matching(found.none)} none", Tone.WARNING))
    lines: list[Pieces] = [tuple(pieces)]
    if found.several and not is_short:
        lines.append(((f"  {SPREAD}", Tone.MUTED),))
    return tuple(lines)


def _matching(pods: int) -> str:
    return f"{count_text(pods)} match{'es' * (pods == 1)}"


def where_they_go(found: Overlap) -> str:
    """Return the NodePools that pods which match several would go to, most pods first."""
    counts: Counter[str] = Counter()
    for kind in found.kinds:
        if len(kind.pools) > 1 and kind.goes_to:
            counts[kind.goes_to] += kind.pods
    named = [f"{clean(name)} {count_text(count)}" for name, count in counts.most_common(_NAMED)]
    more = f" and {len(counts) - _NAMED} more" if len(counts) > _NAMED else ""
    return ", ".join(named) + more


def check_line(view: ClusterView, rows: Sequence[PoolRow], now_ns: int, *, is_short: bool = False) -> Pieces:
    """Return how many NodeClaims each NodePool has got, and who counts."""
    source = count_source(view)
    made = sorted(((row.created(now_ns), row.name) for row in rows), key=lambda one: (-one[0], one[1]))
    named = ", ".join(f"{clean(name)} {count_text(count)}" for count, name in made if count) or "none"
    if not source.is_by_controller:
        hours = LATELY_SECONDS // 3600
        why = f" · {clean(source.why_not)}" if source.why_not and not is_short else ""
        label = f"check: NodeClaims of the last {hours} h{' that still exist' * (not is_short)}: "
        return ((label, Tone.MUTED), (named, Tone.NORMAL), (why, Tone.MUTED))
    since = f" since {instant_text(source.since_ns)}" if source.since_ns else ""
    label = f"check: NodeClaims created{since} by Karpenter's own counters ({clean(source.endpoint)}): "
    if is_short:
        label = "check: NodeClaims by Karpenter's counters: "
    lately = [(row.counted.created_since_look or 0, row.name) for row in rows if row.counted is not None]
    has_two = any(row.counted is not None and row.counted.created_since_look is not None for row in rows)
    seen = ""
    if has_two:
        new = ", ".join(f"{clean(name)} {count_text(count)}" for count, name in sorted(lately, reverse=True) if count)
        seen = f" · since {age_text(source.first_read_ns, now_ns)} ago: {new or 'none'}"
    return ((label, Tone.MUTED), (named, Tone.NORMAL), (seen, Tone.ACTIVE))


def cost_text(view: ClusterView) -> str:
    """Return what the nodes of all NodePools cost; nothing without such nodes."""
    nodes = [node for node in view.node_entries if node.pool]
    return total_words(total_of(nodes)) if nodes else ""
