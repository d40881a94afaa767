"""Every rule there is, by subject, and the page of documentation made of them."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from karptui.advice.finding import Rule
from karptui.advice.rules import (
    budget,
    buffer,
    claim,
    daemonset,
    node,
    nodeclass_kubelet,
    nodeclass_launch,
    overlay,
    pdb,
    pod_disruption,
    pod_placement,
    pod_requests,
    pool_disruption,
    pool_limit,
    pool_requirements,
    pool_weight,
    reservation,
    setting,
    volume,
)

_SUBJECTS: Final[dict[str, tuple[ModuleType, ...]]] = {
    "NodePools": (pool_requirements, pool_weight, pool_limit, pool_disruption),
    "Disruption budgets": (budget,),
    "EC2NodeClasses": (nodeclass_kubelet, nodeclass_launch),
    "Capacity reservations": (reservation,),
    "NodeOverlays": (overlay,),
    "CapacityBuffers": (buffer,),
    "Settings of the controller": (setting,),
    "Nodes": (node,),
    "NodeClaims": (claim,),
    "Pods": (pod_placement, pod_requests, pod_disruption),
    "PodDisruptionBudgets": (pdb,),
    "Volumes": (volume,),
    "DaemonSets": (daemonset,),
}
"""Headings, and the modules whose rules belong below them."""


def _declared(modules: tuple[ModuleType, ...]) -> tuple[Rule, ...]:
    rules = [value for module in modules for value in vars(module).values() if isinstance(value, Rule)]
    return tuple(sorted(rules, key=lambda rule: rule.id))


RULES_BY_SUBJECT: Final = {heading: _declared(modules) for heading, modules in _SUBJECTS.items()}
"""Rules below the headings of the documentation, by id."""
RULES: Final = tuple(rule for rules in RULES_BY_SUBJECT.values() for rule in rules)
"""All rules by subject; ids are unique."""
BY_ID: Final = {rule.id: rule for rule in RULES}
BEGIN: Final = "<!-- rules: written by tools/make_advice_docs.py -->\n"
"""Everything in docs/advice.md from this line on is generated."""


def rule_text(rule: Rule) -> str:
    """Return a rule as plain text."""
    return (
        f"{rule.id}: {rule.title}\n\n"
        f"When it is reported: {rule.what}\n\n"
        f"Why: {rule.why}\n\n"
        f"Source: {rule.source}\n\n"
        f"What to do: {rule.remedy}\n"
    )


def rule_section(rule: Rule) -> str:
    """Return a rule's section of docs/advice.md."""
    title = f"{rule.title[:1].upper()}{rule.title[1:]}".replace("*", "\\*")
    return (
        f"### {rule.id}\n\n"
        f"**{title}.** {_escaped(rule.what)}\n\n"
        f"*Why.* {_escaped(rule.why)} Source: {_escaped(rule.source)}.\n\n"
        f"*What to do.* {_escaped(rule.remedy)}\n"
    )


def _escaped(text: str) -> str:
    return text.replace("*", "\\*")


def sections() -> str:
    """Return the sections of all rules below their headings."""
    parts = (f"\n## {heading}\n\n" + "\n".join(map(rule_section, rules)) for heading, rules in RULES_BY_SUBJECT.items())
    return BEGIN + "".join(parts)
