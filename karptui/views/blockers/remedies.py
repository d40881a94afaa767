"""What can be done about blockers: each remedy in words, with the YAML or the command that does it.

karptui writes nothing here; names are quoted for the shell, as they come from the cluster.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from karptui.views.blockers.entry import BlockerEntry
from karptui.views.sanitize import clean

DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
MOST_NAMES: Final = 20
"""Objects that a command names at most."""


class Remedy(msgspec.Struct, frozen=True):
    """One thing that can be done."""

    title: str
    """A few words."""
    effect: str
    """What it does, and what it does not."""
    text: str
    """The YAML or the command."""


def remedies(members: Sequence[BlockerEntry]) -> tuple[Remedy, ...]:
    """Return what can be done about blockers, each remedy once."""
    found: list[Remedy] = []
    for code, make in _BY_CODE.items():
        own = [one for one in members if one.blocker.code == code]
        if own:
            found.extend(make(own))
    return tuple({remedy.title: remedy for remedy in found}.values())


def remedies_text(members: Sequence[BlockerEntry]) -> str:
    """Return the remedies as text to read and copy from."""
    parts = []
    for number, remedy in enumerate(remedies(members), 1):
        parts.append(f"# {number}. {remedy.title}\n# {remedy.effect}\n{remedy.text}\n")
    return "\n".join(parts) or "# it ends by itself: nothing to do\n"


def _quoted(names: Iterable[str]) -> str:
    unique = list(dict.fromkeys(clean(name) for name in names if name))
    more = f"  # and {len(unique) - MOST_NAMES} more" if len(unique) > MOST_NAMES else ""
    return " ".join(map(shlex.quote, unique[:MOST_NAMES])) + more


def _pools(members: Sequence[BlockerEntry]) -> list[str]:
    return list(dict.fromkeys(clean(one.blocker.pool_name) for one in members if one.blocker.pool_name))


def _by_namespace(members: Sequence[BlockerEntry]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in members:
        found.setdefault(one.namespace, []).append(one.blocker.object_key.partition("/")[2])
    return found


def _patch_pools(members: Sequence[BlockerEntry], patch: str) -> str:
    return "\n".join(
        f"kubectl patch nodepool {shlex.quote(pool)} --type merge -p {shlex.quote(patch)}" for pool in _pools(members)
    )


def _cordon(members: Sequence[BlockerEntry]) -> Remedy:
    return Remedy(
        "cordon",
        "No new pods land on the node, so it goes once the protected ones have ended. Undo with kubectl uncordon.",
        f"kubectl cordon {_quoted(one.blocker.node_name for one in members)}",
    )


def _own_pool(members: Sequence[BlockerEntry]) -> Remedy:
    pool = next(iter(_pools(members)), "POOL")
    name = f"{pool}-protected"
    return Remedy(
        "own pool for these pods",
        "Pods that may not be disrupted share nodes with nobody else; all other nodes are free to go.",
        f"""# a copy of NodePool {pool} with these lines
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  template:
    spec:
      taints: [{{key: example.com/protected, value: "true", effect: NoSchedule}}]
---
# in the template of the pods
spec:
  nodeSelector: {{karpenter.sh/nodepool: {name}}}
  tolerations: [{{key: example.com/protected, operator: Equal, value: "true", effect: NoSchedule}}]""",
    )


def _of_protected_pods(members: Sequence[BlockerEntry]) -> list[Remedy]:
    removal = "\n".join(
        f"kubectl -n {shlex.quote(clean(namespace))} annotate pod {_quoted(names)} {DO_NOT_DISRUPT}-"
        for namespace, names in _by_namespace(members).items()
    )
    grace = _patch_pools(members, '{"spec":{"template":{"spec":{"terminationGracePeriod":"2h"}}}}')
    return [
        _own_pool(members),
        _cordon(members),
        Remedy(
            'duration instead of "true"',
            "Protects each pod for so long after it started, then the node is free. Units h, m, s; not d.",
            f'# in the template of the pods\nmetadata:\n  annotations: {{{DO_NOT_DISRUPT}: "4h"}}',
        ),
        Remedy(
            "shorter terminationGracePeriod",
            "Ends the wait of nodes that drift, expire or are deleted; consolidation never takes a node with a "
            "protected pod. It holds for new nodes, and changing it makes the present ones drift.",
            grace,
        ),
        Remedy("take the annotation away", "These pods may then be evicted at any time, also halfway.", removal),
    ]


def _of_node(members: Sequence[BlockerEntry]) -> list[Remedy]:
    nodes = _quoted(one.blocker.node_name for one in members)
    text = f"kubectl annotate node {nodes} {DO_NOT_DISRUPT}-"
    return [Remedy("take the node's annotation away", 'On a node only "true" counts, and it never runs out.', text)]


def _of_exhausted(members: Sequence[BlockerEntry]) -> list[Remedy]:
    lines = []
    for key in dict.fromkeys(one.blocker.value for one in members):
        namespace, _, name = clean(key).partition("/")
        patch = shlex.quote('{"spec":{"minAvailable":null,"maxUnavailable":1}}')
        lines.append(f"kubectl -n {shlex.quote(namespace)} patch pdb {shlex.quote(name)} --type merge -p {patch}")
    return [
        Remedy(
            "a budget that allows one eviction",
            "More replicas do the same; unhealthyPodEvictionPolicy: AlwaysAllow lets pods go that are unhealthy.",
            "\n".join(lines),
        ),
    ]


def _of_several(members: Sequence[BlockerEntry]) -> list[Remedy]:
    lines = []
    for value in dict.fromkeys(one.blocker.value for one in members):
        budgets = [clean(key).partition("/") for key in value.split()]
        lines += [f"kubectl -n {shlex.quote(namespace)} get pdb {shlex.quote(name)}" for namespace, _, name in budgets]
    effect = "A pod that two PodDisruptionBudgets select can never be evicted; delete one or narrow its selector."
    return [Remedy("one PodDisruptionBudget a pod", effect, "\n".join(lines))]


def _of_budgets(members: Sequence[BlockerEntry]) -> list[Remedy]:
    text = _patch_pools(members, '{"spec":{"disruption":{"budgets":[{"nodes":"10%"}]}}}')
    effect = "Replaces all budgets of the NodePool; nodes that are deleted or NotReady use the allowance up."
    return [Remedy("a wider disruption budget", effect, text)]


def _of_never(members: Sequence[BlockerEntry]) -> list[Remedy]:
    text = _patch_pools(members, '{"spec":{"disruption":{"consolidateAfter":"5m"}}}')
    return [Remedy("let consolidation begin", "Nodes then count as consolidatable after so long without change.", text)]


def _of_policy(members: Sequence[BlockerEntry]) -> list[Remedy]:
    text = _patch_pools(members, '{"spec":{"disruption":{"consolidationPolicy":"WhenEmptyOrUnderutilized"}}}')
    return [Remedy("consolidate nodes that are not empty", "Pods are moved to make nodes go.", text)]


_BY_CODE: Final = {
    "POD_DND": _of_protected_pods,
    "NODE_DND": _of_node,
    "PDB_EXHAUSTED": _of_exhausted,
    "PDB_MULTIPLE": _of_several,
    "BUDGET_ZERO": _of_budgets,
    "CONSOLIDATION_DISABLED": _of_never,
    "WHEN_EMPTY_POLICY": _of_policy,
}
