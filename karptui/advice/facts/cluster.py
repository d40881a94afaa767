"""One cluster at one instant: its objects, its settings, and what is not known of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final

from karptui.aws.evidence import NO_EVIDENCE, Evidence
from karptui.disruption.analysis import NodeFindings
from karptui.disruption.fleet import Fleet
from karptui.karpenter.history import NO_HISTORY, ClusterHistory
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.kube.live_usage import NO_LIVE_USAGE, LiveUsage
from karptui.provisioning.problem import Prepared
from karptui.provisioning.solution import Solution

NOTHING_FOUND: Final[Mapping[str, NodeFindings]] = MappingProxyType({})


class ClusterFacts:
    """One cluster at one instant, with everything heavy worked out when it is first asked for."""

    def __init__(
        self,
        prepared: Prepared,
        fleet: Fleet,
        *,
        findings: Mapping[str, NodeFindings] = NOTHING_FOUND,
        evidence: Evidence = NO_EVIDENCE,
        hidden: frozenset[str] = frozenset(),
        history: ClusterHistory = NO_HISTORY,
        usage: LiveUsage = NO_LIVE_USAGE,
    ) -> None:
        """Take over a cluster.

        Args:
            prepared: The cluster, made ready for the provisioning engine.
            fleet: The same as disruption sees it.
            findings: What is known of the disruption of each node, by the key of the analysis.
            evidence: What is known of types, settings and prices beside the objects.
            hidden: Kinds that may not be listed, or have not arrived: their absence says nothing.
            history: What was seen to go.
            usage: What nodes and pods really use, where metrics-server tells.
        """
        self.prepared = prepared
        self.fleet = fleet
        self.findings = findings
        self.evidence = evidence
        self.hidden = hidden
        self.history = history
        self.usage = usage

    @property
    def inventory(self) -> Inventory:
        """Every object."""
        return self.prepared.inventory

    @property
    def settings(self) -> Settings:
        """What the controller was started with."""
        return self.prepared.settings

    @property
    def now_ns(self) -> int:
        """The instant, nanoseconds since the epoch."""
        return self.prepared.now_ns

    def is_assumed(self, setting: str) -> bool:
        """Return whether a setting of the controller stands at its default because nobody tells what it is.

        Args:
            setting: The environment's name, e.g. ``FEATURE_GATES``.
        """
        controller = self.evidence.controller
        if setting in self.settings.environment:
            return False
        is_read = controller is not None and bool(controller.settings)
        return not is_read or controller is None or setting in controller.unknown or bool(controller.from_elsewhere)

    def doubt(self, setting: str) -> str:
        """Return what to add to a sentence that rests on a setting; nothing where the setting is known."""
        return f" ({setting} is not known: its default is assumed)" if self.is_assumed(setting) else ""

    @cached_property
    def solution(self) -> Solution:
        """What the provisioner would do now."""
        return self.prepared.solve()
