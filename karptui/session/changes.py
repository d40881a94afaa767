"""What changed between two moments of a history, and the edits that preceded a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.changes.changes import Edit, Fault, Moment, VerdictLine, changes_between, edits
from karptui.changes.row import EDITED_KINDS, ObjectChange
from karptui.decode.kinds import Kind, kind_named
from karptui.kube.generated_names import written_owner
from karptui.kube.objects import controller_of
from karptui.kube.timestamps import DAY_NS, MINUTE_NS, PastTime
from karptui.kube.units import instant_text
from karptui.session.cluster_view import ClusterView
from karptui.sources.history.store import Change, History, Mark, Sample
from karptui.verdict.finding import ClusterFinding
from karptui.verdict.preceding import edit_before

_FAULTS: Final = {"verdict": Fault.BEGAN, "verdict-over": Fault.ENDED}
_SAMPLES_NS: Final = 15 * MINUTE_NS
"""How far back the last cost before a moment is looked for."""


class ChangeSet(msgspec.Struct, frozen=True):
    """What changed between two moments: nanoseconds since the epoch."""

    from_ns: int
    to_ns: int
    changes: tuple[ObjectChange, ...]
    notes: tuple[str, ...] = ()
    """Parts of the time that were not recorded, and costs that are unknown, as messages."""


def changes_of(history: History, from_ns: int, to_ns: int) -> ChangeSet:
    """Return the changes within a time range, cut to the recorded range.

    Raises:
        HistoryError: if nothing is recorded, the time is empty, or the history cannot be read.
    """
    first_ns, last_ns = history.recorded_span(from_ns, to_ns)
    notes = []
    if from_ns < first_ns:
        notes.append(f"the history begins at {instant_text(first_ns)}: changes before are unknown")
    if to_ns > last_ns + MINUTE_NS:
        notes.append(f"the history ends at {instant_text(last_ns)}: changes since are unknown")
    from_ns, to_ns = first_ns, last_ns
    gaps = [
        (max(old.to_ns, from_ns), min(new.from_ns, to_ns))
        for old, new in pairwise(history.sessions())
        if new.from_ns > from_ns and old.to_ns < to_ns
    ]
    notes += [
        f"nothing was recorded from {instant_text(begin)} to {instant_text(end)}: times of changes in it are unknown"
        for begin, end in gaps
    ]
    before, after = _moment(history, from_ns), _moment(history, to_ns)
    if not before.prices or not after.prices:
        notes.append("costs are left out, because the history has no samples of them")
    verdict = _verdict_lines(history.marks(from_ns, to_ns))
    rows = changes_between(before, after, versions_between(history, from_ns, to_ns), verdict)
    return ChangeSet(from_ns, to_ns, rows, tuple(notes))


def versions_between(history: History, from_ns: int, to_ns: int) -> Iterator[Change]:
    """Yield the versions of objects between two instants, in order; ``at_ns`` is 0 if nothing was recorded then."""
    for session in history.sessions():
        if from_ns < session.from_ns <= to_ns:
            opening = history.objects_at(session.from_ns).values()
            yield from (msgspec.structs.replace(change, at_ns=0) for change in opening if change.kind in EDITED_KINDS)
        yield from history.changes(max(from_ns, session.from_ns), min(to_ns, session.to_ns), EDITED_KINDS)


def changes_in(path: Path, since: PastTime, until_ns: int | None = None) -> ChangeSet:
    """Return the changes in a history between two instants, by default up to the last recorded one.

    Raises:
        HistoryError: as of `changes_of`, or if the history cannot be opened.
    """
    with closing(History(path)) as history:
        last_ns = history.end_ns()
        until_ns = last_ns if until_ns is None else until_ns
        return changes_of(history, since(until_ns), until_ns)


def _moment(history: History, at_ns: int) -> Moment:
    samples = history.samples(at_ns - _SAMPLES_NS, at_ns)
    return Moment(history.objects_at(at_ns), history.facts_at(at_ns), _prices(samples))


def _prices(samples: Iterable[Sample]) -> dict[str, float]:
    """Return the cost of each NodePool in the last of some samples."""
    by_instant: dict[int, dict[str, float]] = {}
    for sample in samples:
        if sample.price_per_hour is not None:
            by_instant.setdefault(sample.at_ns, {})[sample.pool] = sample.price_per_hour
    return by_instant[max(by_instant)] if by_instant else {}


def _verdict_lines(marks: Iterable[Mark]) -> Iterator[VerdictLine]:
    for mark in marks:
        if mark.cause in _FAULTS:
            yield VerdictLine(mark.at_ns, _FAULTS[mark.cause], mark.text, mark.object_kind, mark.name)


_KEPT_NS: Final = DAY_NS


def recent_edits(path: Path, now_ns: int, within_ns: int = _KEPT_NS) -> tuple[Edit, ...]:
    """Return the edits of the last day in a history, the first first; those made in a pause are left out.

    Args:
        within_ns: How far back; everything recorded since is read.
    """
    with closing(History(path)) as history:
        sessions = history.sessions()
        if not sessions:
            return ()
        from_ns = max(now_ns - within_ns, sessions[0].from_ns)
        versions = versions_between(history, from_ns, now_ns)
        return tuple(edit for edit in edits(history.objects_at(from_ns), versions) if edit.at_ns)


def with_edits(
    findings: Sequence[ClusterFinding], view: ClusterView, recent: Sequence[Edit]
) -> tuple[ClusterFinding, ...]:
    """Return findings with the edits that preceded them."""
    if not recent:
        return tuple(findings)
    return tuple(replace(finding, edit=edit_before(finding, _refs(finding, view), recent)) for finding in findings)


def _refs(finding: ClusterFinding, view: ClusterView) -> set[tuple[str, str]]:
    """Return kind and key of a finding's objects, their NodePools and NodeClasses, and the owners of its pods."""
    refs: set[tuple[str, str]] = {(Kind.NODEPOOL, pool) for pool in finding.pools}
    pods = list(finding.pending.pods)
    for name in finding.objects:
        api_kind, _, key = name.partition("/")
        kind = kind_named(api_kind)
        if kind is Kind.POD:
            pods.append(key)
        elif kind is not None:
            refs.add((kind, name if kind is Kind.NODECLASS else key))
    for _, key in [ref for ref in refs if ref[0] == Kind.NODEPOOL]:
        pool = view.state.nodepools.get(key)
        if pool is not None:
            refs.add((Kind.NODECLASS, pool.node_class_ref.key))
    return refs | set(_owners(pods, view))


def _owners(pods: Iterable[str], view: ClusterView) -> Iterable[tuple[str, str]]:
    for key in pods:
        pod = view.state.pods.get(key)
        owner = controller_of(pod.owners) if pod is not None else None
        if pod is not None and owner is not None:
            kind, name = written_owner(owner.kind, owner.name, pod.labels)
            yield kind, f"{pod.namespace}/{name}"
