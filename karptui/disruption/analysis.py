"""What is known about the disruption of every node of one generation of a cluster: values, never changed.

Karpenter decides by prices as they are listed; dollars that are shown of its decisions may be changed to what the user
pays, with the multiplier and the surcharge of the price settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.aws.prices import LIST_PRICES, PriceSettings
from karptui.disruption.blocker import Blocker
from karptui.disruption.budget_calendar import PoolBudgets
from karptui.disruption.budgets import BudgetState
from karptui.disruption.codes import Code
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
    """What simulated removals of one node came to."""

    now: Verdict
    """As things are."""
    lifted: Verdict
    """Without anything in its way; the same as ``now`` where nothing is, or it goes all the same."""
    freed: Verdict
    """Without what holds a method that wants it; the same as ``now`` where nothing does."""
    without: tuple[Outcome, ...] = ()
    """Without one blocker, for each blocker of the node."""
    without_code: Mapping[Code, Outcome] = MappingProxyType({})
    """Without all blockers of one kind."""


class NodeFindings(msgspec.Struct, frozen=True, eq=False):
    """Everything about one node."""

    key: str
    """``claim/NAME`` of its NodeClaim, ``node/NAME`` without one."""
    node_name: str
    """The Node's name, the NodeClaim's while there is no Node."""
    pool_name: str
    why: Why
    blockers: tuple[Blocker, ...] = ()
    drain: DrainState | None = None
    """How far its end has come; None where nothing wants it."""
    recent_pods: int = 0
    """Pods that came to it in the last hour, those of DaemonSets left out."""
    moving_pods: int = 0
    """Pods that would have to move for it to be empty; those of DaemonSets and those that cost nothing do not count."""
    lost_pods: tuple[str, ...] = ()
    """``namespace/name`` of the pods on it that nothing recreates if they are evicted."""
    grace_ns: int | None = None
    """terminationGracePeriod of its NodeClaim, None without one."""
    price_per_hour: float | None = None
    """Dollars that it costs by its NodePool's instance types; None where that is not known."""
    outlook: NodeOutlook | None = None
    """None until its removal has been simulated."""
    freed_before: Verdict | None = None
    """What ``freed`` was last, until it is simulated again and another answer has stood for a while."""
    otherwise_ns: int = 0
    """Since when its simulation says otherwise than ``freed_before``; 0 where it does not."""
    is_early: bool = False
    """Whether held nodes are still to be simulated, for the first time or with other prices: all count at once."""
    lanes: tuple[Lane, ...] = ()
    """What each method makes of it, in Karpenter's order; nothing for nodes that it did not make."""
    warning: InstanceWarning | None = None
    """What the cloud last said of its instance that goes; None where nothing is known."""
    unhealthy: HealthDeletion | None = None
    """When a controller beside the methods deletes it as unhealthy; None where it does not."""
    is_static: bool = False
    """Whether its NodePool is static: only drift and repair take its nodes."""

    @property
    def freed(self) -> Verdict | None:
        """What becomes of it without what holds a method that wants it, as it stands; None where it is not known."""
        if self.freed_before is not None or self.is_early or self.outlook is None:
            return self.freed_before
        return self.outlook.freed

    @property
    def is_held(self) -> bool:
        """Whether something is in the way of a method that wants it, or of its drain."""
        return any(one.is_wanted for one in self.blockers)


class NodeDetail(msgspec.Struct, frozen=True, eq=False):
    """What is worked out only for the node that somebody looks at."""

    key: str
    gates: tuple[GateCheck, ...]
    """Every gate in Karpenter's order."""
    landings: Mapping[str, Landing] = MappingProxyType({})
    """Where each of its pods would land, by ``namespace/name``."""
    problem: str = ""
    """Why no removal could be simulated."""
    budgets: tuple[BudgetState, ...] = ()
    """What its NodePool's budgets leave for each reason; nothing where the NodePool is not known."""
    consolidation_policy: str = ""
    """Of its NodePool."""


class NextCommand(msgspec.Struct, frozen=True, gc=False):
    """A command that Karpenter would carry out."""

    decision: str
    node_names: tuple[str, ...]
    replacements: tuple[Replacement, ...]
    savings_per_hour: float | None
    """None where nobody can say: `Command.known_savings`."""
    lost_pods: tuple[str, ...] = ()
    """``namespace/name`` of the pods on its nodes that are evicted and that nothing recreates."""


class NextReport(msgspec.Struct, frozen=True, gc=False):
    """What Karpenter would do next."""

    method: str = ""
    """The method that acts, empty where none does."""
    reason: str = ""
    commands: tuple[NextCommand, ...] = ()
    asked: tuple[tuple[str, int], ...] = ()
    """The methods that were asked, each with how many candidates it had."""
    paused_by: tuple[str, ...] = ()
    """NodeClaims without provider ID: while there are any, Karpenter does not begin."""
    unhealthy: tuple[str, ...] = ()
    """Nodes that the controller of node repair deletes now, beside all methods."""
    error: str = ""
    """Why the pass ended early, in Karpenter's words."""
    then: NextReport | None = None
    """What Karpenter would do as soon as those NodeClaims have a provider ID; None if there are none."""
    unknown: int = 0
    """Candidates about which nothing is sure: their provider's instance types are not known."""
    generation: int = 0

    @property
    def savings_per_hour(self) -> float | None:
        """What those of its commands save of which that is known; None where it is of none."""
        known = [one.savings_per_hour for one in self.commands if one.savings_per_hour is not None]
        return sum(known) if known or not self.commands else None

    @property
    def is_saving_whole(self) -> bool:
        """Whether it is known of all of them."""
        return all(one.savings_per_hour is not None for one in self.commands)


class Analysis(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One generation; the simulated parts may be of an older one."""

    generation: int = 0
    now_ns: int = 0
    """The instant that it holds for: nanoseconds since the epoch."""
    findings: Mapping[str, NodeFindings] = MappingProxyType({})
    """By key."""
    cluster: tuple[Blocker, ...] = ()
    """What holds every node."""
    budgets: Mapping[str, PoolBudgets] = MappingProxyType({})
    """By name, the budgets of the NodePools that this Karpenter manages."""
    simulated_in: Mapping[str, int] = MappingProxyType({})
    """By key, the generation on which the removal of a node was last simulated."""
    simulated: int = 0
    """Managed nodes whose removal was simulated on this very generation."""
    managed: int = 0
    """Nodes that Karpenter manages."""
    is_counted: bool = False
    """Whether held nodes count: all of them have been simulated once, with the prices of now."""
    counted_from: int = 0
    """The generation from which simulations are of the prices, offerings and settings of now."""
    detail: NodeDetail | None = None
    next: NextReport | None = None
    overlap: Overlap | None = None
    """Which NodePools could take which pods; None until it is asked for."""
    joint: JointFigures | None = None
    """Joint removals of several nodes; None before anything is known."""
    notes: tuple[str, ...] = ()
    """What was assumed about instance types, in sentences."""
    memory: SurveyMemory | None = None
    """What the findings rest on, for the next survey."""
    problem: str = ""
    """Why a newer generation could not be analysed, empty where it could."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to simulate."""
        return self.simulated >= self.managed


def billed_verdict(verdict: Verdict, settings: PriceSettings) -> Verdict:
    """Return what becomes of one node, in dollars that are paid."""
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
    """Return a command in dollars that are paid."""
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
        msgspec.structs.replace(one, price_per_hour=settings.paid(one.price_per_hour) or 0.0) for one in replacements
    )


SETTLES_NS: Final = 15 * NS_PER_SECOND
"""For so long another answer has to stand before it counts."""


def taken_over(found: NodeFindings, known: NodeFindings | None) -> NodeFindings:
    """Return findings that count by what was known before, until their node is simulated again.

    Args:
        found: What is known now.
        known: What was known before; of a node that nothing held it tells nothing.
    """
    if known is None or not (known.is_held and found.is_held):
        return found
    if found.outlook is not None and not known.otherwise_ns and not known.is_early:
        return found
    return msgspec.structs.replace(
        found, freed_before=known.freed, otherwise_ns=known.otherwise_ns, is_early=known.is_early
    )


def simulated(known: NodeFindings, outlook: NodeOutlook, now_ns: int) -> NodeFindings:
    """Return findings with a simulation, whose answer for a held node counts once it has stood for a while.

    Args:
        known: What was known before.
        outlook: What the simulation came to.
        now_ns: The instant.
    """
    if known.is_early:
        return msgspec.structs.replace(known, outlook=outlook)
    stood = known.freed
    is_alike = not known.is_held or stood is None or stood == outlook.freed
    since_ns = 0 if is_alike else known.otherwise_ns or now_ns
    if is_alike or now_ns - since_ns >= SETTLES_NS:
        return msgspec.structs.replace(known, outlook=outlook, freed_before=None, otherwise_ns=0)
    if known.outlook is not None:
        outlook = msgspec.structs.replace(known.outlook, now=outlook.now)
    return msgspec.structs.replace(known, outlook=outlook, freed_before=stood, otherwise_ns=since_ns)


def early(found: NodeFindings) -> NodeFindings:
    """Return findings that count by what was known before until all held nodes have been simulated."""
    if found.is_early and not found.otherwise_ns:
        return found
    return msgspec.structs.replace(found, is_early=True, freed_before=found.freed, otherwise_ns=0)


def counted(found: NodeFindings) -> NodeFindings:
    """Return findings that count by their simulation from now on."""
    return msgspec.structs.replace(found, is_early=False, freed_before=None, otherwise_ns=0)


def is_due(found: NodeFindings, now_ns: int) -> bool:
    """Return whether another answer has stood for long enough to count, should it be that of now."""
    return bool(found.otherwise_ns) and now_ns - found.otherwise_ns >= SETTLES_NS
