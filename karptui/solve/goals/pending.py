"""The cheapest of the changes tried that leave nothing pending."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.karpenter.labels import AWS_GROUP
from karptui.kube.group import group_by
from karptui.kube.pod import Pod
from karptui.kube.units import counted, verb
from karptui.provisioning.explain import PodExplanation, explain
from karptui.provisioning.solution import Solution
from karptui.solve.answer import (
    FEWER_CHANGES,
    FEWER_DRIFT,
    FEWER_LOSE,
    FEWER_WAIT,
    Criterion,
    Effort,
    Figures,
    Solved,
    Tried,
    cheaper,
    nearly_cheapest,
)
from karptui.solve.question import LESS_MEMORY, TOO_LOW, GoalQuestion, names_of
from karptui.solve.search import Chosen
from karptui.whatif.edits import AnyEdit, SetField, SetSetting
from karptui.whatif.edits.apply import apply
from karptui.whatif.remedies.pending.pods import SUBJECT
from karptui.whatif.remedies.pending.remedy import Remedy, RemedyKind
from karptui.whatif.remedies.pending.search import RemedySearch
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay

MOST_GROUPS: Final = 6
"""Limit of groups of pods to search changes for."""
_OF_PODS: Final = frozenset(
    {
        RemedyKind.TOLERATE,
        RemedyKind.POD_SELECTOR,
        RemedyKind.REQUEST,
        RemedyKind.SPREAD,
        RemedyKind.AFFINITY,
        RemedyKind.DAEMONSET,
    }
)
_PREFIXES: Final = (AWS_GROUP, "node.kubernetes.io", "karpenter.sh")


class _Change(msgspec.Struct, frozen=True):
    words: str
    kind: RemedyKind
    edits: tuple[AnyEdit, ...]


def find(question: GoalQuestion) -> Solved:
    """Return the answer to the goal."""
    may_change = question.text("change")
    now = question.now(Replay.PENDING)
    outcome = question.as_it_is(Replay.PENDING)
    if not outcome.unplaced:
        return question.settled(Replay.PENDING, now, "every pod is scheduled or will be without a change")
    assert outcome.solution is not None  # only a replay of the next command has none
    groups = _groups(outcome.unplaced, outcome.solution)
    left_out = list(_untried_kinds(groups[MOST_GROUPS:]))
    changes, notes = _changes(question, groups[:MOST_GROUPS], outcome.solution, has_pods=may_change == "any")
    left_out += notes
    criteria = criteria_of(now, has_prices=question.has_prices)

    def attempt(chosen: Chosen, edits: tuple[AnyEdit, ...], figures: Figures) -> Tried:
        return Tried(
            parts=_parts([changes[index] for index in chosen], edits),
            outcome=f"{counted(figures.pending, 'pod')} still pending" if figures.pending else "nothing pending",
            edits=edits,
            figures=figures,
            is_enough=not figures.pending,
        )

    largest = max(min(len(groups), MOST_GROUPS), 1)
    tried, sets = question.search([change.edits for change in changes], largest, Replay.PENDING, criteria, attempt)
    effort = Effort(
        tried=sets.tried,
        all=sets.all,
        how=f"{counted(len(changes), 'change')} that {verb(len(changes), 'places', 'place')} pods of"
        f" {counted(len(groups), 'kind')}: each alone, then the best with one more, up to {largest}",
        not_tried=tuple(left_out),
    )
    solved = question.answer(Replay.PENDING, now, tried, criteria, effort)
    if solved.best is not None and _is_risky(solved.best.edits):
        solved = replace(solved, risk=LESS_MEMORY, not_modelled=(TOO_LOW, *solved.not_modelled))
    return solved if solved.is_reached else replace(solved, because=_still(question, solved.best))


def _groups(pods: Sequence[Pod], solution: Solution) -> list[list[Pod]]:
    """Return pods of one template that are refused alike, the largest group first."""
    alike = group_by(pods, lambda pod: (id(pod.template), str(solution.errors.get(pod.key, ""))))
    return sorted(alike.values(), key=lambda group: (-len(group), group[0].key))


def _untried_kinds(groups: Sequence[Sequence[Pod]]) -> Iterator[str]:
    if groups:
        first = names_of([group[0] for group in groups])
        yield f"changes for {counted(len(groups), 'further kind')} of pods, such as {first}"


def _changes(
    question: GoalQuestion, groups: Sequence[Sequence[Pod]], solution: Solution, *, has_pods: bool
) -> tuple[list[_Change], list[str]]:
    """Return changes that schedule pods: of Karpenter's objects, and of pods only if nothing else helps."""
    changes: dict[str, _Change] = {}
    notes: list[str] = []
    passed_over = 0
    question.to_try = len(groups)
    for group in groups:
        question.report()
        search = RemedySearch(question.base, group, _explained(solution, group[0]), solution)
        while search.step(question.report):
            pass
        question.tried += 1
        report = search.report
        notes += report.left_out
        remedies = [remedy for remedy in report.remedies if remedy.kind not in _OF_PODS]
        of_pods = [remedy for remedy in report.remedies if remedy.kind in _OF_PODS]
        if of_pods and (remedies or not has_pods):
            passed_over += len(of_pods)
        for remedy in remedies or (of_pods if has_pods else ()):
            changes.setdefault(repr(remedy.edits), _change(remedy, group))
    if passed_over:
        notes.append(
            f"{counted(passed_over, 'change')} to the pods themselves or to DaemonSets: a change to Karpenter's"
            " objects is enough"
            if has_pods
            else f"{counted(passed_over, 'change')} to the pods themselves or to DaemonSets"
        )
    return list(changes.values()), list(dict.fromkeys(notes))


def _change(remedy: Remedy, pods: Sequence[Pod]) -> _Change:
    if remedy.kind is RemedyKind.OVERHEAD:
        settings = [edit for edit in remedy.edits if isinstance(edit, SetSetting)]
        words = ", ".join(f"{setting.name} {setting.value}" for setting in settings)
    else:
        subject = f"pods {names_of(pods, 1)}" if remedy.subject == SUBJECT else remedy.subject
        words = f"{subject}: {remedy.words}"
        for prefix in _PREFIXES:
            words = words.replace(f"allow {prefix}/", "allow ")
    return _Change(words, remedy.kind, remedy.edits)


def _explained(solution: Solution, pod: Pod) -> PodExplanation | None:
    try:
        return explain(solution, pod, asks_nodes=False)
    except LookupError:
        return None


def _parts(changes: Sequence[_Change], edits: tuple[AnyEdit, ...]) -> tuple[str, ...]:
    """Return the edits of combined changes; a limit that several raise appears once."""
    parts: list[str] = []
    for change in changes:
        is_whole = all(edit in edits for edit in change.edits)
        if is_whole or change.kind not in (RemedyKind.LIMIT, RemedyKind.OVERHEAD, RemedyKind.MAX_PODS):
            parts.append(change.words)
        elif change.kind is RemedyKind.LIMIT:
            subject = change.words.partition(":")[0]
            places = {(part.object, part.path) for part in change.edits if isinstance(part, SetField)}
            fields = [edit for edit in edits if isinstance(edit, SetField) and (edit.object, edit.path) in places]
            limits = ", ".join(f"{edit.path[-1]} to {edit.value}" for edit in fields)
            parts.append(f"{subject}: raise its limit of {limits}")
    return tuple(dict.fromkeys(parts))


def _still(question: GoalQuestion, best: Tried | None) -> str:
    if best is None:
        return "no single change that was tried places any of them"
    left = replay(apply(question.base, best.edits), Replay.PENDING, question.report).unplaced
    return f"nothing that was tried places {names_of(left)} as well"


def _is_risky(edits: Iterable[AnyEdit]) -> bool:
    """Return whether changes have Karpenter reckon with memory that nodes may not have."""
    return any(isinstance(edit, SetSetting) for edit in edits)


NO_RISK: Final = Criterion(lambda attempt: _is_risky(attempt.edits), lambda _ours, _theirs: f"is a risk: {LESS_MEMORY}")


def criteria_of(now: Figures, *, has_prices: bool) -> tuple[Criterion, ...]:
    """Return the criteria: among changes of nearly the same price, fewer drifted nodes win.

    Args:
        now: The cluster without a change.
    """
    nearly = nearly_cheapest(now, has_prices=has_prices)
    return FEWER_WAIT, FEWER_LOSE, NO_RISK, nearly, FEWER_DRIFT, cheaper(has_prices=has_prices), FEWER_CHANGES
