"""A table's filter and order, for whoever serves its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from karptui.session.answers import RowQuery
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry
from karptui.session.row_server import Arranged, List
from karptui.views.column import FieldKind, ItemT
from karptui.views.filters import FieldTerm, Query, Subject, parse_query
from karptui.views.table import Rows, Sort, TableSpec, build_rows

if TYPE_CHECKING:
    from karptui.session.facts import Around


def served(
    spec: TableSpec[ItemT],
    items: Callable[[ClusterView, RowQuery], Sequence[ItemT]],
    around: Callable[[ClusterView, str, int], Around | None] | None = None,
    *,
    grouped: Callable[[Sequence[ItemT], RowQuery, int], Sequence[ItemT]] | None = None,
    nodes: Callable[[Sequence[ItemT]], Sequence[NodeEntry]] | None = None,
) -> List:
    """Return a table as a list that the session serves.

    Args:
        items: All items of a view, unfiltered; the same object until one changes.
        around: From a view, the owner of the rows and the present to the facts around the rows.
        grouped: From rows in order and the unfiltered count to rows with group headings; None without groups.
        nodes: The nodes of the rows; the rows themselves if they are nodes.
    """

    def arrange(source: Sequence[ItemT], query: RowQuery) -> Arranged:
        text_filter = parse_query(query.filter_text, spec.subject)
        rows = build_rows(
            spec,
            source,
            query=text_filter,
            sort=Sort(query.sort, query.is_descending),
            is_notable_only=query.is_notable_only,
            now_ns=query.now_ns,
        )
        shown = len(rows)
        if grouped is not None:
            lines = grouped(rows.items, query, len(source))
            rows = Rows(spec, lines, total=len(source), now_ns=query.now_ns)
        return Arranged(rows.items, rows.keys, is_timed(text_filter, spec.subject), shown)

    return List(items, arrange, around, nodes)


def is_timed(query: Query, subject: Subject[ItemT]) -> bool:
    """Return whether a filter may leave other rows at another instant."""
    return any(
        isinstance(term, FieldTerm) and subject.fields[term.name].kind is FieldKind.DURATION for term in query.terms
    )
