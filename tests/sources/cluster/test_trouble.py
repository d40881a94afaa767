from __future__ import annotations

import pytest

from karptui.sources.cluster.errors import ApiError, one_line, reaction_to, rules_out_watch_list
from karptui.sources.cluster.resources import PODS
from karptui.sources.source import Phase


@pytest.mark.parametrize(
    ("status", "verb", "may_list", "phase", "seconds", "forgets", "sentence"),
    [
        (403, "list", False, Phase.FORBIDDEN, 5.0, True, "no permission to list pods in all namespaces: no"),
        (403, "watch", False, Phase.FORBIDDEN, 5.0, True, "no permission to watch pods in all namespaces: no"),
        (
            403,
            "watch",
            True,
            Phase.STALE,
            60.0,
            False,
            "no permission to watch pods in all namespaces: no; listed every 60 s instead",
        ),
        (405, "watch", True, Phase.STALE, 60.0, False, "the API server does not watch pods; listed every 60 s instead"),
        (404, "list", False, Phase.NOT_INSTALLED, 60.0, True, "the API server has no pods in version v1"),
        (405, "list", False, Phase.DISCONNECTED, None, False, "the API server answered 405 Odd: no"),
        (500, "watch", True, Phase.DISCONNECTED, None, False, "the API server answered 500 Odd: no"),
    ],
)
def test_verdicts(
    *, status: int, verb: str, may_list: bool, phase: Phase, seconds: float | None, forgets: bool, sentence: str
) -> None:
    reaction = reaction_to(ApiError(status, "Odd", "no"), PODS, verb=verb, may_list=may_list)
    assert (reaction.phase, reaction.seconds, reaction.forgets, reaction.sentence) == (
        phase,
        seconds,
        forgets,
        sentence,
    )
    assert reaction.relists == (phase is not Phase.DISCONNECTED)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, True),
        (403, True),
        (405, True),
        (422, True),
        (401, False),
        (404, False),
        (410, False),
        (429, False),
        (500, False),
    ],
)
def test_what_rules_out_streaming_lists(status: int, expected: bool) -> None:
    assert rules_out_watch_list(ApiError(status, "", "no")) is expected


def test_other_peoples_words_are_made_harmless() -> None:
    assert one_line("a\x1b[31m\tb\r\nc\u202e") == "a [31m b c"
    assert one_line("x" * 500) == "x" * 399 + "…"
    assert one_line("y" * 400) == "y" * 400
