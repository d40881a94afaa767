"""Karpenter's controller settings that change decisions, by their own environment names.

Source: pkg/operator/options/options.go, and the AWS provider's pkg/operator/options/options.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.kube.durations import DurationError, parse_duration

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
GATE_DEFAULTS: Final[Mapping[str, bool]] = MappingProxyType(
    {
        "ReservedCapacity": True,
        "NodeOverlay": False,
        "StaticCapacity": False,
        "CapacityBuffer": False,
        "NodeRepair": False,
        "SpotToSpotConsolidation": False,
    }
)
"""Feature gates of v1.14.1 and what they are without being set."""


class SettingsError(ValueError):
    """A setting that Karpenter itself would refuse."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the controller was started with."""

    preference_policy: str = "Respect"
    """PREFERENCE_POLICY: ``Respect`` or ``Ignore``."""
    min_values_policy: str = "Strict"
    """MIN_VALUES_POLICY: ``Strict`` or ``BestEffort``."""
    ignore_dra_requests: bool = True
    batch_max_seconds: float = 10.0
    gates: Mapping[str, bool] = GATE_DEFAULTS
    vm_memory_overhead_percent: float = 0.075
    reserved_enis: int = 0
    cluster_name: str = ""
    isolated_vpc: bool = False
    environment: Mapping[str, str] = MappingProxyType({})
    """Everything as it was given, by name."""

    def gate(self, name: str) -> bool:
        """Whether a feature gate is on."""
        return self.gates.get(name, False)


def parse_settings(environment: Mapping[str, str]) -> Settings:
    """Read settings from Karpenter's environment names, values as strings; unknown names are kept and ignored.

    Raises:
        SettingsError: naming the setting and what is wrong with it.
    """
    return Settings(
        preference_policy=_choice(environment, "PREFERENCE_POLICY", ("Respect", "Ignore")),
        min_values_policy=_choice(environment, "MIN_VALUES_POLICY", ("Strict", "BestEffort")),
        ignore_dra_requests=_boolean("IGNORE_DRA_REQUESTS", environment.get("IGNORE_DRA_REQUESTS") or "true"),
        batch_max_seconds=_seconds("BATCH_MAX_DURATION", environment.get("BATCH_MAX_DURATION") or "10s"),
        gates=_gates(environment.get("FEATURE_GATES", "")),
        vm_memory_overhead_percent=_number(environment, "VM_MEMORY_OVERHEAD_PERCENT", 0.075),
        reserved_enis=int(_number(environment, "RESERVED_ENIS", 0)),
        cluster_name=environment.get("CLUSTER_NAME", ""),
        isolated_vpc=_boolean("ISOLATED_VPC", environment.get("ISOLATED_VPC") or "false"),
        environment=dict(environment),
    )


def _choice(environment: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    value = environment.get(name) or allowed[0]
    if value not in allowed:
        raise SettingsError(f"{name} is {value!r}, must be {' or '.join(allowed)}")
    return value


def _boolean(name: str, text: str) -> bool:
    if text not in _TRUE | _FALSE:
        raise SettingsError(f"{name} is {text!r}, must be true or false")
    return text in _TRUE


def _number(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        raise SettingsError(f"{name} is {text!r}, must be a number") from None
    if not 0 <= value < float("inf"):
        raise SettingsError(f"{name} is {text!r}, must not be negative")
    return value


def _seconds(name: str, text: str) -> float:

    try:
        return parse_duration(text) / 1e9
    except DurationError as error:
        raise SettingsError(f"{name} is {text!r}: {error}") from None


def _gates(text: str) -> dict[str, bool]:
    gates = dict(GATE_DEFAULTS)
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, separator, value = entry.partition("=")
        if not separator:
            raise SettingsError(f"FEATURE_GATES has {entry!r}, must be Name=true or Name=false")
        gates[name.strip()] = _boolean(f"FEATURE_GATES {name.strip()}", value.strip())
    return gates
