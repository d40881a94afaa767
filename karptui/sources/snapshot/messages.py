"""Messages in a redacted recording: words of Kubernetes, Karpenter and the clouds stay, others become pseudonyms.

Equal messages stay equal, and different ones different.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from karptui.sources.snapshot import public

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
_CODE: Final = r"(?:(?<=fleet error\(s\), )|(?<=; ))(?P<code>[A-Z][A-Za-z.]+)(?=: )"
_NAMED: Final = (
    r'(?P<lead>(?:failed calling webhook|admission webhook|no endpoints available for service) )"(?P<quoted>[^"]+)"'
)
_QUOTA: Final = r"exceeded quota: (?P<quota>[^,]+)(?=, )"
_WORD: Final = r"(?P<word>\w(?:[\w./-]*\w)?)"
_PART: Final = re.compile(f"{_CODE}|{_NAMED}|{_QUOTA}|{_WORD}")
_TRACE: Final = re.compile(r" \(aws-[a-z-]+=.*$", re.DOTALL)
"""The request that EC2 refused."""
_SYMBOLS: Final = re.compile(r"[^\s!-/:-@\[-`{-~…]+")
"""Anything between words but blanks and ASCII's punctuation."""
_NUMBER: Final = re.compile(r"\d{1,6}(\.\d{1,3})?([numkKMGTPE]i?B?|%)?|\d{1,6}/\d{1,6}|v1\.\d{1,3}(\.\d{1,3})?")
"""An amount, a share of a number or a version of Kubernetes; longer numbers may be accounts."""
_BEFORE_NAMES: Final = ("'", '"', "=", "/")


class Fragments:
    """Takes messages apart."""

    def __init__(self, named: Callable[[str], str | None], opaque: Callable[[str], str]) -> None:
        """Set up.

        Args:
            named: The pseudonym of a name in the recording, an ID or an address; None for any other word.
            opaque: The pseudonym of any text.
        """
        self._named = named
        self._opaque = opaque

    def of(self, message: str) -> str:
        """Return a message with pseudonyms for all words that are not public."""
        text, parts, end = _TRACE.sub("", message), list[str](), 0
        for match in _PART.finditer(text):
            parts += self._between(text[end : match.start()]), self._part(match)
            end = match.end()
        return "".join((*parts, self._between(text[end:])))

    def _between(self, text: str) -> str:
        return _SYMBOLS.sub(lambda symbols: self._opaque(symbols[0]), text)

    def _part(self, match: re.Match[str]) -> str:
        if code := match["code"]:
            return code if code in EC2_CODES else f"X{self._opaque(code).replace('-', '')}"
        if quoted := match["quoted"]:
            return f'{match["lead"]}"{self._opaque(quoted)}"'
        if quota := match["quota"]:
            return f"exceeded quota: {self._opaque(quota)}"
        return self._word(match["word"], is_name=match.string[match.start() - 1 : match.start()] in _BEFORE_NAMES)

    def _word(self, word: str, *, is_name: bool) -> str:
        """Return a word or its pseudonym.

        Args:
            is_name: Whether it is probably a name, even if it is also a public word, such as a NodePool called gpu.
        """
        is_public = _is_public(word)
        if (is_name or not is_public) and (named := self._named(word)) is not None:
            return named
        if is_public:
            return word
        first, *rest = word.split("/")
        if not rest:
            return self._opaque(word)
        return "/".join((self._word(first, is_name=is_name), *(self._word(part, is_name=True) for part in rest)))


def _is_public(word: str) -> bool:
    is_known = word in public.vocabulary() or public.is_instance_type(word) or public.is_zone(word)
    return is_known or _NUMBER.fullmatch(word) is not None or public.DURATION.fullmatch(word) is not None
