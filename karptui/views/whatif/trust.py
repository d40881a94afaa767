"""How far an answer can be trusted: what is exact, what is approximated and what is left out."""

from __future__ import annotations

from karptui.kube.units import count_text
from karptui.views.row import Pieces, Tone
from karptui.views.whatif.line import ResultLine, heading
from karptui.whatif.answer import Answer
from karptui.whatif.honesty import Honesty


def trust_lines(answer: Answer) -> tuple[Pieces, ...]:
    """Return a line for each: the first thing, and how many more there are."""
    honesty = answer.honesty
    if honesty is None:
        return ()
    return (
        (("exact: ", Tone.GOOD), (honesty.exact[0], Tone.MUTED)),
        (("approximated: ", Tone.WARNING), (_first(honesty.approximated), Tone.MUTED)),
        (("not modelled: ", Tone.WARNING), (_first(honesty.not_modelled), Tone.MUTED)),
    )


def price_note(answer: Answer) -> str:
    """Return what is to be said beside dollars."""
    prices = answer.edited.prices if answer.edited is not None else None
    return "prices are off" if prices is not None and prices.settings.is_disabled else ""


def _first(sentences: tuple[str, ...]) -> str:
    if not sentences:
        return "nothing"
    more = f" (and {count_text(len(sentences) - 1)} more, at the end of the result)" if len(sentences) > 1 else ""
    return f"{sentences[0]}{more}"


def trust_section(answer: Answer) -> tuple[ResultLine, ...]:
    """Return everything there is to say about an answer, and what its edits mean here."""
    honesty = answer.honesty
    if honesty is None or answer.edited is None:
        return ()
    lines: list[ResultLine] = [heading("trust", "How far this can be trusted", version_text(honesty))]
    groups = (
        ("edits", "·", Tone.NORMAL, answer.edited.notes),
        ("exact", "exact:", Tone.GOOD, honesty.exact),
        ("approximated", "approximated:", Tone.WARNING, honesty.approximated),
        ("left out", "not modelled:", Tone.WARNING, honesty.not_modelled),
    )
    for name, word, tone, sentences in groups:
        for number, sentence in enumerate(sentences):
            pieces: Pieces = ((f"  {word} ", tone), (sentence, Tone.NORMAL))
            lines.append(ResultLine(f"trust/{name}/{number}", pieces, wraps=True))
    return tuple(lines)


def version_text(honesty: Honesty) -> str:
    """Return the version that is modelled, and the one that was found."""
    model = f"model {honesty.modelled_version}"
    if not honesty.found_version:
        return model
    if honesty.is_other_version:
        return f"{model} ≠ cluster {honesty.found_version}: decisions may differ"
    return f"{model} = cluster {honesty.found_version}"
