"""Reading kubelet settings out of userData: NodeConfig YAML, Bottlerocket TOML, scripts, alone or in MIME parts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from email import message_from_string
from typing import Any, Final

import msgspec
import yaml

MAPS: Final = ("kubeReserved", "systemReserved", "evictionHard")
NUMBERS: Final = ("maxPods", "podsPerCore")

_FLAG: Final = re.compile(
    r"--(max-pods|pods-per-core|kube-reserved|system-reserved|eviction-hard)(?:=|\s+)(?:\"([^\"]*)\"|'([^']*)'|([^\s\"']+))"
)
_FLAG_FIELDS: Final = {
    "max-pods": "maxPods",
    "pods-per-core": "podsPerCore",
    "kube-reserved": "kubeReserved",
    "system-reserved": "systemReserved",
    "eviction-hard": "evictionHard",
}
_ASSIGNED: Final = re.compile(r"\b(maxPods|podsPerCore)[\"']?\]?\s*[:=]\s*[\"']?([0-9]+)")
_DEEPEST: Final = 100
_FILE_EDITED: Final = "a script that edits the kubelet's configuration"


class KubeletSetting(msgspec.Struct, frozen=True):
    """One setting found."""

    field: str
    """By its name in ``spec.kubelet``: one of NUMBERS or MAPS."""
    key: str
    """Resource or signal within a map; empty for numbers."""
    value: str
    place: str
    """Where it stands, in words."""
    is_flag: bool = False
    """Whether it is a command-line flag, which the kubelet prefers to its configuration file."""


def kubelet_settings(user_data: str) -> tuple[KubeletSetting, ...]:
    """Return the kubelet settings in userData, in the order in which they stand; what cannot be read holds none."""
    found = (setting for part in _parts(user_data) for setting in _settings(part))
    return tuple(dict.fromkeys(found))


def _parts(text: str) -> Iterator[str]:
    """Yield the MIME parts, or the whole where it is none."""
    if not re.match(r"\s*(?:MIME-Version|Content-Type):", text, re.IGNORECASE):
        yield text
        return
    for part in message_from_string(text.lstrip()).walk():
        payload = part.get_payload(decode=True)
        if isinstance(payload, bytes):
            yield payload.decode("utf-8", "replace")


def _settings(part: str) -> Iterator[KubeletSetting]:
    documents = list(_yaml_mappings(part))
    if documents:
        for document in documents:
            yield from _node_config(document)
        return
    bottlerocket = _toml(part)
    if bottlerocket is not None:
        yield from _bottlerocket(bottlerocket)
        return
    yield from _flags(_uncommented(part), "kubelet flags")
    for match in _ASSIGNED.finditer(_uncommented(part)):
        yield KubeletSetting(match[1], "", match[2], _FILE_EDITED)


def _uncommented(script: str) -> str:
    """Return a script without its comment lines."""
    return "\n".join(line for line in script.splitlines() if not line.lstrip().startswith("#"))


def _yaml_mappings(text: str) -> Iterator[Mapping[str, Any]]:
    try:
        if _is_too_deep(text):
            return
        documents = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError):
        return
    yield from (document for document in documents if isinstance(document, Mapping))


def _is_too_deep(text: str) -> bool:
    """Tell whether nesting goes so deep that the C loader, which recurses without a limit, would crash the process."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            return True
    return False


def _node_config(document: Mapping[str, Any]) -> Iterator[KubeletSetting]:
    """Yield what a NodeConfig says: ``spec.kubelet.config`` and ``spec.kubelet.flags``."""
    kubelet = _mapping(_mapping(document.get("spec")).get("kubelet"))
    config = _mapping(kubelet.get("config"))
    yield from _config(config, "NodeConfig", {field: field for field in (*NUMBERS, *MAPS)})
    flags = kubelet.get("flags")
    if isinstance(flags, list):
        yield from _flags(" ".join(map(str, flags)), "NodeConfig flags")


def _toml(text: str) -> Mapping[str, Any] | None:
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    return content or None


def _bottlerocket(content: Mapping[str, Any]) -> Iterator[KubeletSetting]:
    """Yield what ``settings.kubernetes`` says."""
    kubernetes = _mapping(_mapping(content.get("settings")).get("kubernetes"))
    yield from _config(kubernetes, "settings.kubernetes", _FLAG_FIELDS)


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
    """Return the pairs of ``cpu=100m,memory=1Gi`` or ``memory.available<5%``."""
    for entry in text.split(","):
        key, separator, amount = (
            re.split(r"([=<])", entry, maxsplit=1) if re.search(r"[=<]", entry) else (entry, "", "")
        )
        if separator:
            yield key.strip(), amount.strip()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
