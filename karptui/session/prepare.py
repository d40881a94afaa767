"""From a view of the cluster to what the disruption engine takes."""

from __future__ import annotations

from karptui.karpenter.pdb_limits import refused_selectors
from karptui.provisioning import Prepared, prepare
from karptui.provisioning.reporter import Pause, no_pause
from karptui.session.cluster_view import ClusterView
from karptui.session.offered_types import offered_types_of
from karptui.session.readiness import unheeded
from karptui.state.inventory import inventory_of


def prepare_view(view: ClusterView, now_ns: int, pause: Pause = no_pause) -> tuple[Prepared, tuple[str, ...]]:
    """Return a cluster made ready for the engines, and what was assumed about its instance types, in sentences.

    Takes a good part of a second for a large cluster, so it belongs in a thread.

    Args:
        view: The cluster.
        now_ns: The instant to look at it from: nanoseconds since the epoch.
        pause: Called now and then while it is made ready, now and later.
    """
    inventory, offered = inventory_of(view.state), offered_types_of(view)
    pause()
    told = view.evidence.version_note
    notes = (*((told,) if told else ()), *unheeded(view), *refused_selectors(inventory.pdbs), *offered.notes)
    return prepare(inventory, offered.types, view.evidence.settings, now_ns, pause), notes
