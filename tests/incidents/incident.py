"""What an incident is: a cluster, what happened there, and the facts that the verdict's first findings must name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.incidents.base import snapshot, start
from tests.incidents.cluster import Cluster
from tests.incidents.objects import Object

ALL_WELL: Final = (
    r"nothing (holds or endangers|is wrong|to report|found)|all (is )?(well|good|clear)\b"
    r"|cluster (is|looks) (healthy|fine)|no (problems|findings|issues)\b"
)
"""A false claim wherever something is wrong."""
LAUNCHES: Final = r"\b(would|will) (be )?launch|computed now (it|they) (has|have) one"
"""A false claim wherever nothing can launch."""
ROOM: Final = r"\b(have|has) room on\b|\b(it fits|they fit) on ip-"
"""A false claim wherever no node takes the pods."""
ICE: Final = (
    r"insufficient ?(instance ?)?capacity|sold out|out of capacity|no .{0,30}capacity|want of capacity|lack of capacity|\bICE\b"
    r"|capacity (was |is |has been )?(refused|exhausted|unavailable|short)|refus\w+ .{0,40}capacity"
)
QUIET: Final = r'"severity": "info"'
"""The first finding of a healthy cluster: the worst comes first, so nothing is worse than a note."""
_WORDS: Final = [
    "none",
    "one",
    "(?:two|both)",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]

Build = Callable[[Cluster], None]


@dataclass(frozen=True)
class Incident:
    """An incident and an expert's expectation, as check.py reads it."""

    name: str
    story: str
    cause: str
    thread: str
    must: Sequence[str]
    must_not: Sequence[str]
    first: int
    other: Sequence[Mapping[str, Any]]
    build: Build
    setting: Mapping[str, Any] = field(default_factory=dict)

    def snapshot(self) -> Object:
        """Return the cluster as a snapshot document."""
        cluster = Cluster(self.name, **self.setting)
        start(cluster)
        self.build(cluster)
        return snapshot(cluster)

    def expectation(self) -> dict[str, Any]:
        """Return the expectation as expect.json has it."""
        return {
            "name": self.name,
            "story": f"{self.story} ({self.thread})",
            "cause": self.cause,
            "must": [[text] for text in self.must],
            "first": self.first,
            "mustNot": list(self.must_not),
            "other": [dict(manifest) for manifest in self.other],
        }


INCIDENTS: Final[dict[str, Incident]] = {}


def incident(
    *,
    story: str,
    cause: str,
    thread: str,
    must: Sequence[str],
    must_not: Sequence[str] = (),
    first: int = 3,
    other: Sequence[Mapping[str, Any]] = (),
    healthy: bool = False,
    **setting: Any,
) -> Callable[[Build], Build]:
    """Register the function that builds an incident's cluster; its name is the incident's.

    Args:
        story: what happened, in a few sentences.
        cause: the cause in one sentence.
        thread: where the like of it was reported.
        must: facts that the first findings name, as patterns.
        must_not: false claims.
        first: how many findings count as the first.
        other: checks of other commands.
        healthy: whether nothing is wrong.
        setting: arguments of ``Cluster``.
    """

    def register(build: Build) -> Build:
        name = build.__name__.replace("_", "-")
        false = [*must_not] if healthy else [ALL_WELL, *must_not]
        INCIDENTS[name] = Incident(name, story, cause, thread, must, false, first, other, build, setting)
        return build

    return register


def quiet(
    *, story: str, cause: str, thread: str, must_not: Sequence[str] = (), **setting: Any
) -> Callable[[Build], Build]:
    """Register the function that builds a cluster in which nothing is wrong: no finding may be worse than a note."""
    return incident(
        story=story,
        cause=f"Nothing is wrong: {cause}",
        thread=thread,
        must=[QUIET],
        must_not=must_not,
        first=1,
        healthy=True,
        **setting,
    )


def n(number: int) -> str:
    """Return a pattern for a number of things, also as a word; not for a part of an instant, a duration or a name."""
    word = rf"|\b{_WORDS[number]}\b" if number < len(_WORDS) else ""
    return rf"(?<![\w:./-]){number}(?![\w:/-]){word}"


def order_of(*patterns: str) -> dict[str, Any]:
    """Return a check that the verdict names facts in this order."""
    return {"command": ["verdict"], "must": [[".*".join(f"(?:{pattern})" for pattern in patterns)]]}
