"""Who answers what screens ask beside rows, by the type of the question."""

# ruff: noqa: PLC0415 - what answers is imported when it is first asked

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from karptui.session.questions import DescriptionWanted, NamesWanted, OpeningWanted, ProportionWanted, Question
from karptui.session.row_server import Answerer


def answers_of() -> Mapping[type[Question[Any]], Callable[[], Answerer]]:
    """Return what answers each kind of question."""
    return {
        DescriptionWanted: _descriptions,
        NamesWanted: _names,
        OpeningWanted: _openings,
        ProportionWanted: _proportions,
    }


def _descriptions() -> Answerer:
    from karptui.serving.objects import description

    return description


def _names() -> Answerer:
    from karptui.serving.objects import names

    return names


def _openings() -> Answerer:
    from karptui.serving.objects import opening

    return opening


def _proportions() -> Answerer:
    from karptui.serving.objects import proportion

    return proportion
