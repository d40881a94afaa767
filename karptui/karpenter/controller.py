"""Karpenter's controller as it is installed: its version, and the settings that it was started with.

Names: pkg/operator/options/options.go of Karpenter and of its AWS provider. A flag outweighs the environment variable
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

LEADER_LEASE: Final = "karpenter-leader-election"
"""Name of the lease by which Karpenter's replicas agree on a leader: pkg/operator/operator.go."""
MODELLED_VERSION: Final = NEWEST.version
"""The newest version of Karpenter that the engine is compared with."""
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")


class KarpenterVersion(msgspec.Struct, frozen=True):
    """A version of Karpenter and how it is known."""

    version: str
    """Without a leading ``v``: ``1.14.1``."""
    source: str
    """In words: ``image of pod karpenter/karpenter-6f9-abcde``."""


def parse_version(text: str) -> str:
    """Return a semantic version without its ``v``, empty where the text is none, such as ``latest`` or a commit."""
    match = _VERSION.fullmatch(text.strip())
    return match[0].removeprefix("v") if match is not None else ""


def image_version(image: str) -> str:
    """Return the version in the tag of a container image, empty where there is none: a digest alone, ``latest``."""
    name, _, _ = image.partition("@")
    _, colon, tag = name.rpartition("/")[2].rpartition(":")
    return parse_version(tag) if colon else ""


def chart_version(label: str) -> str:
    """Return the version in a ``helm.sh/chart`` label (``karpenter-1.14.1``), empty where there is none."""
    return parse_version(label.replace("_", "+").rpartition("karpenter-")[2])


def is_other_minor(found: str) -> bool:
    """Return whether a version is known and of a minor version that is not modelled."""
    return _VERSION.fullmatch(found) is not None and not is_modelled(found)


DEFAULTS: Final = "Karpenter's defaults"
"""Where a setting comes from that nobody has given."""
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
"""The settings that decide something: nothing else of a controller's environment is kept or recorded."""
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class ControllerInfo(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a Deployment or a pod says of the controller."""

    title: str
    """Who says so, for people: ``Deployment kube-system/karpenter``."""
    version: str = ""
    """Without a leading ``v``, empty where neither image nor labels tell."""
    version_source: str = ""
    """What tells: ``image of Deployment kube-system/karpenter``."""
    settings: Mapping[str, str] = _NOTHING
    """By environment name, as text: only ``SETTING_NAMES``."""
    unknown: Mapping[str, str] = _NOTHING
    """Settings that are given in a way that is not followed, with where they come from: ``ConfigMap karpenter``."""
    from_elsewhere: tuple[str, ...] = ()
    """ConfigMaps and Secrets of which every key is a variable (``envFrom``); they may hold further settings."""
    others: tuple[str, ...] = ()
    """What is labelled as Karpenter elsewhere and is not believed: ``Deployment shop/web``."""
    doubt: str = ""
    """A sentence on how little proves that this is Karpenter; empty where it is proven."""

    @property
    def version_sentence(self) -> str:
        """What the version found means for the answers; empty where its rules are modelled, or it is not known."""
        return version_note(self.version) if self.version else ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is not known of its settings, or whether they are Karpenter's."""
        sentences = [self.doubt] if self.doubt else []
        sentences += [f"{name} comes from {where}, which is not read" for name, where in self.unknown.items()]
        if self.from_elsewhere:
            sentences.append(f"{', '.join(self.from_elsewhere)} may hold further settings, which are not read")
        return tuple(sentences)


class Layer(msgspec.Struct, frozen=True):
    """Settings from one place."""

    origin: str
    """In words: ``the configuration``."""
    values: Mapping[str, str]


class LayeredSettings(msgspec.Struct, frozen=True):
    """Settings from several places, and where each comes from."""

    settings: Settings
    origins: Mapping[str, str]
    """By environment name; a name that is missing has its default."""


def layered(layers: Iterable[Layer], version: str = "") -> LayeredSettings:
    """Put settings over each other: of several places that name one, the first counts.

    Args:
        layers: The places.
        version: The one that runs, whose rules hold; empty where it is not known.

    Raises:
        SettingsError: where the outcome is something that Karpenter would not start with.
    """
    values: dict[str, str] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        for name, value in layer.values.items():
            if name not in values:
                values[name], origins[name] = value, layer.origin
    return LayeredSettings(parse_settings(values, version), origins)
