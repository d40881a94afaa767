"""Version and settings of the installed Karpenter controller.

Names: pkg/operator/options/options.go of Karpenter and of its AWS provider. A flag overrides the environment variable
of the same name (``--feature-gates`` and ``FEATURE_GATES``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.karpenter.rules import NEWEST, is_modelled, version_note
from karptui.karpenter.settings import Settings, parse_settings

NAME_LABEL: Final = "app.kubernetes.io/name"
NAME: Final = "karpenter"
"""Value of the label on the objects of Karpenter's chart."""
LEADER_LEASE: Final = "karpenter-leader-election"
"""Name of the Lease that elects the leader among Karpenter's replicas: pkg/operator/operator.go."""
MODELLED_VERSION: Final = NEWEST.version
"""Newest Karpenter version that the engine is tested against."""
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")


def parse_version(text: str) -> str:
    """Return a semantic version without its ``v``; empty for other text, such as ``latest`` or a commit."""
    match = _VERSION.fullmatch(text.strip())
    return match[0].removeprefix("v") if match is not None else ""


def image_version(image: str) -> str:
    """Return the version in a container image's tag, empty if there is none (only a digest, ``latest``)."""
    name, _, _ = image.partition("@")
    _, colon, tag = name.rpartition("/")[2].rpartition(":")
    return parse_version(tag) if colon else ""


def chart_version(label: str) -> str:
    """Return the version in a ``helm.sh/chart`` label (``karpenter-1.14.1``), empty if there is none."""
    return parse_version(label.replace("_", "+").rpartition("karpenter-")[2])


def is_other_minor(version: str) -> bool:
    """Return whether a version is known and belongs to a minor version that is not modelled."""
    return _VERSION.fullmatch(version) is not None and not is_modelled(version)


DEFAULTS: Final = "Karpenter's defaults"
"""Source of a setting that the user has not set."""
SETTING_NAMES: Final = (
    "PREFERENCE_POLICY",
    "MIN_VALUES_POLICY",
    "IGNORE_DRA_REQUESTS",
    "BATCH_MAX_DURATION",
    "BATCH_IDLE_DURATION",
    "FEATURE_GATES",
    "VM_MEMORY_OVERHEAD_PERCENT",
    "RESERVED_ENIS",
    "ISOLATED_VPC",
    "CLUSTER_NAME",
    "SCHEDULER_CONFIG",
    "LEGACY_NODE_REPAIR",
    "AWS_FEATURE_GATES",
)
"""Settings that affect decisions. Nothing else of the controller's environment is stored or recorded."""
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class ControllerInfo(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Version and settings of the controller as its Deployment or a pod shows them."""

    title: str
    """Source, for display: ``Deployment kube-system/karpenter``."""
    namespace: str = ""
    """Namespace of the Deployment or pod; empty if unknown."""
    version: str = ""
    """Without a leading ``v``; empty if neither image nor labels contain it."""
    settings: Mapping[str, str] = _NOTHING
    """Values by environment name; only ``SETTING_NAMES``."""
    unknown: Mapping[str, str] = _NOTHING
    """Settings whose values are not read, with their source: ``ConfigMap karpenter``."""
    from_elsewhere: tuple[str, ...] = ()
    """ConfigMaps and Secrets used with ``envFrom``; they may contain further settings."""
    others: tuple[str, ...] = ()
    """Other objects labelled as Karpenter, which are ignored: ``Deployment shop/web``."""
    doubt: str = ""
    """Why this may not be Karpenter; empty if it is verified."""
    replicas: int | None = None
    """Replicas that the Deployment asks for; None if unknown."""

    @property
    def version_sentence(self) -> str:
        """Note on a version that is not modelled; empty if it is modelled or unknown."""
        return version_note(self.version) if self.version else ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Settings that are not known, and doubts that this is Karpenter."""
        sentences = [self.doubt] if self.doubt else []
        sentences += [f"{name} comes from {where}, which is not read" for name, where in self.unknown.items()]
        if self.from_elsewhere:
            sentences.append(f"{', '.join(self.from_elsewhere)} may hold further settings, which are not read")
        return tuple(sentences)


class Layer(msgspec.Struct, frozen=True):
    """Settings from a single source."""

    origin: str
    """For display: ``the configuration``."""
    values: Mapping[str, str]


class LayeredSettings(msgspec.Struct, frozen=True):
    """Merged settings and the source of each."""

    settings: Settings
    origins: Mapping[str, str]
    """Source by environment name; a missing name has its default."""


def layered(layers: Iterable[Layer], version: str = "") -> LayeredSettings:
    """Merge settings from several sources; the first source that sets a name wins.

    Args:
        layers: Sources in order of precedence.
        version: Running version, whose rules apply; empty if unknown.

    Raises:
        SettingsError: If Karpenter would not start with the merged settings.
    """
    values: dict[str, str] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        for name, value in layer.values.items():
            if name not in values:
                values[name], origins[name] = value, layer.origin
    return LayeredSettings(parse_settings(values, version), origins)
