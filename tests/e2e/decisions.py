"""Check each command of a recorded cluster separately: do Karpenter's rules permit it on the cluster of that moment?

After its first difference, a forecast says nothing about later commands. Here each command is checked against the
recorded cluster at the start of its pass. That start is known to a few seconds: 15 s before commands of Emptiness and
consolidation, plus the duration of the pass.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from karptui.disruption.candidate import LIKELIEST, Chance
from karptui.disruption.command import Method
from karptui.disruption.methods import next_pass, observed_fleet
from karptui.disruption.removal import EngineSimulator
from tests.goldens_loading import load

VALIDATION = 15.0
SECONDS_BEFORE = (0.15, 0.0, -0.15, 0.4, 0.8, 1.3, 2.0, 3.0, 4.0)
"""Possible starts of the pass, in seconds before the command; the likeliest first."""
EVENTS_LATE = 2.0
"""Delay of Karpenter's events about nominations."""
DRAWN = 8
"""Number of random orders of equal nodes to try for each first NodePool."""
Told = tuple[str, str, tuple[str, ...]]


class Line(NamedTuple):
    """A recorded change of an object."""

    at: datetime
    is_gone: bool
    value: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str, str]:
        """Kind, namespace and name."""
        metadata = self.value["metadata"]
        return self.value["kind"], metadata.get("namespace", ""), metadata["name"]


class _StartingWith(Chance):
    """Starts with a given NodePool and decides everything else randomly."""

    def __init__(self, first: int, seed: int) -> None:
        super().__init__(random.Random(seed))
        self._first = first

    def pools(self, entered: Iterable[str]) -> list[str]:
        texts = list(entered)
        return texts[self._first :] + texts[: self._first]


def read_lines(text: Iterable[str]) -> list[Line]:
    """Return the recorded lines, in order."""
    documents = (json.loads(line) for line in text)
    lines = (Line(datetime.fromisoformat(item["at"]), item["type"] == "DELETED", item["object"]) for item in documents)
    return sorted(lines, key=lambda line: line.at)


def cluster_at(lines: Iterable[Line], moment: datetime) -> list[Mapping[str, Any]]:
    """Return the objects of a moment, and the events up to ``EVENTS_LATE`` later, because they report it."""
    result: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    late = moment + timedelta(seconds=EVENTS_LATE)
    for line in lines:
        if line.at > (late if line.value["kind"] == "Event" else moment):
            continue
        if line.is_gone:
            result.pop(line.key, None)
        else:
            result[line.key] = line.value
    return list(result.values())


def permitted_commands(snapshot: Mapping[str, Any], *, may_follow: bool) -> Iterator[Told]:
    """Yield the possible commands of the next pass, the likeliest first.

    Args:
        snapshot: The cluster.
        may_follow: Whether a command of MultiNodeConsolidation may have failed its validation in the same pass.
    """
    prepared = load(snapshot)
    fleet = observed_fleet(prepared)
    for after in (None, Method.MULTI_NODE) if may_follow else (None,):
        for chance in (LIKELIEST, *(_StartingWith(*drawn) for drawn in product(range(len(fleet.pools)), range(DRAWN)))):
            simulator = EngineSimulator(prepared, fleet, is_brief=True)
            acting = next_pass(prepared, fleet, simulator, after=after, chance=chance).acting
            for command in acting.commands if acting is not None else ():
                names = tuple(sorted(candidate.name for candidate in command.candidates))
                yield str(acting.method.reason) if acting is not None else "", str(command.decision), names


def _as_deleting(value: Mapping[str, Any], captured: str) -> Mapping[str, Any]:
    """Return a NodeClaim of a running command as deleting: Karpenter treats it so before it deletes the object."""
    conditions = value.get("status", {}).get("conditions", ()) if value["kind"] == "NodeClaim" else ()
    if not any(condition["type"] == "DisruptionReason" and condition["status"] == "True" for condition in conditions):
        return value
    return {**value, "metadata": {"deletionTimestamp": captured, **value["metadata"]}}


def is_permitted(
    told: Told, begun: datetime, lines: Sequence[Line], like: Mapping[str, Any], *, may_follow: bool
) -> bool:
    """Return whether Karpenter's rules permit a command at one of the possible starts of its pass.

    Args:
        told: The command.
        begun: The estimated start of its pass; the real start may be earlier.
        lines: The recording.
        like: A snapshot of the same cluster.
        may_follow: Whether a command of MultiNodeConsolidation may have failed its validation before.
    """
    for seconds in SECONDS_BEFORE:
        moment = begun - timedelta(seconds=seconds)
        captured = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        objects = [_as_deleting(manifest, captured) for manifest in cluster_at(lines, moment)]
        snapshot = {**like, "capturedAt": captured, "objects": objects}
        if told in permitted_commands(snapshot, may_follow=may_follow):
            return True
    return False


def not_permitted(folder: Path, seed: int) -> list[int]:
    """Return the numbers (from 1) of the commands of a fleet that the rules do not permit."""
    like, logged = (json.loads((folder / f"{seed}-{name}.json").read_text()) for name in ("before", "commands"))
    with (folder / f"{seed}-watch.jsonl").open() as text:
        lines = read_lines(text)
    numbers: list[int] = []
    last: datetime | None = None
    for place, result in enumerate(logged, 1):
        reason = str(result["command"]).partition("/")[0]
        at = datetime.fromisoformat(result["time"])
        begun = at - timedelta(seconds=0 if reason == "Drifted" else VALIDATION)
        names = tuple(sorted(str(node["Node"]["name"]) for node in result["disrupted-nodes"]))
        waited = last is not None and begun - last >= timedelta(seconds=VALIDATION)
        if not is_permitted((reason, str(result["decision"]), names), begun, lines, like, may_follow=waited):
            numbers.append(place)
        last = at
    return numbers
