"""Kubelet settings in userData, which Karpenter ignores although some take effect on the node.

They can be in NodeConfig YAML, Bottlerocket TOML or scripts, alone or in MIME parts. Karpenter adds its own settings:
its maxPods comes last on AL2, AL2023, Bottlerocket and Windows, and userData of Custom families is unchanged.
Reservations and eviction thresholds in userData take effect if ``spec.kubelet`` has none. Source:
pkg/providers/amifamily/bootstrap in Karpenter's AWS provider.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from email import message_from_string
from functools import lru_cache
from typing import Any, Final

import msgspec

from karptui.aws.lint import LintFinding, LintSeverity
from karptui.aws.nodeclass import Ec2NodeClass
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.kube.group import group_by
from karptui.kube.quantity import QuantityError, parse_quantity
from karptui.kube.yaml_reader import YamlError, load_documents

MAPS: Final = ("kubeReserved", "systemReserved", "evictionHard")
NUMBERS: Final = ("maxPods", "podsPerCore")

_FLAG: Final = re.compile(
    r"--(max-pods|pods-per-core|kube-reserved|system-reserved|eviction-hard)(?:=|\s+)(?:\"([^\"]*)\"|'([^']*)'|([^\s\"']+))"
)
_LABELS_FLAG: Final = re.compile(r"--node-labels(?:=|\s+)[\"']?([^\s\"']+)")
_KUBELET_DOMAINS: Final = (".kubelet.kubernetes.io", ".node.kubernetes.io")
_KUBELET_LABELS: Final = frozenset(
    {
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
"""Labels of Kubernetes' own domains that --node-labels may set, in addition to the kubelet's domains."""
_FLAG_FIELDS: Final = {
    "max-pods": "maxPods",
    "pods-per-core": "podsPerCore",
    "kube-reserved": "kubeReserved",
    "system-reserved": "systemReserved",
    "eviction-hard": "evictionHard",
}
_ASSIGNED: Final = re.compile(r"\b(maxPods|podsPerCore)[\"']?\]?\s*[:=]\s*[\"']?([0-9]+)")
_FILE_EDITED: Final = "a script that edits the kubelet's configuration"


class KubeletSetting(msgspec.Struct, frozen=True):
    """A kubelet setting in userData."""

    field: str
    """Name in ``spec.kubelet``: one of NUMBERS or MAPS."""
    key: str
    """Resource or signal within a map; empty for numbers."""
    value: str
    place: str
    """Part of userData that contains it, for display."""
    is_flag: bool = False
    """Whether it is a command-line flag, which overrides the kubelet's configuration file."""


def kubelet_settings(user_data: str) -> tuple[KubeletSetting, ...]:
    """Return the kubelet settings in userData in order; unreadable parts are ignored."""
    settings = (setting for part in _parts(user_data) for setting in _settings(part))
    return tuple(dict.fromkeys(settings))


def _parts(text: str) -> Iterator[str]:
    """Yield the MIME parts, or the whole text if it has none."""
    if not re.match(r"\s*(?:MIME-Version|Content-Type):", text, re.IGNORECASE):
        yield text
        return
    for part in message_from_string(text.lstrip()).walk():
        payload = part.get_payload(decode=True)
        if isinstance(payload, bytes):
            yield payload.decode("utf-8", "replace")


def _settings(part: str) -> Iterator[KubeletSetting]:
    if documents := list(_yaml_mappings(part)):
        for document in documents:
            yield from _node_config(document)
        return
    if (kubernetes := _bottlerocket(part)) is not None:
        yield from _config(kubernetes, "settings.kubernetes", _FLAG_FIELDS)
        return
    yield from _flags(_uncommented(part), "kubelet flags")
    for match in _ASSIGNED.finditer(_uncommented(part)):
        yield KubeletSetting(match[1], "", match[2], _FILE_EDITED)


@lru_cache(maxsize=64)
def refused_labels(user_data: str) -> tuple[str, ...]:
    """Return the node labels in userData with which the kubelet does not start, sorted.

    Source: ``UnknownKubernetesLabels`` in cmd/kubelet/app/options of Kubernetes.
    """
    keys = {key for part in _parts(user_data) for key in _label_keys(part)}
    return tuple(sorted(key for key in keys if _is_refused(key)))


def _label_keys(part: str) -> Iterator[str]:
    if (kubernetes := _bottlerocket(part)) is not None:
        yield from map(str, _mapping(kubernetes.get("node-labels")))
    for match in _LABELS_FLAG.finditer(_uncommented(part)):
        yield from (pair.partition("=")[0] for pair in match[1].split(","))


def _is_refused(key: str) -> bool:
    domain = f".{key.partition('/')[0]}" if "/" in key else ""
    may_be_set = domain.endswith(_KUBELET_DOMAINS) or key in _KUBELET_LABELS
    return domain.endswith((".kubernetes.io", ".k8s.io")) and not may_be_set


def _uncommented(script: str) -> str:
    return "\n".join(line for line in script.splitlines() if not line.lstrip().startswith("#"))


def _yaml_mappings(text: str) -> Iterator[Mapping[str, Any]]:
    try:
        documents = load_documents(text)
    except YamlError:
        return
    yield from (document for document in documents if isinstance(document, Mapping))


def _node_config(document: Mapping[str, Any]) -> Iterator[KubeletSetting]:
    """Yield the settings of a NodeConfig: ``spec.kubelet.config`` and ``spec.kubelet.flags``."""
    kubelet = _mapping(_mapping(document.get("spec")).get("kubelet"))
    config = _mapping(kubelet.get("config"))
    yield from _config(config, "NodeConfig", {field: field for field in (*NUMBERS, *MAPS)})
    flags = kubelet.get("flags")
    if isinstance(flags, list):
        yield from _flags(" ".join(map(str, flags)), "NodeConfig flags")


def _bottlerocket(text: str) -> Mapping[str, Any] | None:
    """Return ``settings.kubernetes`` of TOML; None of other text, and without any."""
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    return _mapping(_mapping(content.get("settings")).get("kubernetes")) if content else None


def _config(config: Mapping[str, Any], place: str, fields: Mapping[str, str]) -> Iterator[KubeletSetting]:
    for name, field in fields.items():
        value = config.get(name)
        if field in NUMBERS:
            if isinstance(value, (int, str)) and not isinstance(value, bool):
                yield KubeletSetting(field, "", str(value), place)
        else:
            for key, amount in _mapping(value).items():
                yield KubeletSetting(field, str(key), str(amount), place)


def _flags(text: str, place: str) -> Iterator[KubeletSetting]:
    for match in _FLAG.finditer(text):
        field = _FLAG_FIELDS[match[1]]
        value = match[2] or match[3] or match[4] or ""
        if field in NUMBERS:
            yield KubeletSetting(field, "", value, f"{place} --{match[1]}", is_flag=True)
        else:
            for key, amount in _pairs(value):
                yield KubeletSetting(field, key, amount, f"{place} --{match[1]}", is_flag=True)


def _pairs(text: str) -> Iterable[tuple[str, str]]:
    """Return the pairs in ``cpu=100m,memory=1Gi`` or ``memory.available<5%``."""
    for entry in text.split(","):
        key, separator, amount = (
            re.split(r"([=<])", entry, maxsplit=1) if re.search(r"[=<]", entry) else (entry, "", "")
        )
        if separator:
            yield key.strip(), amount.strip()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def user_data_settings(nodeclass: Ec2NodeClass) -> tuple[LintFinding, ...]:
    """Find kubelet settings in userData that ``spec.kubelet`` lacks or contradicts."""
    settings = kubelet_settings(nodeclass.spec.user_data or "")
    pods = [_max_pods(nodeclass, setting) for setting in settings if setting.field == "maxPods"]
    others = [setting for setting in settings if setting.field != "maxPods"]
    return (*filter(None, pods), *_reservations(nodeclass, others))


def _max_pods(nodeclass: Ec2NodeClass, setting: KubeletSetting) -> LintFinding | None:
    planned = nodeclass.kubelet.max_pods
    if planned is not None and str(planned) == setting.value:
        return None
    family = nodeclass.family
    plan = f"spec.kubelet.maxPods {planned}" if planned is not None else "the limit of the type's network interfaces"
    if not family.owns_max_pods:
        consequence = f"the node accepts {setting.value} pods, but Karpenter assumes {plan}"
    elif setting.is_flag:
        consequence = f"the flag overrides Karpenter's value on the node, but Karpenter assumes {plan}"
    else:
        consequence = f"Karpenter overrides it on the node and assumes {plan}"
    return _finding(
        nodeclass,
        f"userData sets maxPods {setting.value} ({setting.place}), which Karpenter ignores: {consequence}.",
        f"Set spec.kubelet.maxPods: {setting.value} in the EC2NodeClass and remove it from userData.",
    )


def _reservations(nodeclass: Ec2NodeClass, settings: Iterable[KubeletSetting]) -> Iterable[LintFinding]:
    kubelet = nodeclass.kubelet
    planned = {
        "kubeReserved": kubelet.kube_reserved or {},
        "systemReserved": kubelet.system_reserved or {},
        "evictionHard": kubelet.eviction_hard or {},
        "podsPerCore": {} if kubelet.pods_per_core is None else {"": str(kubelet.pods_per_core)},
    }

    def is_hidden(setting: KubeletSetting) -> bool:
        spec_value = planned[setting.field].get(setting.key)
        is_overwritten = spec_value is not None and nodeclass.family.owns_max_pods and not setting.is_flag
        return not is_overwritten and not _is_same(spec_value, setting.value)

    hidden = group_by(filter(is_hidden, settings), lambda setting: setting.field)
    return [_hidden(nodeclass, field, of_field, planned[field]) for field, of_field in hidden.items()]


def _hidden(
    nodeclass: Ec2NodeClass, field: str, settings: list[KubeletSetting], planned: Mapping[str, str]
) -> LintFinding:
    listed = ", ".join(f"{setting.key} {setting.value}".strip() for setting in settings)
    places = ", ".join(dict.fromkeys(setting.place for setting in settings))
    in_spec = [f"{setting.key} {planned[setting.key]}".strip() for setting in settings if setting.key in planned]
    against = f"; spec.kubelet.{field} is {', '.join(in_spec)}" if in_spec else ""
    return _finding(
        nodeclass,
        f"userData sets {field} {listed} ({places}), which Karpenter ignores{against}: "
        "nodes may have less or more allocatable than Karpenter assumes.",
        f"Set spec.kubelet.{field} in the EC2NodeClass and remove it from userData.",
    )


def _is_same(left: str | None, right: str) -> bool:
    """Return whether two texts are the same amount."""
    if left is None or left == right:
        return left == right
    try:
        return parse_quantity(left).nano == parse_quantity(right).nano
    except QuantityError:
        return False


def _finding(nodeclass: Ec2NodeClass, fact: str, remedy: str) -> LintFinding:
    return LintFinding(
        severity=LintSeverity.WARNING,
        object=f"{EC2_KIND} {nodeclass.name}",
        fact=fact,
        remedy=remedy,
    )
