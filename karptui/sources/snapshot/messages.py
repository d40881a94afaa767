"""Fragments of messages that a redacted recording keeps, because decisions and findings read them.

The rest becomes one pseudonym, so that equal messages stay equal and different ones different.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from karptui.sources.snapshot import public

_PHRASES: Final = (
    # Launches and capacity, by Karpenter and EC2.
    "NodeClaim ",
    " event: ",
    " nominated for this pod failed to launch: ",
    "creating instance, ",
    "insufficient capacity, ",
    "with fleet error(s), ",
    "You can currently get",
    "Please retry",
    "or choosing",
    "spot",
    "Spot",
    # Disruption and pods, by Karpenter.
    "Pod should schedule on: ",
    "nodeclaim/",
    "node/",
    "Disrupting NodeClaim: ",
    "Disrupting Node: ",
    "Launching NodeClaim: ",
    "Evicted pod: ",
    "Forceful Termination",
    "Underutilized",
    "Drifted",
    "Empty",
    "Expired",
    "Unhealthy",
    "Draining",
    "Disruption is blocked through the ",
    '"karpenter.sh/do-not-disrupt" annotation',
    "Node isn't initialized",
    "Node is deleting or marked for deletion",
    "Node is nominated for a pending pod",
    "Nodeclaim does not have an associated node",
    "No allowed disruptions for disruption reason ",
    " due to blocking budget",
    "Eviction does not support multiple PDBs",
    "Pdb prevents pod evictions",
    "Pod has ",
    "(PodDisruptionBudget(s)=[",
    "(PodDisruptionBudget=[",
    "(Pod=",
    "(NodePool=",
    "(NodeClaim=",
    "(Node=",
    "Can't remove without creating ",
    " candidates",
    "Can't replace with a cheaper node",
    "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node",
    "SpotToSpotConsolidation requires ",
    "NodePool not found",
    "consolidation disabled",
    "NodePool requirements filtered out all compatible available instance types",
    # EC2NodeClass and its neighbours
    "AMISelector did not match any AMIs",
    "SubnetSelector did not match any Subnets",
    "SecurityGroupSelector did not match any SecurityGroups",
    "Awaiting AMI, Instance Profile, Security Group, and Subnet resolution",
    "Request limit exceeded",
    "Node not registered with cluster",
    'Resource "',
    '" was requested but not registered',
    "Node status is NotReady",
    "Kubelet stopped posting node status",
    "kubelet is posting ready status",
    "container runtime network not ready",
    # Pods that cannot be created
    "Error creating: ",
    "Internal error occurred: ",
    "failed calling webhook ",
    "failed to call webhook: ",
    "admission webhook ",
    " denied the request: ",
    "no endpoints available for service ",
    "exceeded quota: ",
    "forbidden: ",
    "context deadline exceeded",
    "Back-off restarting failed container",
    # kube-scheduler and Karpenter's scheduling
    " nodes are available: ",
    "Insufficient cpu",
    "Insufficient memory",
    "Insufficient ephemeral-storage",
    "Too many pods",
    "node(s) had untolerated taint",
    "node(s) had volume node affinity conflict",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) didn't match pod anti-affinity rules",
    "node(s) didn't match pod topology spread constraints",
    "node(s) exceed max volume count",
    "node(s) were unschedulable",
    "no instance type has enough resources",
    "did not tolerate taint",
    "incompatible requirements",
    "incompatible volume requirements",
    "all available instance types exceed limits for nodepool",
    "Failed to schedule pod, ",
)
"""Texts that decisions and findings search for, and the most informative short texts."""
EC2_CODES: Final = frozenset(
    {"InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientReservedInstanceCapacity"}
    | {"InsufficientCapacity", "InsufficientFreeAddressesInSubnet", "InsufficientCapacityOnOutpost"}
    | {"MaxSpotInstanceCountExceeded", "VcpuLimitExceeded", "VCPULimitExceeded", "MaxFleetCountExceeded"}
    | {"UnfulfillableCapacity", "Unsupported", "ReservationCapacityExceeded", "SpotMaxPriceTooLow"}
    | {"AuthFailure.ServiceLinkedRoleCreationNotPermitted", "UnauthorizedOperation", "RequestLimitExceeded"}
    | {"InstanceLimitExceeded", "InvalidFleetConfiguration", "InvalidParameterValue", "InternalError"}
    | {"AccessDenied", "Throttling", "RequestCanceled", "InvalidLaunchTemplateId.NotFound", "InvalidAMIID.NotFound"}
    | {"InvalidSubnetID.NotFound", "ServiceUnavailable", "Client.InternalError", "MissingParameter"}
)
"""Error codes of EC2."""
_CODE: Final = r"(?:(?<=fleet error\(s\), )|; )(?P<code>[A-Z][A-Za-z.]+): "
_NAMED: Final = (
    r'(?P<lead>(?:failed calling webhook|admission webhook|no endpoints available for service) )"(?P<quoted>[^"]+)"'
)
_QUOTA: Final = r"exceeded quota: (?P<quota>[^,]+), "
_WORD: Final = r"(?<![\w.-])(?P<word>[A-Za-z0-9](?:[\w./-]*[A-Za-z0-9])?)"


def _whole_word(phrase: str) -> str:
    """Return the pattern of a phrase that is no part of a longer word."""
    before, after = r"(?<![\w.-])" if phrase[0].isalnum() else "", r"(?![\w-])" if phrase[-1].isalnum() else ""
    return f"{before}{re.escape(phrase)}{after}"


_FRAGMENT: Final = re.compile(
    "|".join((_CODE, _NAMED, _QUOTA, *map(_whole_word, sorted(_PHRASES, key=len, reverse=True)), _WORD))
)
_TRACE: Final = re.compile(r" \(aws-[a-z-]+=.*$", re.DOTALL)
"""The request that EC2 refused."""
_CUT: Final = "..."
_PUNCTUATION: Final = re.compile(r"[\s,;:.()\[\]'\"=]*")


class Fragments:
    """Takes messages apart."""

    def __init__(self, named: Callable[[str], str | None], opaque: Callable[[str], str]) -> None:
        """Set up.

        Args:
            named: The pseudonym of a name in the recording, or of an ID; None for any other word.
            opaque: The pseudonym of any text.
        """
        self._named = named
        self._opaque = opaque

    def of(self, message: str) -> str:
        """Return the kept fragments of a message."""
        text = _TRACE.sub("", message)
        parts: list[str] = []
        end, is_whole = 0, text == message
        for match in _FRAGMENT.finditer(text):
            fragment = self._fragment(match)
            if fragment is None:
                continue
            between = text[end : match.start()]
            if _PUNCTUATION.fullmatch(between):
                parts.append(between)
            else:
                is_whole = False
                parts.append(" " if parts and not parts[-1].endswith(" ") else "")
            parts.append(fragment)
            end = match.end()
        rest = text[end:]
        if is_whole and _PUNCTUATION.fullmatch(rest):
            return f"{''.join(parts)}{rest}"
        last = ""
        if rest == _CUT:
            # Karpenter truncates messages: the text before the dots may be half a name.
            last = f" {parts.pop()}{_CUT}"
        elif message.endswith(_CUT):
            last = _CUT
        kept = "".join(parts).rstrip()
        return f"{kept}{' ' if kept else ''}{self._opaque(message)}{last}"

    def _fragment(self, match: re.Match[str]) -> str | None:
        text = match[0]
        if code := match["code"]:
            return text if code in EC2_CODES else text.replace(code, f"X{self._opaque(code).replace('-', '')}")
        if quoted := match["quoted"]:
            return f'{match["lead"]}"{self._opaque(quoted)}"'
        if quota := match["quota"]:
            return f"exceeded quota: {self._opaque(quota)}, "
        if word := match["word"]:
            is_public = public.is_instance_type(word) or public.is_zone(word) or word in public.vocabulary()
            return word if is_public or re.fullmatch(r"\d{1,6}(/\d{1,6})?", word) else self._named(word)
        return text
