"""Classes of equivalent pods, and their requirements after each relaxation.

Rules: ``pkg/scheduling/requirements.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec

from karptui.karpenter.requirements import Requirement, Requirements
from karptui.kube.pod import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    HostPort,
    Pod,
    PodAffinityTerm,
    PodTemplate,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from karptui.kube.quantity import Quantity
from karptui.kube.selectors import NodeSelectorTerm, PreferredSchedulingTerm
from karptui.kube.taints import Toleration
from karptui.provisioning.amounts import Columns, with_pod_slots
from karptui.provisioning.daemonsets import TOLERATE_PREFERENCES, is_toleration_of_preferences
from karptui.provisioning.go_sort import go_sort
from karptui.provisioning.requirement_set import Interner, RequirementSet
from karptui.provisioning.topology_spec import (
    Asked,
    DefaultSpread,
    NamespaceIndex,
    TopologyKind,
    TopologySpec,
    affinity_spec,
    spread_spec,
)
from karptui.provisioning.volumes import Attachments

_Weighted = TypeVar("_Weighted", PreferredSchedulingTerm, WeightedPodAffinityTerm)


class Preferences(msgspec.Struct, frozen=True, gc=False):
    """Preferences of a pod that relaxation removes, and tolerations that it adds."""

    required: tuple[NodeSelectorTerm, ...] | None
    preferred: tuple[PreferredSchedulingTerm, ...]
    preferred_affinity: tuple[WeightedPodAffinityTerm, ...]
    preferred_anti_affinity: tuple[WeightedPodAffinityTerm, ...]
    spread: tuple[TopologySpreadConstraint, ...]
    tolerations: tuple[Toleration, ...]

    def relaxed(self, *, tolerate_preferences: bool) -> Preferences | None:
        """Return the preferences after the next relaxation, or None.

        Alternatives of the required node affinity are removed before any preference.
        """
        if self.required is not None and len(self.required) > 1:
            return msgspec.structs.replace(self, required=self.required[1:])
        if self.preferred_affinity:
            return msgspec.structs.replace(self, preferred_affinity=_without_heaviest(self.preferred_affinity))
        if self.preferred_anti_affinity:
            return msgspec.structs.replace(
                self, preferred_anti_affinity=_without_heaviest(self.preferred_anti_affinity)
            )
        if self.preferred:
            return msgspec.structs.replace(self, preferred=_without_heaviest(self.preferred))
        for i, constraint in enumerate(self.spread):
            if constraint.when_unsatisfiable == SCHEDULE_ANYWAY:
                # Like Karpenter, move the last constraint to the position of the removed one.
                spread = [*self.spread]
                spread[i] = spread[-1]
                return msgspec.structs.replace(self, spread=tuple(spread[:-1]))
        if tolerate_preferences and not any(
            is_toleration_of_preferences(toleration) for toleration in self.tolerations
        ):
            return msgspec.structs.replace(self, tolerations=(*self.tolerations, TOLERATE_PREFERENCES))
        return None


def _without_heaviest(terms: tuple[_Weighted, ...]) -> tuple[_Weighted, ...]:
    return tuple(sorted(terms, key=lambda term: -term.weight)[1:])


RESPECT: Final = "Respect"


class Stage:
    """A pod class after a number of relaxations."""

    __slots__ = (
        "asked",
        "asked_host",
        "next_known",
        "number",
        "owner",
        "preferences",
        "relaxed",
        "specs",
        "strict",
        "strict_host",
    )

    def __init__(self, owner: PodClass, preferences: Preferences, number: int) -> None:
        self.owner = owner
        self.preferences = preferences
        self.number = number
        """Number of earlier relaxations."""
        self.asked: RequirementSet
        """Requirements on a node, including the heaviest preference."""
        self.asked_host: Requirement | None
        self.strict: RequirementSet
        """Requirements without preferences, which determine the domains of topology spread."""
        self.strict_host: Requirement | None
        self.specs: tuple[TopologySpec, ...]
        self.relaxed: Stage | None = None
        self.next_known = False

    @property
    def tolerations(self) -> tuple[Toleration, ...]:
        """Tolerations, including the toleration that relaxation may add."""
        return self.preferences.tolerations


class PodClass:
    """Pods that are equivalent for scheduling."""

    __slots__ = (
        "attachments",
        "face",
        "has_dra",
        "host_ports",
        "inverse_specs",
        "labels",
        "namespace",
        "requests",
        "row",
        "template",
        "volume_alternatives",
    )

    def __init__(self, template: PodTemplate, labels: Mapping[str, str], columns: Columns) -> None:
        self.template = template
        self.namespace = template.namespace
        self.labels = labels
        self.face = (template.namespace, frozenset(labels.items()))
        """Namespace and labels that selectors can match."""
        self.requests: Mapping[str, Quantity] = with_pod_slots(template.requests)
        """Requests including the pod slot."""
        self.row = columns.row(template.requests, pods=1)
        self.host_ports: tuple[HostPort, ...] = template.host_ports
        self.has_dra = template.has_resource_claims
        self.volume_alternatives: tuple[Asked, ...] = ()
        self.attachments: Attachments | None = ()
        """None if a bound volume does not exist, so that existing nodes are not tried."""
        self.inverse_specs: tuple[TopologySpec, ...] = ()
        """Required anti-affinity, which also keeps the selected pods away from this one."""


class PodClasses:
    """Creates pod classes and their stages for a cluster."""

    def __init__(
        self,
        *,
        interner: Interner,
        columns: Columns,
        namespaces: NamespaceIndex,
        selector_keys: frozenset[str],
        preference_policy: str,
        tolerate_preferences: bool,
        default_spread: DefaultSpread | None = None,
    ) -> None:
        self._default_spread = default_spread
        self._interner = interner
        self._columns = columns
        self._namespaces = namespaces
        self._selector_keys = selector_keys
        self._respects = preference_policy == RESPECT
        self._tolerate_preferences = tolerate_preferences
        self._by_template: dict[PodTemplate, Stage] = {}
        self._by_content: dict[tuple[object, ...], Stage] = {}
        self._by_uid: dict[str, tuple[Pod, Stage]] = {}
        """Stages of pods that are not determined by their template."""

    def first_stage(
        self, pod: Pod, volumes: Callable[[Pod], tuple[tuple[Requirements, ...], Attachments | None]]
    ) -> Stage:
        """Return the class of a pod with all its preferences.

        Args:
            volumes: Returns alternatives for the location of a pod's volumes, and its attachments.
        """
        template = pod.template
        if pod.volumes or pod.own_labels or template.host_ports:
            cached = self._by_uid.get(pod.uid)
            if cached is None or cached[0] is not pod:
                cached = self._by_uid[pod.uid] = (pod, self._by_its_content(pod, volumes))
            return cached[1]
        stage = self._by_template.get(template)
        if stage is None:
            stage = self._by_template[template] = self._by_its_content(pod, volumes)
        return stage

    def _by_its_content(
        self, pod: Pod, volumes: Callable[[Pod], tuple[tuple[Requirements, ...], Attachments | None]]
    ) -> Stage:
        template = pod.template
        labels = {key: value for key, value in pod.labels.items() if key in self._selector_keys}
        spread = template.topology_spread if self._default_spread is None else self._default_spread.of(pod)
        alternatives, attachments = volumes(pod) if pod.volumes else ((), ())
        content = (
            template.namespace,
            frozenset(labels.items()),
            self._columns.row(template.requests),
            frozenset(template.node_selector.items()),
            template.required_node_terms,
            template.preferred_node_terms,
            template.pod_affinity,
            template.preferred_pod_affinity,
            template.pod_anti_affinity,
            template.preferred_pod_anti_affinity,
            spread,
            template.tolerations,
            template.has_resource_claims,
            # Host ports of pods with the same name never conflict, so the name is part of the class.
            (pod.key, template.host_ports) if template.host_ports else None,
            alternatives,
            attachments,
        )
        stage = self._by_content.get(content)
        if stage is None:
            pod_class = PodClass(template, labels, self._columns)
            pod_class.inverse_specs = self.anti_affinity_specs(template)
            pod_class.volume_alternatives = tuple(self._interner.split(alternative) for alternative in alternatives)
            pod_class.attachments = attachments
            stage = self._by_content[content] = self._first(pod_class, spread)
        return stage

    def _first(self, owner: PodClass, spread: tuple[TopologySpreadConstraint, ...]) -> Stage:
        template = owner.template
        preferred = template.preferred_node_terms
        if len(preferred) > 1:
            preferred = tuple(preferred[i] for i in go_sort([-term.weight for term in preferred]))
        preferences = Preferences(
            template.required_node_terms,
            preferred,
            template.preferred_pod_affinity,
            template.preferred_pod_anti_affinity,
            spread,
            template.tolerations,
        )
        return self._stage(owner, preferences, 0)

    def relaxed(self, stage: Stage) -> Stage | None:
        """Return the stage after the next relaxation, or None."""
        if not stage.next_known:
            stage.next_known = True
            preferences = stage.preferences.relaxed(tolerate_preferences=self._tolerate_preferences)
            if preferences is not None:
                stage.relaxed = self._stage(stage.owner, preferences, stage.number + 1)
        return stage.relaxed

    def required_stages(self, stage: Stage) -> tuple[Stage, ...]:
        """Return the requirements of a class without preferences: a stage for each alternative."""
        preferences = stage.preferences
        terms = stage.owner.template.required_node_terms
        hard = tuple(
            constraint for constraint in preferences.spread if constraint.when_unsatisfiable == DO_NOT_SCHEDULE
        )
        tolerations = (*stage.owner.template.tolerations, TOLERATE_PREFERENCES)
        alternatives = (
            [None] if terms is None else [(term, *(other for other in terms if other is not term)) for term in terms]
        )
        return tuple(
            self._stage(stage.owner, Preferences(required, (), (), (), hard, tolerations), 0)
            for required in alternatives
        )

    def _stage(self, owner: PodClass, preferences: Preferences, number: int) -> Stage:
        stage = Stage(owner, preferences, number)
        node_selector = owner.template.node_selector
        selector = Requirements.from_labels(node_selector) if node_selector else self._interner.empty.value
        strict = merged = selector
        if preferences.required:
            strict = strict.merge(Requirements.from_selectors(preferences.required[0].match_expressions))
            merged = strict
        if preferences.preferred and self._respects:
            preferred = Requirements.from_selectors(preferences.preferred[0].preference.match_expressions)
            merged = selector.merge(preferred)
            if preferences.required:
                merged = merged.merge(Requirements.from_selectors(preferences.required[0].match_expressions))
        stage.strict, stage.strict_host = self._interner.split(strict)
        stage.asked, stage.asked_host = self._interner.split(merged)
        stage.specs = tuple(self._specs(owner, preferences, selector))
        return stage

    def _specs(self, owner: PodClass, preferences: Preferences, selector: Requirements) -> list[TopologySpec]:
        specs: dict[tuple[object, ...], TopologySpec] = {}
        tolerations = preferences.tolerations
        required = None
        if preferences.spread and preferences.required is not None:
            required = tuple(
                self._interner.split(selector.merge(Requirements.from_selectors(term.match_expressions)))
                for term in preferences.required
            )
        for constraint in preferences.spread:
            if self._respects or constraint.when_unsatisfiable == DO_NOT_SCHEDULE:
                spec = spread_spec(
                    constraint,
                    namespace=owner.namespace,
                    labels=owner.labels,
                    node_selector=self._interner.split(selector),
                    required=required,
                    tolerations=tolerations,
                )
                specs.setdefault(spec.identity, spec)
        template = owner.template
        for kind, hard, soft in (
            (TopologyKind.AFFINITY, template.pod_affinity, preferences.preferred_affinity),
            (TopologyKind.ANTI_AFFINITY, template.pod_anti_affinity, preferences.preferred_anti_affinity),
        ):
            terms = [*hard, *(weighted.term for weighted in soft)] if self._respects else [*hard]
            for term in terms:
                affinity = self._affinity_spec(kind, term, owner.namespace, tolerations)
                if affinity is not None:
                    specs.setdefault(affinity.identity, affinity)
        return list(specs.values())

    def _affinity_spec(
        self, kind: TopologyKind, term: PodAffinityTerm, namespace: str, tolerations: tuple[Toleration, ...]
    ) -> TopologySpec | None:
        namespaces = self._namespaces.of_term(term, namespace)
        if namespaces is None:
            return None
        return affinity_spec(kind, term, namespaces=namespaces, tolerations=tolerations)

    def anti_affinity_specs(self, template: PodTemplate) -> tuple[TopologySpec, ...]:
        """Return the rules of a template's required anti-affinity, as they apply to the pods they select."""
        if not template.pod_anti_affinity:
            return ()
        specs = (
            self._affinity_spec(TopologyKind.ANTI_AFFINITY, term, template.namespace, template.tolerations)
            for term in template.pod_anti_affinity
        )
        return tuple(spec for spec in specs if spec is not None)
