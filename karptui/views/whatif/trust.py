"""How far an answer can be trusted: what it rests on, what is approximated and what is left out."""

from __future__ import annotations

from karptui.views.row import Tone
from karptui.views.whatif.answer import Answer
from karptui.views.whatif.line import Pieces


def trust_lines(answer: Answer) -> tuple[Pieces, ...]:
    """Return sentences about an answer, the most important first."""
    edited = answer.edited
    if edited is None:
        return ()
    return tuple((("· ", Tone.MUTED), (note, Tone.MUTED)) for note in dict.fromkeys(edited.notes))
