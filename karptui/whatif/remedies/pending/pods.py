"""Change to the pods themselves: taints they tolerate, labels they ask for, amounts, spread and affinity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from karptui.karpenter.controller import NAME, NAME_LABEL
from karptui.karpenter.labels import KEY_ALIASES, NODEPOOL
from karptui.kube.pod import DO_NOT_SCHEDULE, PodTemplate
from karptui.kube.resources import PODS
from karptui.kube.taints import Taint
from karptui.provisioning.explain import PoolExplanation
from karptui.provisioning.rejection import (
    DomainUnreachable,
    RequirementsUnmet,
    TaintsNotTolerated,
    TopologyUnmet,
    TypesExhausted,
)
from karptui.whatif.edits import AnyEdit, SetField
from karptui.whatif.remedies.pending.remedy import (
    Attempt,
    RemedyKind,
    UnplacedPods,
    amount_words,
    once,
    quantity_text,
    ref_of,
    set_field,
    whole_nano,
)

SUBJECT: Final = "the pods"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
Path = tuple[str | int, ...]


def pod_trials(question: UnplacedPods) -> Iterator[Attempt]:
    """Yield the changes to pods that the first failing gates suggest, each once."""
    if question.explanation is None:
        yield from _selector_trials(question, None)
        return
    pools = [explanation for explanation in question.explanation.pools if explanation.rejection is not None]
    taints: dict[tuple[Taint, ...], None] = {}
    keys: dict[str, None] = {}
    for pool in pools:
        rejection = pool.rejection
        if isinstance(rejection, TaintsNotTolerated):
            taints[rejection.taints] = None
        elif isinstance(rejection, RequirementsUnmet):
            keys.update((reason.key, None) for reason in rejection.reasons)
        elif isinstance(rejection, TypesExhausted):
            costly = {requirement.key for requirement in rejection.requirements}
            keys.update((key, None) for key, _, _ in _asks(question.first.template) if key in costly)
    yield from (_tolerate(question, missing) for missing in taints)
    yield from _selector_trials(question, keys)
    yield from _smaller(question, pools)
    if any(isinstance(pool.rejection, TopologyUnmet | DomainUnreachable) for pool in pools):
        yield from _free(question)


def _tolerate(question: UnplacedPods, taints: tuple[Taint, ...]) -> Attempt:
    edits: list[AnyEdit] = []
    for offset, taint in enumerate(taints):
        toleration = {"key": taint.key, "effect": taint.effect}
        toleration |= {"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"}
        for pod in question.siblings:
            place = len(pod.template.tolerations) + offset
            edits.append(SetField(ref_of(pod), ("spec", "tolerations", place), toleration))
    return once(RemedyKind.TOLERATE, SUBJECT, f"tolerate {', '.join(map(str, taints))}", edits)


def _asks(template: PodTemplate) -> Iterator[tuple[str, str, Path]]:
    """Yield key, words and path of every label that pods ask for."""
    for key, value in template.node_selector.items():
        yield KEY_ALIASES.get(key, key), f"{key}={value}", ("spec", "nodeSelector", key)
    terms = template.required_node_terms or ()
    for t, term in enumerate(terms):
        at: Path = ("spec", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms", t)
        for field, expressions in (("matchExpressions", term.match_expressions), ("matchFields", term.match_fields)):
            for e, expression in enumerate(expressions):
                words = f"{expression.key} {expression.operator} {', '.join(expression.values)}".rstrip()
                yield KEY_ALIASES.get(expression.key, expression.key), words, (*at, field, e)


def _selector_trials(question: UnplacedPods, keys: Iterable[str] | None) -> Iterator[Attempt]:
    """Yield node selector terms that pods could drop: these keys, or all terms and preferences if None."""
    chosen_keys = None if keys is None else frozenset(keys)
    # Karpenter's documentation warns against running it on nodes that it manages.
    is_karpenter = question.first.template.labels.get(NAME_LABEL) == NAME
    for key, words, path in _asks(question.first.template):
        if (chosen_keys is None or key in chosen_keys) and not (is_karpenter and key == NODEPOOL):
            edits = set_field(question.siblings, path, None)
            yield once(RemedyKind.POD_SELECTOR, SUBJECT, f"no longer request {words}", edits)
    if chosen_keys is None:
        for index, term in enumerate(question.first.template.preferred_node_terms):
            place: Path = ("spec", "affinity", "nodeAffinity", _PREFERRED, index)
            edits = set_field(question.siblings, place, None)
            yield once(RemedyKind.POD_SELECTOR, SUBJECT, f"drop the node preference of weight {term.weight}", edits)


def _smaller(question: UnplacedPods, pools: Iterable[PoolExplanation]) -> Iterator[Attempt]:
    """Yield the largest request that the nearest type of each NodePool has room for."""
    seen: set[tuple[tuple[str, int], ...]] = set()
    requests = question.first.requests
    for pool in pools:
        short = pool.nearest.shortages if pool.nearest is not None else ()
        if not short or any(shortage.resource == PODS or shortage.resource not in requests for shortage in short):
            continue
        left = tuple(
            (
                s.resource,
                whole_nano(s.resource, requests[s.resource].nano - (s.need.nano - s.room.nano), is_up=False),
            )
            for s in short
        )
        if left in seen or any(nano <= 0 for _, nano in left):
            continue
        seen.add(left)
        words = ", ".join(f"{amount_words(name, nano)} of {name}" for name, nano in left)
        # The containers of a pod are one in its document, with their total requests.
        at: Path = ("spec", "containers", 0, "resources", "requests")
        edits = [
            edit for name, nano in left for edit in set_field(question.siblings, (*at, name), quantity_text(name, nano))
        ]
        yield once(RemedyKind.REQUEST, SUBJECT, f"request at most {words}", edits)


def _free(question: UnplacedPods) -> Iterator[Attempt]:
    """Yield each rule about other pods that could be dropped."""
    template = question.first.template
    for index, spread in enumerate(template.topology_spread):
        if spread.when_unsatisfiable == DO_NOT_SCHEDULE:
            path: Path = ("spec", "topologySpreadConstraints", index, "whenUnsatisfiable")
            edits = set_field(question.siblings, path, "ScheduleAnyway")
            words = f"spread over {spread.topology_key} with ScheduleAnyway instead of DoNotSchedule"
            yield once(RemedyKind.SPREAD, SUBJECT, words, edits)
    for field, word, terms in (
        ("podAffinity", "keep to the pods of its affinity", template.pod_affinity),
        ("podAntiAffinity", "keep away from the pods of its anti-affinity", template.pod_anti_affinity),
    ):
        for index, term in enumerate(terms):
            edits = set_field(question.siblings, ("spec", "affinity", field, _REQUIRED, index), None)
            yield once(RemedyKind.AFFINITY, SUBJECT, f"no longer {word} by {term.topology_key}", edits)
