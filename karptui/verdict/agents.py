"""The DaemonSet that a node lacks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from karptui.kube.taints import HARD_EFFECTS, untolerated
from karptui.kube.workload import DaemonSet
from karptui.verdict.case import VerdictCase, VerdictNode

SHARED_WORDS: Final = {"agent", "aws", "azure", "com", "csi", "io", "k8s", "node", "org", "sh"}
"""Words in names of DaemonSets, or domains, of different projects."""
_NO_DRIVER: Final = re.compile(r"does not contain driver ([\w.-]+)|driver name ([\w.-]+) not found in the list")
"""Errors about volumes on a node where their driver does not run."""


def absent_driver(case: VerdictCase, line: VerdictNode | None, message: str) -> tuple[str, ...]:
    """Return the DaemonSet of the volume driver that a node lacks, and taints that keep it off; empty without one."""
    if line is None or (match := _NO_DRIVER.search(message)) is None:
        return ()
    words = {*re.split(r"[.-]", match[1] or match[2])} - SHARED_WORDS
    return absent_agent(case, line, lambda daemonset: words <= {*daemonset.name.split("-")})


def absent_agent(case: VerdictCase, line: VerdictNode, is_agent: Callable[[DaemonSet], bool]) -> tuple[str, ...]:
    """Return the only DaemonSet of a sort if a node lacks it, and taints that keep it off; empty otherwise."""
    agents = [(daemonset, kept_off(daemonset, line)) for daemonset in case.daemonsets if is_agent(daemonset)]
    if len(agents) != 1:  # of several DaemonSets of a project any may be the one
        return ()
    ((daemonset, taints),) = agents
    # A selector that fits no node at all is not about this one.
    is_selective = taints == () and any(_selects(daemonset, other) for other in case.nodes)
    return (daemonset.key, *taints) if taints or (taints is not None and is_selective) else ()


def kept_off(daemonset: DaemonSet, line: VerdictNode) -> tuple[str, ...] | None:
    """Return the taints that keep a DaemonSet off a node, none if that lacks its labels; None if it may run there."""
    own = line.claim.taints if line.claim is not None else ()
    taints = [str(t) for t in untolerated(own, daemonset.template.tolerations) if t.effect in HARD_EFFECTS]
    return tuple(taints) if taints or not _selects(daemonset, line) else None


def _selects(daemonset: DaemonSet, line: VerdictNode) -> bool:
    return line.node is not None and daemonset.template.node_selector.items() <= line.node.labels.items()
