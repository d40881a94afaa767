"""Where pods ask to be: affinity, spread, preferences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from karptui.advice.context import AdviceContext, PodGroup
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import joined, listed, owner_refs, ref_text
from karptui.karpenter.labels import KEY_ALIASES, WELL_KNOWN, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.kube.pod import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY, PodTemplate, TopologySpreadConstraint
from karptui.kube.units import counted, verb
from karptui.provisioning.template import pool_requirements
from karptui.provisioning.topology_counts import DomainUniverse
from karptui.whatif.edits import SetSetting


@rule(
    "pod-affinity-and-spread",
    title="affinity and spread over one key",
    what="Pods have required pod affinity and a DoNotSchedule topology spread over the same key.",
    why="Each rule restricts the domains independently: the spread picks its emptiest domain, affinity the domains with"
    " matching pods. If they share no domain the pod is unschedulable, although a fuller domain would satisfy maxSkew.",
    source="pkg/controllers/provisioning/scheduling/topology.go and topologygroup.go",
    remedy="Use one of the two for a key.",
)
def _affinity_and_spread(context: AdviceContext) -> Iterator[Finding]:
    by_keys: dict[tuple[str, ...], list[PodGroup]] = {}
    for group in context.workload_groups:
        spread = {c.topology_key for c in group.template.topology_spread if c.when_unsatisfiable == DO_NOT_SCHEDULE}
        keys = tuple(sorted(spread & {term.topology_key for term in group.template.pod_affinity}))
        if keys:
            by_keys.setdefault(keys, []).append(group)
    for keys, groups in sorted(by_keys.items()):
        owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
        waiting = sum(1 for group in groups for pod in group.pods if not pod.node_name)
        yield Finding(
            severity=Severity.WARNING if waiting else Severity.INFO,
            objects=owners,
            fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'has', 'have')} both required "
            f"pod affinity and a DoNotSchedule spread over {joined(keys)}: Karpenter picks the domain of each "
            "independently, and refuses the pod if they differ, even if maxSkew would allow it.",
        )


@rule(
    "pod-preference-first-term",
    title="preference against the first term",
    what="Pods have several required node affinity terms and a preference that contradicts the first.",
    why="If a pod is unschedulable Karpenter relaxes it step by step, and the first step drops a required OR-term. "
    "Preferences are dropped only when one term is left. A preference that contradicts the first term costs the pod "
    "that term, and may make it unschedulable.",
    source="pkg/controllers/provisioning/scheduling/preferences.go",
    remedy="Order the terms so that the first agrees with the preference, or leave the preference out.",
)
def _preference_first_term(context: AdviceContext) -> Iterator[Finding]:
    if context.settings.preference_policy != "Respect":
        return
    groups = []
    for group in context.workload_groups:
        terms, preferred = group.template.required_node_terms or (), group.template.preferred_node_terms
        if len(terms) < 2 or not preferred:
            continue
        first = Requirements.from_selectors(terms[0].match_expressions)
        wishes = [Requirements.from_selectors(term.preference.match_expressions) for term in preferred]
        if any(not first.intersects(wish) for wish in wishes):
            groups.append(group)
    if groups:
        owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
        yield Finding(
            severity=Severity.WARNING,
            objects=owners,
            fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'prefers', 'prefer')} "
            f"a value that the first of {verb(pods, 'its', 'their')} required alternatives excludes: Karpenter drops "
            f"that alternative before it drops the preference{context.doubt('PREFERENCE_POLICY')}.",
        )


@rule(
    "pod-preferences",
    title="preferences cost nodes",
    what="PREFERENCE_POLICY is Respect, and pods that some NodePool would take have preferences.",
    why="Preferred node affinity, preferred pod affinity and ScheduleAnyway spreads count as required until the pod is "
    "unschedulable; only then are they relaxed one by one. Karpenter launches a new node in the preferred zone although"
    " an existing node is empty, and consolidation simulates the same.",
    source="pkg/controllers/provisioning/scheduling/preferences.go",
    remedy="Drop preferences that are not worth a node, or start the controller with PREFERENCE_POLICY=Ignore; a "
    "what-if with it shows the difference.",
)
def _preferences(context: AdviceContext) -> Iterator[Finding]:
    if context.settings.preference_policy != "Respect":
        return
    groups = [
        group for group in context.workload_groups if _wishes(group.template) and context.accepting(group.template)
    ]
    if not groups:
        return
    owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
    kinds = sorted({wish for group in groups for wish in _wishes(group.template)})
    yield Finding(
        severity=Severity.INFO,
        objects=owners,
        fact=f"{counted(pods, 'pod')} of {counted(len(owners), 'workload')} ({listed(map(ref_text, owners))}) "
        f"{verb(pods, 'has', 'have')} preferences ({', '.join(kinds)}): Karpenter first treats them as "
        f"requirements, and launches a node instead of using one that does not match"
        f"{context.doubt('PREFERENCE_POLICY')}.",
        edits=(SetSetting("PREFERENCE_POLICY", "Ignore"),),
    )


def _wishes(template: PodTemplate) -> tuple[str, ...]:
    preferences = {
        "node affinity": bool(template.preferred_node_terms),
        "pod affinity": bool(template.preferred_pod_affinity),
        "pod anti-affinity": bool(template.preferred_pod_anti_affinity),
        "ScheduleAnyway spread": any(c.when_unsatisfiable == SCHEDULE_ANYWAY for c in template.topology_spread),
    }
    return tuple(name for name, is_there in preferences.items() if is_there)


@rule(
    "pod-spread-shared-group",
    title="spreads that count as one",
    what="DoNotSchedule spreads of pods in one namespace differ only in minDomains, or in the values of node "
    "selectors.",
    why="Karpenter identifies a spread by a hash that leaves minDomains out and sees only the keys of a node selector. "
    "Two such spreads share one group, with the minDomains and the node filter of whichever pod comes first.",
    source="Hash in pkg/controllers/provisioning/scheduling/topologygroup.go",
    remedy="Make the spreads differ in something that counts, such as their label selector.",
)
def _spread_shared_group(context: AdviceContext) -> Iterator[Finding]:
    shared: dict[tuple[object, ...], dict[tuple[object, ...], list[PodGroup]]] = {}
    for group in context.workload_groups:
        for spread in group.template.topology_spread:
            if spread.when_unsatisfiable == DO_NOT_SCHEDULE:
                identity, unseen = _identity(group.template, spread), _unseen(group.template, spread)
                shared.setdefault(identity, {}).setdefault(unseen, []).append(group)
    for identity, variants in shared.items():
        if len(variants) < 2:
            continue
        groups = [group for variant in variants.values() for group in variant]
        owners = owner_refs(groups)
        fields = {unseen[0] for unseen in variants}
        what = "minDomains" if len(fields) > 1 else "values of the pods' node selector"
        yield Finding(
            severity=Severity.INFO,
            objects=owners,
            fact=f"Spreads over {identity[1]} of {counted(len(groups), 'pod template')} "
            f"({listed(map(ref_text, owners))}) differ only in {what}: Karpenter merges them, and the first "
            "pod decides for all.",
        )


def _identity(template: PodTemplate, spread: TopologySpreadConstraint) -> tuple[object, ...]:
    """Return Karpenter's identity of a spread: node filter keys without values, and no minDomains."""
    keys = tuple(sorted(template.node_selector))
    if spread.node_affinity_policy == "Ignore":
        keys = ()
    return (
        template.namespace,
        spread.topology_key,
        spread.max_skew,
        spread.label_selector,
        spread.node_affinity_policy,
        spread.node_taints_policy,
        keys,
        template.required_node_terms,
        frozenset(template.tolerations),
    )


def _unseen(template: PodTemplate, spread: TopologySpreadConstraint) -> tuple[object, ...]:
    values = () if spread.node_affinity_policy == "Ignore" else tuple(sorted(template.node_selector.items()))
    return spread.min_domains, values


@rule(
    "pod-spread-unreachable",
    title="a spread counts unreachable zones",
    what="A DoNotSchedule spread over zones counts a zone without nodes that only NodePools closed to the pods, or "
    "sold-out offerings, would reach.",
    why="Domains come from every NodePool and instance type, whether or not the pods tolerate the taints and whether "
    "or not an offering is available. A zone that stays empty holds the minimum at zero, so no other zone may have "
    "more than maxSkew pods.",
    source="buildDomainGroups in pkg/controllers/provisioning/scheduling/topology.go",
    remedy="Set nodeTaintsPolicy: Honor where taints are the cause; else name the zones in the pods' node affinity, or "
    "use ScheduleAnyway.",
)
def _spread_unreachable(context: AdviceContext) -> Iterator[Finding]:
    universe: DomainUniverse | None = None
    for group in context.workload_groups:
        if len(group.pods) < 2:
            continue
        for spread in group.template.topology_spread:
            if spread.topology_key != ZONE or spread.when_unsatisfiable != DO_NOT_SCHEDULE:
                continue
            universe = universe or DomainUniverse(
                [
                    (pool_requirements(pool), pool.taints, context.catalogue_of(pool))
                    for pool in context.ready_pools
                    if len(context.catalogue_of(pool))
                ]
            )
            lost, reach = _domains(context, group, spread, universe)
            most = spread.max_skew * len(reach)
            if lost and reach and spread.min_domains is None and len(group.pods) > most - len(reach):
                yield _finding(group, spread, lost, reach)


def _domains(
    context: AdviceContext, group: PodGroup, spread: TopologySpreadConstraint, universe: DomainUniverse
) -> tuple[list[str], list[str]]:
    """Return the unreachable zones that the spread counts, and the reachable ones."""
    template = group.template
    honours_taints = spread.node_taints_policy == "Honor"
    counted_zones = set(universe.domains(ZONE, template.tolerations if honours_taints else None))
    zones = _own_zones(group) if spread.node_affinity_policy != "Ignore" else None
    if zones is not None:
        counted_zones &= zones
    reach = context.zones_for(template)
    # Nodes in a zone accept pods there, whatever the NodePools offer.
    with_nodes = {node.labels.get(ZONE, "") for node in context.fleet.nodes}
    return sorted(counted_zones - reach - with_nodes), sorted(reach)


def _own_zones(group: PodGroup) -> set[str] | None:
    template = group.template
    alternatives = [Requirements.from_selectors(term.match_expressions) for term in template.required_node_terms or ()]
    zones: set[str] = set()
    for alternative in alternatives or [Requirements()]:
        requirement = Requirements.from_labels(template.node_selector).merge(alternative).find(ZONE)
        if requirement is None or requirement.complement:
            return None
        zones |= requirement.values
    return zones


def _finding(group: PodGroup, spread: TopologySpreadConstraint, lost: list[str], reach: list[str]) -> Finding:
    waiting = sum(1 for pod in group.pods if not pod.node_name)
    waits = f" {counted(waiting, 'of them is pending', 'of them are pending')}." if waiting else ""
    return Finding(
        severity=Severity.ERROR if waiting else Severity.WARNING,
        objects=(group.owner,),
        fact=f"The spread over zones of {ref_text(group.owner)} ({counted(len(group.pods), 'pod')}) counts "
        f"{joined(lost)}, but no NodePool for these pods can launch there: with no pod there, maxSkew "
        f"{spread.max_skew} lets each of {joined(reach)} have {spread.max_skew}.{waits}",
    )


@rule(
    "pod-spread-zonal-volumes",
    title="volumes defeat the zonal spread",
    what="Bound volumes tie every pod of a workload to one zone each, and these zones are less even than the workload's"
    " DoNotSchedule spread over zones allows.",
    why="The spread counts every zone that NodePools reach, also zones without the volume. Once a zone has its share, "
    "the next pod with a volume there is unschedulable.",
    source="pkg/controllers/provisioning/scheduling/volumetopology.go and topologygroup.go",
    remedy="Restrict pods to the zones of their volumes by node affinity, use ScheduleAnyway, or move volumes.",
)
def _spread_zonal_volumes(context: AdviceContext) -> Iterator[Finding]:
    for group in context.workload_groups:
        skew = min(
            (
                constraint.max_skew
                for constraint in group.template.topology_spread
                if constraint.topology_key == ZONE and constraint.when_unsatisfiable == DO_NOT_SCHEDULE
            ),
            default=None,
        )
        if skew is not None and (finding := _finding_of_group(context, group, skew)) is not None:
            yield finding


def _finding_of_group(context: AdviceContext, group: PodGroup, skew: int) -> Finding | None:
    """Return a finding where volumes force more pods into a zone than the spread lets it have."""
    pinned = [zones for pod in group.pods if pod.volumes and len(zones := context.zones_of_volumes(pod)) == 1]
    if len(pinned) < len(group.pods) or len(pinned) < 2:
        return None
    counts = Counter(zone for zones in pinned for zone in zones)
    reach = context.zones_for(group.template)
    least = min((counts.get(zone, 0) for zone in reach), default=0)
    if max(counts.values()) - least <= skew or not reach:
        return None
    held = joined([f"{count} in {zone}" for zone, count in sorted(counts.items())])
    return Finding(
        severity=Severity.WARNING,
        objects=(group.owner,),
        fact=f"Volumes tie the {counted(len(pinned), 'pod')} of {ref_text(group.owner)} to zones ({held}), and their "
        f"spread over zones allows a skew of {skew} among {counted(len(reach), 'zone')}: not all of them can be "
        "rescheduled.",
    )


@rule(
    "pod-stored-not-in",
    title="NotIn defines a label for other pods",
    what="Pods exclude values of a label that no NodePool sets, while other pods ask for a value of the same label.",
    why="A NotIn on a label that a claim lacks is accepted and remembered. From then on the label counts as defined, "
    "so a later pod may ask for a value of it and the node gets the label, although alone that pod would fail.",
    source="pkg/controllers/provisioning/scheduling/nodeclaim.go and pkg/scheduling/requirements.go",
    remedy="Define the label in the NodePool that should carry it.",
)
def _stored_not_in(context: AdviceContext) -> Iterator[Finding]:
    every = [context.requirements_of(pool) for pool in context.tried_pools]
    defined = {requirement.key for requirements in every for requirement in requirements}
    well_known = WELL_KNOWN.union(*(requirements.well_known for requirements in every))
    excluding: dict[str, list[PodGroup]] = {}
    demanded = {
        key
        for group in context.workload_groups
        for key in (*group.template.node_selector, *_keys(group, frozenset({"In"})))
    }
    for group in context.workload_groups:
        for key in dict.fromkeys(_keys(group, frozenset({"NotIn", "DoesNotExist"}))):
            if key not in defined and key not in well_known and key in demanded:
                excluding.setdefault(key, []).append(group)
    for key, groups in sorted(excluding.items()):
        owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
        yield Finding(
            severity=Severity.INFO,
            objects=owners,
            fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'excludes', 'exclude')} "
            f"values of {key}, which no "
            "NodePool defines, and others request a value of it: the latter are scheduled only together "
            "with the former on a new node.",
        )


def _keys(group: PodGroup, operators: frozenset[str]) -> list[str]:
    return [
        KEY_ALIASES.get(expression.key, expression.key)
        for term in group.template.required_node_terms or ()
        for expression in term.match_expressions
        if expression.operator in operators
    ]


@rule(
    "pod-zonal-anti-affinity",
    title="anti-affinity allows one pod per zone",
    what="Two or more pods of a workload have required anti-affinity to themselves over zones.",
    why="During planning Karpenter does not know the final zone of a NodeClaim with several zones, so one placed pod "
    "closes all of them for the next pod: each run places one pod. There can never be more pods than zones.",
    source="nextDomainAntiAffinity in pkg/controllers/provisioning/scheduling/topologygroup.go",
    remedy="Use topologySpreadConstraints with maxSkew 1 over zones instead, with anti-affinity over hostname.",
)
def _zonal_anti_affinity(context: AdviceContext) -> Iterator[Finding]:
    for group in context.workload_groups:
        if not _shuns_itself(group):
            continue
        zones = context.zones_for(group.template)
        pods = len(group.pods)
        fact = f"{counted(pods, 'pod')} of {ref_text(group.owner)} may not share a zone with each other, and NodePools "
        fact += f"reach {counted(len(zones), 'zone')} for them"
        if pods > len(zones):
            fact += f": at most {len(zones)} can run."
        else:
            fact += ": new ones are placed one per run, ten seconds apart at best."
        if zones:
            yield Finding(
                severity=Severity.WARNING if pods > len(zones) else Severity.INFO, objects=(group.owner,), fact=fact
            )


def _shuns_itself(group: PodGroup) -> bool:
    if len(group.pods) < 2:
        return False
    labels = group.pods[0].labels
    return any(
        term.topology_key == ZONE and term.label_selector is not None and term.label_selector.matches(labels)
        for term in group.template.pod_anti_affinity
    )
