"""The rules as the documentation has them."""

from __future__ import annotations

from typing import Final

from karptui.advice.catalogue import RULES
from karptui.advice.rule import Rule

GROUPS: Final = {
    "pool": "NodePools",
    "budget": "Disruption budgets",
    "nodeclass": "EC2NodeClasses",
    "setting": "Settings of the controller",
    "node": "Nodes",
    "claim": "NodeClaims",
    "pod": "Pods",
    "pdb": "PodDisruptionBudgets",
    "volume": "Volumes",
    "daemonset": "DaemonSets",
}
"""What rules are about, by how their ids begin."""
BEGIN: Final = "<!-- rules: written by tools/make_advice_docs.py -->\n"
"""Everything from this line on is made of the rules."""


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
    """Return the sections of all rules, in groups."""
    parts = [BEGIN]
    for prefix, heading in GROUPS.items():
        own = [rule for rule in RULES if rule.id.partition("-")[0] == prefix]
        parts.append(f"\n## {heading}\n\n" + "\n".join(rule_section(rule) for rule in own))
    return "".join(parts)
