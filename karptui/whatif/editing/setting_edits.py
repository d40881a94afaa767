"""Karpenter's settings with other values."""

from __future__ import annotations

from typing import Final

from karptui.karpenter.settings import GATE_DEFAULTS, Settings, SettingsError, parse_settings
from karptui.whatif.editing.cluster_draft import ClusterDraft
from karptui.whatif.errors import EditError

GATE_PREFIX: Final = "FEATURE_GATES."
GATES: Final = "FEATURE_GATES"
MODELLED: Final = (
    "PREFERENCE_POLICY",
    "MIN_VALUES_POLICY",
    "IGNORE_DRA_REQUESTS",
    "BATCH_MAX_DURATION",
    "VM_MEMORY_OVERHEAD_PERCENT",
    "RESERVED_ENIS",
    "CLUSTER_NAME",
    "ISOLATED_VPC",
)
"""Settings that change a decision here."""


def set_setting(draft: ClusterDraft, name: str, value: str) -> None:
    """Give a setting, or a feature gate by ``FEATURE_GATES.<gate>``, another value.

    Raises:
        EditError: when Karpenter would not start with it, or would pass it over.
    """
    environment = environment_of(draft.settings)
    if name.startswith(GATE_PREFIX):
        gate = name.removeprefix(GATE_PREFIX)
        if gate not in draft.settings.gates:
            raise EditError(f"there is no feature gate {gate}; the gates are {', '.join(GATE_DEFAULTS)}")
        own = [f"{one}={str(is_on).lower()}" for one, is_on in draft.settings.gates.items() if one != gate]
        environment[GATES] = ",".join((*own, f"{gate}={value}"))
    else:
        if name not in MODELLED and name != GATES:
            draft.note(f"{name} does not change anything that is modelled")
        environment[name] = value
    try:
        settings = parse_settings(environment)
    except SettingsError as error:
        raise EditError(str(error)) from None
    if name in settings.unread:
        raise EditError(f"{name} is {value!r}, which Karpenter cannot read: it would take its default")
    draft.settings = settings


def changes_types(before: Settings, after: Settings) -> bool:
    """Whether settings differ in what instance types are worked out from."""
    return _of_types(before) != _of_types(after)


def _of_types(settings: Settings) -> tuple[object, ...]:
    return settings.vm_memory_overhead_percent, settings.reserved_enis, settings.gate("ReservedCapacity")


def environment_of(settings: Settings) -> dict[str, str]:
    """Return settings by their environment names, also those that were not given that way."""
    gates = ",".join(f"{name}={str(is_on).lower()}" for name, is_on in settings.gates.items())
    return {
        "PREFERENCE_POLICY": settings.preference_policy,
        "MIN_VALUES_POLICY": settings.min_values_policy,
        "IGNORE_DRA_REQUESTS": str(settings.ignore_dra_requests).lower(),
        "BATCH_MAX_DURATION": f"{settings.batch_max_seconds}s",
        "VM_MEMORY_OVERHEAD_PERCENT": str(settings.vm_memory_overhead_percent),
        "RESERVED_ENIS": str(settings.reserved_enis),
        "CLUSTER_NAME": settings.cluster_name,
        "ISOLATED_VPC": str(settings.isolated_vpc).lower(),
        **({GATES: gates} if gates else {}),
        **settings.environment,
    }
