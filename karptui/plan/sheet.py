"""A plan as text and steps for a screen: result, risks, rollout, and text for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from karptui.forward.result import Played
from karptui.whatif.edits import AnyEdit, CordonNode, EditError, PutObject, RemoveNode, SetSetting, TakeOut
from karptui.whatif.edits.objects import read_document


class PlanSheet(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A plan as text."""

    headline: str
    risks: tuple[str, ...]
    """The worst first."""
    blockers: tuple[str, ...]
    """New ones of disruption, a line for each kind."""
    rollout: tuple[str, ...]
    """Duration of the rollout, where it stalls, and its extra nodes."""
    costs: str
    edited: Played
    """The cluster as the edits make it, played forward."""
    markdown: str
    """The text for a pull request."""


def objects_of(edits: Iterable[AnyEdit]) -> tuple[str, ...]:
    """Return the objects of edits, each once: ``Kind/name``."""
    return tuple(dict.fromkeys(_named(edits)))


def _named(edits: Iterable[AnyEdit]) -> Iterator[str]:
    for edit in edits:
        if isinstance(edit, PutObject):
            try:
                document = read_document(edit.text)
            except EditError:
                continue
            yield f"{document['kind']}/{document['metadata']['name']}"
        elif isinstance(edit, SetSetting):
            yield f"setting {edit.name}"
        elif isinstance(edit, TakeOut):
            yield f"without {edit.words}"
        elif isinstance(edit, RemoveNode | CordonNode):
            yield f"Node/{edit.name}"
        else:
            yield f"{edit.object.kind}/{edit.object.key}"
