"""Messages of the border as bytes, and bytes as messages; importing this module imports what every fact is made of."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from karptui.disruption.analysis import NodeFindings
from karptui.disruption.verdict import Finding
from karptui.session import border, claims, nodes, questions
from karptui.session.blockers import BlockerEntry
from karptui.session.facts import Around, Fact
from karptui.session.packing import Bin
from karptui.whatif.edits import ObjectRef
from karptui.whatif.opening import Opening
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, BlockerRemedyKind
from karptui.whatif.remedies.blockers.trial import Trial

MessageT = TypeVar("MessageT")

# Those modules know these types only while types are checked: no first screen waits for engines.
for _module in (nodes, claims):
    vars(_module).setdefault("NodeFindings", NodeFindings)
vars(border).update(Fact=Fact, Around=Around, Finding=Finding)
vars(questions).update(
    Bin=Bin,
    BlockerEntry=BlockerEntry,
    BlockerRemedy=BlockerRemedy,
    BlockerRemedyKind=BlockerRemedyKind,
    ObjectRef=ObjectRef,
    Opening=Opening,
    Trial=Trial,
)


def encoded(message: msgspec.Struct) -> bytes:
    """Return a message as bytes."""
    return _ENCODER.encode(message)


def decoded(data: bytes, kind: type[MessageT]) -> MessageT:
    """Return a message that ``encoded`` wrote."""
    return msgspec.json.decode(data, type=kind)


def _plain(value: Any) -> Any:
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise NotImplementedError(f"{type(value).__name__} does not cross the border")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)
"""As JSON: amounts in nano-units of a large node go beyond 64 bits, where other formats end."""
