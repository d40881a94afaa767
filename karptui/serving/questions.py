"""Who answers what screens ask beside rows, by the type of the question."""

# ruff: noqa: PLC0415 - what answers is imported when it is first asked

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from karptui.session.questions import (
    DescriptionWanted,
    NamesWanted,
    OpeningWanted,
    PackingFound,
    PackingWanted,
    ProportionWanted,
    Question,
    RemediesWanted,
    TrialsWanted,
)
from karptui.session.row_server import Answerer
from karptui.session.shared_base import SharedBase

if TYPE_CHECKING:
    from karptui.serving.blockers import Remedies


def answers_of(shared_base: SharedBase) -> Mapping[type[Question[Any]], Callable[[], Answerer]]:
    """Return what answers each kind of question.

    Args:
        shared_base: The cluster made ready for what-ifs.
    """
    return {
        DescriptionWanted: _descriptions,
        NamesWanted: _names,
        PackingWanted: _packing,
        OpeningWanted: _openings,
        ProportionWanted: _proportions,
        RemediesWanted: lambda: _remedies(shared_base).offered,
        TrialsWanted: lambda: _remedies(shared_base).tried,
    }


def _descriptions() -> Answerer:
    from karptui.serving.objects import description

    return description


def _packing() -> Answerer:
    from karptui.session.packing import bins_of

    return lambda view, _: PackingFound(bins=bins_of(view))


def _names() -> Answerer:
    from karptui.serving.objects import names

    return names


def _openings() -> Answerer:
    from karptui.serving.objects import opening

    return opening


def _proportions() -> Answerer:
    from karptui.serving.objects import proportion

    return proportion


def _remedies(shared_base: SharedBase) -> Remedies:
    from karptui.serving.blockers import Remedies

    return Remedies(shared_base)
