"""Changes to a NodePool: its taints, labels, requirements and limits."""

from __future__ import annotations

from collections.abc import Iterator

from karptui.karpenter.labels import WELL_KNOWN, is_restricted
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import KeyConflict, UndefinedKey
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.taints import Taint
from karptui.provisioning.rejection import LimitReached, RequirementsUnmet, TaintsNotTolerated, TypesExhausted
from karptui.whatif.remedies.limit_trials import limit_trial, limits_cut
from karptui.whatif.remedies.pool_edits import REQUIREMENTS, allow_value, set_pool, subject_of
from karptui.whatif.remedies.remedy import RemedyKind
from karptui.whatif.remedies.trial import Question, Trial, once
from karptui.whatif.remedies.type_trials import type_trials


def pool_trials(question: Question) -> Iterator[Trial]:
    """Yield the changes to each NodePool that its first failing gate suggests, in the order of the NodePools."""
    if question.explanation is None:
        return
    pools = {pool.name: pool for pool in question.base.inventory.nodepools}
    for one in question.explanation.pools:
        pool = pools[one.nodepool]
        if one.position < 0:
            yield from _left_out(question, pool)
            continue
        rejection = one.rejection
        if isinstance(rejection, TaintsNotTolerated):
            yield _untainted(pool, rejection.taints)
        elif isinstance(rejection, LimitReached):
            yield from limit_trial(question, pool, one)
        elif isinstance(rejection, RequirementsUnmet):
            yield from _labelled(question, pool, rejection)
            yield from type_trials(question, pool)
        elif isinstance(rejection, TypesExhausted):
            if limits_cut(one):
                yield from limit_trial(question, pool, one)
            yield from _fewer_values(pool, rejection)
            yield from type_trials(question, pool)


def _left_out(question: Question, pool: NodePool) -> Iterator[Trial]:
    """Yield what would bring a NodePool back that has no usable type; nothing where something else is the cause."""
    if pool.name not in question.prepared.left_out:
        return
    if question.prepared.left_out[pool.name]:
        for index, requirement in enumerate(pool.requirements):
            if requirement.min_values is not None:
                yield _min_values(pool, index, requirement, None)
    yield from type_trials(question, pool)


def _untainted(pool: NodePool, missing: tuple[Taint, ...]) -> Trial:
    kept = [
        {"key": taint.key, "effect": taint.effect, **({"value": taint.value} if taint.value else {})}
        for taint in pool.taints
        if taint not in missing
    ]
    words = f"drop its taint{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}, for all pods"
    edit = set_pool(pool, ("spec", "template", "spec", "taints"), kept or None)
    return once(RemedyKind.REMOVE_TAINT, subject_of(pool), words, (edit,))


def _labelled(question: Question, pool: NodePool, rejection: RequirementsUnmet) -> Iterator[Trial]:
    """Yield what gives the NodePool's nodes the labels that are asked for, where one change can."""
    asked = question.first.template.node_selector
    for reason in rejection.reasons:
        if isinstance(reason, UndefinedKey):
            if reason.key in asked and not is_restricted(reason.key):
                path = ("spec", "template", "metadata", "labels", reason.key)
                words = f"give its nodes the label {reason.key}={asked[reason.key]}"
                edit = set_pool(pool, path, asked[reason.key])
                yield once(RemedyKind.POOL_LABEL, subject_of(pool), words, (edit,))
        else:
            yield from _allowing(pool, reason)


def _allowing(pool: NodePool, reason: KeyConflict) -> Iterator[Trial]:
    """Yield what lets a requirement of the NodePool allow the value that is asked for."""
    wanted = reason.incoming
    if wanted.complement or not wanted.values or (is_restricted(reason.key) and reason.key not in WELL_KNOWN):
        return
    value = min(wanted.values)
    if reason.key in pool.template_labels:
        path = ("spec", "template", "metadata", "labels", reason.key)
        words = f"change the label {reason.key} of its nodes from {pool.template_labels[reason.key]} to {value}"
        yield once(RemedyKind.POOL_LABEL, subject_of(pool), words, (set_pool(pool, path, value),))
        return
    for index, requirement in enumerate(pool.requirements):
        if requirement.key == reason.key:
            trial = allow_value(pool, index, value, RemedyKind.POOL_VALUE)
            if trial is not None:
                yield trial


def _fewer_values(pool: NodePool, rejection: TypesExhausted) -> Iterator[Trial]:
    offered = dict(rejection.unmet_min_values)
    for index, requirement in enumerate(pool.requirements):
        if requirement.key in offered and requirement.min_values is not None:
            yield _min_values(pool, index, requirement, offered[requirement.key] or None)


def _min_values(pool: NodePool, index: int, requirement: NodeSelectorRequirement, value: int | None) -> Trial:
    path = (*REQUIREMENTS, index, "minValues")
    to = f"to {value}" if value is not None else "away"
    verb = "lower" if value is not None else "take"
    words = f"{verb} minValues of {requirement.key} {to}"
    return once(RemedyKind.MIN_VALUES, subject_of(pool), words, (set_pool(pool, path, value),))
