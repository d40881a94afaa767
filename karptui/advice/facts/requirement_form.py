"""A NodePool's requirements as the API writes them, for edits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karptui.kube.node_selector import NodeSelectorRequirement

REQUIREMENTS_PATH: Final = ("spec", "template", "spec", "requirements")
"""Where a NodePool has its requirements."""


def requirement_form(
    requirement: NodeSelectorRequirement, *, operator: str = "", values: Sequence[str] | None = None
) -> dict[str, object]:
    """Return a requirement in the API's form.

    Args:
        requirement: As written.
        operator: Instead of its own; empty keeps that.
        values: Instead of its own; None keeps those.
    """
    own: dict[str, object] = {"key": requirement.key, "operator": operator or requirement.operator}
    chosen = requirement.values if values is None else values
    if chosen:
        own["values"] = list(chosen)
    if requirement.min_values is not None:
        own["minValues"] = requirement.min_values
    return own
