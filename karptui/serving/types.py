"""Answers about instance types: one of them at length, and where types, settings and prices come from."""

from __future__ import annotations

from karptui.kube.recent import LastAnswer
from karptui.session.cluster_view import ClusterView
from karptui.session.pool_types import offered_types_of
from karptui.session.questions import LedgerFound, LedgerWanted, TypeSourcesFound, TypeSourcesWanted
from karptui.session.types_of_pools import pool_entries, types_of_pool
from karptui.views.types.pools import source_lines


def ledger(view: ClusterView, wanted: LedgerWanted) -> LedgerFound:
    """Return a type of a NodePool at length."""
    types = types_of_pool(view, wanted.pool)
    if types is None:
        return LedgerFound()
    entry = types.type(wanted.instance_type)
    if entry is None:
        return LedgerFound(pool=types.entry)
    return LedgerFound(
        pool=types.entry, entry=entry, fit=types.fit(entry, wanted.pods), family=types.family(entry.name)
    )


class TypeSources:
    """Says where types come from; worked out once for what is known of them."""

    def __init__(self) -> None:
        self._last: LastAnswer[TypeSourcesFound] = LastAnswer()

    def sources(self, view: ClusterView, wanted: TypeSourcesWanted) -> TypeSourcesFound:
        """Return where instance types, settings and prices come from."""

        def made() -> TypeSourcesFound:
            pools = pool_entries(view) if wanted.pool else ()
            pool = next((one for one in pools if one.name == wanted.pool), None)
            [line] = source_lines(pool, view.evidence, view.prices)
            notes = () if wanted.pool else offered_types_of(view).nodeclasses.notes
            overhead = view.evidence.overhead_origin
            return TypeSourcesFound(text="".join(text for text, _ in line), overhead=overhead, notes=tuple(notes))

        state = view.state
        known = view.evidence, view.prices, state.nodepools, state.nodeclasses, state.nodes
        return self._last.get(known, made, equals=(wanted.pool,))
