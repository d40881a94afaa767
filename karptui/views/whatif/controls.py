"""Quick edits of the document under the cursor, and the edits beside the documents."""

from __future__ import annotations

from karptui.views.cluster_view import ClusterView
from karptui.views.control import Control
from karptui.whatif.documents import Parsed
from karptui.whatif.sheet import Originals, Sheet


def controls_of(parsed: Parsed, row: int, sheet: Sheet, originals: Originals, view: ClusterView) -> tuple[Control, ...]:
    """Return the controls."""
    return ()
