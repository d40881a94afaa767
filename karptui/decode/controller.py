"""Karpenter's controller out of its Deployment or its pod: image, labels, variables and flags.

Only the settings in ``SETTING_NAMES`` are looked at; what comes from ConfigMaps, Secrets or other variables is named
and not followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from karptui.karpenter.controller import SETTING_NAMES, ControllerInfo, chart_version, image_version, parse_version

_FLAGS: Final = {name.lower().replace("_", "-"): name for name in SETTING_NAMES}
_SWITCHES: Final = frozenset(
    {
        "disable-cluster-state-observability",
        "disable-controller-warmup",
        "disable-dry-run",
        "disable-leader-election",
        "eks-control-plane",
        "enable-profiling",
        "enable-zonal-shift",
        "ignore-dra-requests",
        "isolated-vpc",
    }
)
"""Flags that stand for true by themselves; the others take the next word."""
_VERSION_LABELS: Final = (("app.kubernetes.io/version", parse_version), ("helm.sh/chart", chart_version))


OWN_NAMESPACE: Final = "kube-system"
"""Nobody but who runs the cluster puts anything there."""
USUAL_NAMESPACE: Final = "karpenter"
"""Where Karpenter is looked for if nothing leads to another namespace; that it is there proves little."""


def is_labelled(document: Mapping[str, Any]) -> bool:
    """Tell whether an object calls itself Karpenter, which proves nothing."""
    return _mapping(_mapping(document.get("metadata")).get("labels")).get("app.kubernetes.io/name") == "karpenter"


def is_idle(document: Mapping[str, Any]) -> bool:
    """Tell whether a Deployment has no replicas, or a pod does not run."""
    spec, status = (_mapping(document.get(name)) for name in ("spec", "status"))
    return spec.get("replicas") == 0 or status.get("phase", "Running") != "Running"


def order_of(document: Mapping[str, Any]) -> tuple[bool, str, str]:
    """Return what decides between several: those that run first, then by name."""
    metadata = _mapping(document.get("metadata"))
    return is_idle(document), str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def decode_controller(document: Mapping[str, Any], kind: str) -> ControllerInfo:
    """Return what a Deployment or a pod says of the controller; what has another shape than it should says nothing.

    Args:
        document: The object as the API server gives it.
        kind: ``Deployment`` or ``Pod``.
    """
    metadata = _mapping(document.get("metadata"))
    title = f"{kind} {metadata.get('namespace', '')}/{metadata.get('name', '')}"
    template = _mapping(_mapping(document.get("spec")).get("template")) if kind == "Deployment" else document
    container = _controller_of(_mappings(_mapping(template.get("spec")).get("containers")))
    values, unknown = _variables(_mappings(container.get("env")))
    for name, value in _flags([one for one in _list(container.get("args")) if isinstance(one, str)]):
        values.pop(name, None)
        unknown.pop(name, None)
        if "$(" in value:
            unknown[name] = f"other variables ({value})"
        else:
            values[name] = value
    version, source = _version(container, (metadata, _mapping(template.get("metadata"))), title)
    return ControllerInfo(
        title=title,
        version=version,
        version_source=source,
        settings=values,
        unknown=unknown,
        from_elsewhere=tuple(_from_elsewhere(_mappings(container.get("envFrom")))),
    )


def _controller_of(containers: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return Karpenter's own container among those of its pod."""
    by_name = [one for one in containers if one.get("name") == "controller"]
    by_image = [one for one in containers if "karpenter" in str(one.get("image", ""))]
    return next(iter((*by_name, *by_image, *containers)), {})


def _variables(env: Iterable[Mapping[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    """Return settings by name, and those whose value is not there with where it comes from; the last of each counts."""
    values: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for variable in env:
        name, value = variable.get("name"), variable.get("value", "")
        if name not in SETTING_NAMES or not isinstance(name, str):
            continue
        values.pop(name, None)
        unknown.pop(name, None)
        if "valueFrom" in variable:
            unknown[name] = _reference(_mapping(variable["valueFrom"]))
        elif isinstance(value, str) and "$(" in value:
            unknown[name] = f"other variables ({value})"
        elif isinstance(value, str):
            values[name] = value
    return values, unknown


def _reference(source: Mapping[str, Any]) -> str:
    for field, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if field in source:
            return f"{kind} {_mapping(source[field]).get('name', '')}".rstrip()
    return "the pod's own fields"


def _from_elsewhere(sources: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for source in sources:
        for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            if field in source:
                yield f"{kind} {_mapping(source[field]).get('name', '')}".rstrip()


def _flags(args: list[str]) -> Iterator[tuple[str, str]]:
    """Yield settings that are given as flags, as Go's flag package reads them: it stops at the first other word."""
    words = iter(args)
    for word in words:
        if not word.startswith("-") or word in ("-", "--"):
            return
        name, has_value, value = word.lstrip("-").partition("=")
        if not has_value:
            value = "true" if name in _SWITCHES else next(words, "")
        if name in _FLAGS:
            yield _FLAGS[name], value


def _version(container: Mapping[str, Any], metadata: Iterable[Mapping[str, Any]], title: str) -> tuple[str, str]:
    """Return the version and what tells it: the image that runs, else what the chart has written."""
    version = image_version(str(container.get("image", "")))
    if version:
        return version, f"image of {title}"
    for one in metadata:
        labels = _mapping(one.get("labels"))
        for label, parse in _VERSION_LABELS:
            version = parse(str(labels.get(label, "")))
            if version:
                return version, f"label {label} of {title}"
    return "", ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [one for one in _list(value) if isinstance(one, Mapping)]
