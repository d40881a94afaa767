"""Settings of Karpenter's controller: flags, environment variables and feature gates.

Source: pkg/operator/options/options.go, and the AWS provider's pkg/operator/options/options.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from types import MappingProxyType
from typing import Final, TypeVar

import msgspec

from karptui.karpenter.repair_policies import RepairPolicy
from karptui.karpenter.requirements import parse_integer
from karptui.karpenter.rules import NEWEST, Rules, rules_for
from karptui.karpenter.scheduler_config import SpreadError, parse_scheduler_config
from karptui.kube.durations import parse_duration
from karptui.kube.pod import TopologySpreadConstraint
from karptui.kube.quantity import parse_float

_T = TypeVar("_T")
_N = TypeVar("_N", int, float)
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
PREFERENCE_POLICIES: Final = ("Respect", "Ignore")
MIN_VALUES_POLICIES: Final = ("Strict", "BestEffort")
"""The first value of each is the default."""
GATE_DEFAULTS: Final[Mapping[str, bool]] = MappingProxyType(
    {
        "ReservedCapacity": True,
        "NodeOverlay": False,
        "StaticCapacity": False,
        "CapacityBuffer": False,
        "NodeRepair": False,
        "SpotToSpotConsolidation": False,
        "TerminateFirstDrift": False,
        "TerminateFirstRepair": False,
        "PodDeletionCostManagement": False,
    }
)
"""Feature gates of v1.15.0 with their defaults; v1.14 has the first six."""


GATE_PREFIX: Final = "FEATURE_GATES."
"""Prefix of the setting name of a single feature gate."""


class SettingsError(ValueError):
    """Karpenter would reject this setting."""


MAX_OVERHEAD: Final = 1000
"""Maximum VM_MEMORY_OVERHEAD_PERCENT; at 1, no memory is left."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings the controller was started with."""

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
    """All settings as given, by environment name."""
    rules: Rules = NEWEST
    """Rules of the running version."""
    default_spread: tuple[TopologySpreadConstraint, ...] = ()
    """SCHEDULER_CONFIG: constraints for pods without any."""
    legacy_node_repair: bool = False
    aws_gates: Mapping[str, bool] = MappingProxyType({})
    """AWS_FEATURE_GATES that are set."""
    repair_policies: tuple[RepairPolicy, ...] | None = None
    """The provider's policies if given; None for the AWS provider's."""
    reboot_history: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    """Reboot times by NodeClaim name since the controller started, in nanoseconds since the epoch, as far as known."""
    are_gates_assumed: bool = False
    """Whether the feature gates were not read, so that Karpenter's defaults are assumed."""
    unread: tuple[str, ...] = ()
    """Names whose values Karpenter cannot parse and silently ignores; their defaults apply."""

    def gate(self, name: str) -> bool:
        """Return whether a feature gate is enabled."""
        return self.gates.get(name, False)

    def texts(self) -> dict[str, str]:
        """Return the effective settings by environment name; a feature gate is ``FEATURE_GATES.<gate>``."""
        return {
            "PREFERENCE_POLICY": self.preference_policy,
            "MIN_VALUES_POLICY": self.min_values_policy,
            "IGNORE_DRA_REQUESTS": str(self.ignore_dra_requests).lower(),
            "BATCH_MAX_DURATION": f"{self.batch_max_seconds:.10g}s",
            "VM_MEMORY_OVERHEAD_PERCENT": f"{self.vm_memory_overhead_percent:.10g}",
            "RESERVED_ENIS": str(self.reserved_enis),
            "CLUSTER_NAME": self.cluster_name,
            "ISOLATED_VPC": str(self.isolated_vpc).lower(),
            **{f"{GATE_PREFIX}{name}": str(is_on).lower() for name, is_on in self.gates.items()},
        }


def parse_settings(environment: Mapping[str, str], version: str = "") -> Settings:
    """Parse settings by environment name; unknown names are stored and ignored.

    A value that is not a number, boolean or duration leaves the default in effect, as in Karpenter's
    pkg/utils/env/env.go; ``Settings.unread`` lists these.

    Args:
        version: Running version, whose rules apply; empty for the newest modelled one.

    Raises:
        SettingsError: If Karpenter would not start with a setting, with its name and the reason.
    """
    reader = _SettingsReader(environment)
    rules = rules_for(version)
    return Settings(
        preference_policy=_choice(environment, "PREFERENCE_POLICY", PREFERENCE_POLICIES),
        min_values_policy=_choice(environment, "MIN_VALUES_POLICY", MIN_VALUES_POLICIES),
        ignore_dra_requests=reader.read("IGNORE_DRA_REQUESTS", _boolean, default=True),
        batch_max_seconds=reader.read("BATCH_MAX_DURATION", _seconds, default=10.0),
        gates=_gates(environment.get("FEATURE_GATES", ""), GATE_DEFAULTS, "FEATURE_GATES"),
        vm_memory_overhead_percent=_overhead(reader),
        reserved_enis=reader.amount("RESERVED_ENIS", _integer, default=0),
        cluster_name=environment.get("CLUSTER_NAME", ""),
        isolated_vpc=reader.read("ISOLATED_VPC", _boolean, default=False),
        rules=rules,
        default_spread=_default_spread(environment.get("SCHEDULER_CONFIG", ""), rules),
        legacy_node_repair=reader.read("LEGACY_NODE_REPAIR", _boolean, default=False),
        aws_gates=_gates(environment.get("AWS_FEATURE_GATES", ""), {}, "AWS_FEATURE_GATES"),
        environment=dict(environment),
        unread=tuple(reader.unread),
    )


DEFAULTS: Final = Settings()
"""Karpenter's default settings."""


class _SettingsReader:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.unread: list[str] = []

    def read(self, name: str, parse: Callable[[str], _T], *, default: _T) -> _T:
        text = self._environment.get(name)
        if text is None:
            return default
        try:
            return parse(text)
        except ValueError:
            self.unread.append(name)
            return default

    def amount(self, name: str, parse: Callable[[str], _N], *, default: _N) -> _N:
        value = self.read(name, parse, default=default)
        if value < 0:
            raise SettingsError(f"{name} is {self._environment[name]!r}, must not be negative")
        return value


def _overhead(reader: _SettingsReader) -> float:
    """Return VM_MEMORY_OVERHEAD_PERCENT. Karpenter sets no maximum, but overflows beyond MAX_OVERHEAD."""
    percent = reader.amount("VM_MEMORY_OVERHEAD_PERCENT", _decimal, default=0.075)
    if percent > MAX_OVERHEAD:
        raise SettingsError(
            f"VM_MEMORY_OVERHEAD_PERCENT is {percent:g}, must be a fraction of memory (0.075), at most {MAX_OVERHEAD}"
        )
    return percent


def _choice(environment: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    value = environment.get(name, allowed[0])
    if value not in allowed:
        raise SettingsError(f"{name} is {value!r}, must be {' or '.join(allowed)}")
    return value


def _boolean(text: str) -> bool:
    if text not in _TRUE | _FALSE:
        raise ValueError(text)
    return text in _TRUE


def _integer(text: str) -> int:
    value = parse_integer(text)
    if value is None:
        raise ValueError(text)
    return value


def _decimal(text: str) -> float:
    value = parse_float(text)
    # No share of memory is infinite.
    if value is None or not isfinite(value):
        raise ValueError(text)
    return value


def _seconds(text: str) -> float:
    return parse_duration(text) / 1e9


def _default_spread(text: str, rules: Rules) -> tuple[TopologySpreadConstraint, ...]:
    try:
        return parse_scheduler_config(text)
    except SpreadError as error:
        if not rules.has_default_spread:
            return ()
        raise SettingsError(f"SCHEDULER_CONFIG {error}") from None


def _gates(text: str, defaults: Mapping[str, bool], setting: str) -> dict[str, bool]:
    gates = dict(defaults)
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, separator, value = entry.partition("=")
        if not separator:
            raise SettingsError(f"{setting} has {entry!r}, must be Name=true or Name=false")
        if value.strip() not in _TRUE | _FALSE:
            raise SettingsError(f"{setting} {name.strip()} is {value.strip()!r}, must be true or false")
        gates[name.strip()] = value.strip() in _TRUE
    return gates
