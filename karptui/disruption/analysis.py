"""The results of analysing disruption for one generation of the cluster: immutable values.

Karpenter decides by list prices. `billed_verdict` and `billed_command` convert dollars to what the user pays, by the
multiplier and the surcharge of the price settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.aws.prices import LIST_PRICES, PriceSettings
from karptui.disruption.budget_calendar import PoolBudgets
from karptui.disruption.budgets import BudgetState
from karptui.disruption.codes import HOLDS_NOBODY, Blocker, Code
from karptui.disruption.drain import DrainState
from karptui.disruption.gates import GateCheck
from karptui.disruption.joint_saving import JointFigures
from karptui.disruption.lanes import Lane, Why
from karptui.disruption.node_verdict import Landing, Replacement, Verdict
from karptui.disruption.outlook import Outcome
from karptui.disruption.repair import HealthDeletion
from karptui.disruption.survey_memory import SurveyMemory
from karptui.disruption.termination import InstanceWarning
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.overlap import Overlap


class NodeOutlook(msgspec.Struct, frozen=True, gc=False):
    """Results of the simulated removals of a node."""

    now: Verdict
    """In the current state."""
    lifted: Verdict
    """Without any blocker; equal to ``now`` if there is none, or if the node is removed in spite of them."""
    freed: Verdict
    """Without the blockers of methods that want the node; equal to ``now`` if there are none."""
    without: tuple[Outcome, ...] = ()
    """Without one blocker, or the PodDisruptionBudgets behind it, for each blocker of the node in order."""
    without_code: Mapping[Code, Outcome] = MappingProxyType({})
    """Without all blockers of a code."""


class NodeFindings(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Everything about a node."""

    key: str
    """``claim/NAME`` of its NodeClaim, ``node/NAME`` without one."""
    node_name: str
    """The Node's name, or the NodeClaim's if there is no Node."""
    pool_name: str
    why: Why
    blockers: tuple[Blocker, ...] = ()
    drain: DrainState | None = None
    """The state of its termination; None if nothing disrupts it."""
    recent_pods: int = 0
    """Pods, except DaemonSet pods, bound to it in the last hour."""
    moving_pods: int = 0
    """Pods that must be rescheduled before it is empty, without DaemonSet pods and pods of zero cost."""
    lost_pods: tuple[str, ...] = ()
    """``namespace/name`` of its pods that nothing recreates after eviction."""
    grace_ns: int | None = None
    """Nanoseconds of its NodeClaim's terminationGracePeriod; None without one."""
    price_per_hour: float | None = None
    """Dollars, from its NodePool's instance types; None if unknown."""
    outlook: NodeOutlook | None = None
    """None until its removal is simulated."""
    freed_before: Verdict | None = None
    """The previous value of ``freed``, which counts until a different result has persisted for `SETTLES_NS`."""
    differs_since_ns: int = 0
    """Since when its simulation differs from ``freed_before``; 0 if it does not."""
    is_provisional: bool = False
    """Whether blocked nodes are still to be simulated, initially or after a price change: all count at once."""
    lanes: tuple[Lane, ...] = ()
    """Each method's state for it, in Karpenter's order; empty if Karpenter does not manage it."""
    warning: InstanceWarning | None = None
    """The cloud's latest warning about its instance; None without one."""
    unhealthy: HealthDeletion | None = None
    """When the health controller deletes it as unhealthy; None if it does not."""
    is_static: bool = False
    """Whether its NodePool is static: then only drift and repair disrupt it."""

    @property
    def freed(self) -> Verdict | None:
        """The result without the blockers of methods that want the node, as currently confirmed; None if unknown."""
        if self.freed_before is not None or self.is_provisional or self.outlook is None:
            return self.freed_before
        return self.outlook.freed

    @property
    def is_held(self) -> bool:
        """Whether something blocks a method that wants the node, or its drain."""
        return any(blocker.is_wanted for blocker in self.blockers)

    @cached_property
    def blocker_count(self) -> int:
        """Blockers of methods that want the node."""
        return sum(blocker.is_wanted and blocker.code not in HOLDS_NOBODY for blocker in self.blockers)


class NodeDetail(msgspec.Struct, frozen=True, eq=False):
    """Details that are computed only for the selected node."""

    key: str
    gates: tuple[GateCheck, ...]
    """All gates, in Karpenter's order."""
    landings: Mapping[str, Landing] = MappingProxyType({})
    """Where each of its pods would be scheduled, by ``namespace/name``."""
    problem: str = ""
    """Why no removal could be simulated."""
    budgets: tuple[BudgetState, ...] = ()
    """Its NodePool's budget for each reason; empty if the NodePool is unknown."""
    consolidation_policy: str = ""
    paused_by: tuple[str, ...] = ()
    """NodeClaims without provider ID: Karpenter waits for them before it disrupts anything."""


class NextCommand(msgspec.Struct, frozen=True, gc=False):
    """A command that Karpenter would execute."""

    decision: str
    node_names: tuple[str, ...]
    replacements: tuple[Replacement, ...]
    savings_per_hour: float | None
    lost_pods: tuple[str, ...] = ()
    """``namespace/name`` of the evicted pods that nothing recreates."""

    @property
    def outcome(self) -> tuple[object, ...]:
        """What it has in common with commands that do the same to other nodes."""
        launched = tuple((node.pool_name, node.type_names) for node in self.replacements)
        return self.decision, launched, round(self.savings_per_hour or 0, 4)


class NextReport(msgspec.Struct, frozen=True, gc=False):
    """Karpenter's next commands."""

    method: str = ""
    """The method that acts; empty if none does."""
    reason: str = ""
    commands: tuple[NextCommand, ...] = ()
    asked: tuple[tuple[str, int], ...] = ()
    """The methods that ran, each with its number of candidates."""
    paused_by: tuple[str, ...] = ()
    """NodeClaims without provider ID: Karpenter waits for them before it disrupts anything."""
    unhealthy: tuple[str, ...] = ()
    """Nodes that the health controller deletes now, independently of the methods."""
    expiring: tuple[str, ...] = ()
    """Nodes that Karpenter deletes now because of expireAfter, independently of the methods."""
    error: str = ""
    """Karpenter's error that ended the pass early."""
    then: NextReport | None = None
    """What Karpenter would do once those NodeClaims have a provider ID; None if there are none."""
    lacks_pools: bool = False
    """Whether methods have candidates and remove none, because no NodePool accepts pods."""
    closed: int = 0
    """Number of candidates that disruption budgets close for every method that ran."""
    unknown: int = 0
    """Candidates whose result is unknown, because their provider's instance types are."""
    generation: int = 0
    as_likely: tuple[NextCommand, ...] = ()
    """What Karpenter may do instead: it takes NodePools and equal nodes in a random order."""

    def as_likely_by_outcome(self) -> tuple[tuple[NextCommand, ...], tuple[NextCommand, ...]]:
        """Return the commands that are as likely: those with the outcome of the first command, and the others."""
        first, *_ = self.commands
        # Of several empty nodes, budgets leave out only some of equal savings.
        alike = (
            self.as_likely if len(first.node_names) > 1 else [c for c in self.as_likely if c.outcome == first.outcome]
        )
        return tuple(alike), tuple(command for command in self.as_likely if command not in alike)

    @property
    def savings_per_hour(self) -> float | None:
        """Sum of the commands' known savings, in dollars; None if none is known."""
        savings = [command.savings_per_hour for command in self.commands if command.savings_per_hour is not None]
        return sum(savings) if savings or not self.commands else None

    @property
    def is_saving_whole(self) -> bool:
        """Whether the savings of all commands are known."""
        return all(command.savings_per_hour is not None for command in self.commands)


class Analysis(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """The analysis of a generation; simulated parts may be of an older one."""

    generation: int = 0
    now_ns: int = 0
    """The time it applies to, in nanoseconds since the epoch."""
    findings: Mapping[str, NodeFindings] = MappingProxyType({})
    """By node key."""
    cluster: tuple[Blocker, ...] = ()
    """Blockers of every node."""
    budgets: Mapping[str, PoolBudgets] = MappingProxyType({})
    """Budgets by name of the NodePools that this Karpenter manages."""
    simulated_in: Mapping[str, int] = MappingProxyType({})
    """The generation on which each node's removal was last simulated, by key."""
    simulated: int = 0
    """Managed nodes whose removal was simulated on this generation."""
    managed: int = 0
    is_confirmed: bool = False
    """Whether blocked nodes count: all have been simulated with the current prices."""
    confirmed_from: int = 0
    """The first generation with the current prices, offerings and settings."""
    detail: NodeDetail | None = None
    next: NextReport | None = None
    overlap: Overlap | None = None
    """Which NodePools can take which pods; None until requested."""
    joint: JointFigures | None = None
    """Joint removals of several nodes; None before any are known."""
    notes: tuple[str, ...] = ()
    memory: SurveyMemory | None = None
    """The inputs of the findings, for the next survey."""
    problem: str = ""
    """Why a newer generation could not be analysed; empty if it was."""

    @property
    def is_complete(self) -> bool:
        """Whether every managed node has been simulated."""
        return self.simulated >= self.managed

    @cached_property
    def blocker_count(self) -> int:
        """Blockers of the whole cluster, and of methods that want their node; unchanged nodes keep their count."""
        return len(self.cluster) + sum(finding.blocker_count for finding in self.findings.values())

    @cached_property
    def all_blocker_count(self) -> int:
        """Blockers, whether a method wants the node or not."""
        return len(self.cluster) + sum(len(finding.blockers) for finding in self.findings.values())


def billed_verdict(verdict: Verdict, settings: PriceSettings) -> Verdict:
    """Return a node's verdict in dollars paid."""
    if settings == LIST_PRICES or not verdict.goes:
        return verdict
    is_known = verdict.is_saving_known and not verdict.is_open
    saved = 0.0 if not is_known else settings.saved(verdict.savings_per_hour, 1 - len(verdict.replacements))
    return msgspec.structs.replace(
        verdict,
        savings_per_hour=saved,
        replacements=_billed(verdict.replacements, settings),
    )


def billed_command(command: NextCommand, settings: PriceSettings) -> NextCommand:
    """Return a command in dollars paid."""
    if settings == LIST_PRICES:
        return command
    fewer_nodes = len(command.node_names) - len(command.replacements)
    saved = command.savings_per_hour
    return msgspec.structs.replace(
        command,
        savings_per_hour=None if saved is None else settings.saved(saved, fewer_nodes),
        replacements=_billed(command.replacements, settings),
    )


def _billed(replacements: tuple[Replacement, ...], settings: PriceSettings) -> tuple[Replacement, ...]:
    return tuple(
        msgspec.structs.replace(node, price_per_hour=settings.paid(node.price_per_hour) or 0.0) for node in replacements
    )


SETTLES_NS: Final = 15 * NS_PER_SECOND
"""Time that a different result must persist before it counts."""


def carried_over(findings: NodeFindings, previous: NodeFindings | None) -> NodeFindings:
    """Return new findings that count by the previous ones until their node is simulated again.

    Args:
        previous: The previous findings; ignored if nothing blocked the node.
    """
    if previous is None or not (previous.is_held and findings.is_held):
        return findings
    if findings.outlook is not None and not previous.differs_since_ns and not previous.is_provisional:
        return findings
    return msgspec.structs.replace(
        findings,
        freed_before=previous.freed,
        differs_since_ns=previous.differs_since_ns,
        is_provisional=previous.is_provisional,
    )


def simulated(previous: NodeFindings, outlook: NodeOutlook, now_ns: int) -> NodeFindings:
    """Return findings with a simulation; a different result for a blocked node counts only after `SETTLES_NS`."""
    if previous.is_provisional:
        return msgspec.structs.replace(previous, outlook=outlook)
    settled = previous.freed
    is_alike = not previous.is_held or settled is None or settled == outlook.freed
    since_ns = 0 if is_alike else previous.differs_since_ns or now_ns
    if is_alike or now_ns - since_ns >= SETTLES_NS:
        return msgspec.structs.replace(previous, outlook=outlook, freed_before=None, differs_since_ns=0)
    if previous.outlook is not None:
        outlook = msgspec.structs.replace(previous.outlook, now=outlook.now)
    return msgspec.structs.replace(previous, outlook=outlook, freed_before=settled, differs_since_ns=since_ns)


def provisional(findings: NodeFindings) -> NodeFindings:
    """Return findings that count by the previous result until all blocked nodes have been simulated."""
    if findings.is_provisional and not findings.differs_since_ns:
        return findings
    return msgspec.structs.replace(findings, is_provisional=True, freed_before=findings.freed, differs_since_ns=0)


def confirmed(findings: NodeFindings) -> NodeFindings:
    """Return findings that count by their latest simulation."""
    return msgspec.structs.replace(findings, is_provisional=False, freed_before=None, differs_since_ns=0)


def is_due(findings: NodeFindings, now_ns: int) -> bool:
    """Return whether a different result, if it is still current, has persisted for `SETTLES_NS`."""
    return bool(findings.differs_since_ns) and now_ns - findings.differs_since_ns >= SETTLES_NS
