"""`karptui explain pool`: its place in the order, limits, DaemonSets, and its types after each filter."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from karptui.cli.errors import no_such
from karptui.cli.loading import Loaded
from karptui.cli.pools import churn_of, compared
from karptui.session.pools import daemon_rows, pool_rows, with_last_hour
from karptui.views.pools.columns import pools_table
from karptui.views.pools.detail import DAEMONSETS, detail_lines, title_parts
from karptui.views.row import Pieces, Tone
from karptui.views.table import as_text, build_rows


def explain_pool(args: argparse.Namespace, loaded: Loaded) -> tuple[list[dict[str, Any]], Iterable[Pieces], Loaded]:
    """Return a NodePool as values and as lines.

    Raises:
        UsageError: when there is no such NodePool.
    """
    if args.name not in loaded.view.state.nodepools:
        raise no_such("NodePool", args.name, loaded.view.state.nodepools)
    view, notes = compared(loaded.view, loaded.now_ns)
    loaded = replace(loaded, view=view, notes=tuple(dict.fromkeys((*loaded.notes, *notes))))
    pools = with_last_hour(pool_rows(view), churn_of(loaded))
    row = next(one for one in pools if one.name == args.name)
    daemonsets = daemon_rows(view, row.name)
    counts = [
        {"filter": str(one.filter), "left": one.left, "removed_by": dict(one.reasons)} for one in row.types.counts
    ]
    values = {
        **pools_table().values(row, loaded.now_ns),
        "daemonsets": [DAEMONSETS.values(one, loaded.now_ns) for one in daemonsets],
        "types_after_each_filter": counts,
    }
    lines: list[Pieces] = [title_parts(row, has_prices=not args.disable_pricing), *detail_lines(row)]
    if daemonsets:
        rows = build_rows(DAEMONSETS, daemonsets, now_ns=loaded.now_ns)
        shown = [index for index, heading in enumerate(DAEMONSETS.headings()) if not heading.is_wide_only]
        lines += [(), (("DaemonSets on its new nodes", Tone.STRONG),)]
        lines += [((line, Tone.NORMAL),) for line in as_text(DAEMONSETS.headings(), rows, shown).splitlines()]
    return [values], lines, loaded
