"""Validates ``spec.kubelet`` as Karpenter does, because the API server accepts any map since 1.15.

Sources: pkg/apis/v1/kubeletconfiguration.go, kubeletconfiguration_validation.go and pkg/controllers/nodeclass/
validation.go in Karpenter's AWS provider 1.15.1; the fields are those of k8s.io/kubelet 0.37.0, config/v1beta1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from karptui.kube.durations import DurationError, parse_duration
from karptui.kube.quantity import QuantityError, is_quantity, parse_float, parse_quantity

EVICTION_SIGNALS: Final = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
)
RESERVED_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "pid")
_OWNED: Final = {
    "registerWithTaints": "Karpenter sets it from the NodeClaim's taints so the node registers unschedulable until "
    "it's ready"
}
_TEXTS: Final = "map:string"
_WHOLE: Final = {"int32": 31, "int64": 63, "uint32": 32}
"""Bits of the largest value, by Go type."""
Shape = str | Mapping[str, Any] | tuple[Mapping[str, Any]]
"""A Go type: ``[]`` precedes an element type, ``map:`` a value type; a mapping is a struct, a tuple a list."""


def _fields(**names: str) -> dict[str, Shape]:
    return {name: kind for kind, text in names.items() for name in text.split()}


_MANAGED: Final[Mapping[str, Shape]] = {
    "clusterDNS": "[]string",
    "maxPods": "int32 or string",
    "podsPerCore": "int32",
    "systemReserved": _TEXTS,
    "kubeReserved": _TEXTS,
    "evictionHard": _TEXTS,
    "evictionSoft": _TEXTS,
    "evictionSoftGracePeriod": "map:duration",
    "evictionMaxPodGracePeriod": "int32",
    "imageGCHighThresholdPercent": "int32",
    "imageGCLowThresholdPercent": "int32",
    "cpuCFSQuota": "bool",
}
"""Fields that Karpenter itself reads."""
_DURATION_POINTER: Final = ".maxContainerRestartPeriod"
"""The only duration that may be null; elsewhere null means an empty text."""
_NAMED_MAPS: Final = {"map:duration": "map[string]v1.Duration", "map:quantity": "v1.ResourceList"}
_LOG_OPTIONS: Final[Mapping[str, Shape]] = {"splitStream": "bool", "infoBufferSize": "quantity"}
_UPSTREAM: Final[Mapping[str, Shape]] = {
    **_fields(
        bool="enableServer rotateCertificates serverTLSBootstrap enableDebuggingHandlers enableContentionProfiling "
        "cgroupsPerQOS singleProcessOOMKill runOnce cpuCFSQuota serializeImagePulls mergeDefaultEvictionSettings "
        "enableControllerAttachDetach protectKernelDefaults makeIPTablesUtilChains failSwapOn kernelMemcgNotification "
        "enableSystemLogHandler enableSystemLogQuery enableProfilingHandler enableDebugFlagsHandler seccompDefault "
        "registerNode localStorageCapacityIsolation failCgroupV1",
        int32="port readOnlyPort registryPullQPS registryBurst eventRecordQPS eventBurst healthzPort oomScoreAdj "
        "nodeLeaseDurationSeconds imageGCHighThresholdPercent imageGCLowThresholdPercent maxPods nodeStatusMaxImages "
        "kubeAPIQPS kubeAPIBurst maxParallelImagePulls evictionMaxPodGracePeriod podsPerCore iptablesMasqueradeBit "
        "iptablesDropBit containerLogMaxFiles containerLogMaxWorkers",
        int64="podPidsLimit maxOpenFiles",
        float64="memoryThrottlingFactor",
        string="kind apiVersion staticPodPath podLogsDir staticPodURL address tlsCertFile tlsPrivateKeyFile "
        "tlsMinVersion imagePullCredentialsVerificationPolicy healthzBindAddress clusterDomain kubeletCgroups "
        "systemCgroups cgroupRoot cgroupDriver cpuManagerPolicy memoryManagerPolicy topologyManagerPolicy "
        "topologyManagerScope hairpinMode podCIDR resolvConf contentType containerLogMaxSize "
        "configMapAndSecretChangeDetectionStrategy reservedSystemCPUs showHiddenMetricsForVersion systemReservedCgroup "
        "kubeReservedCgroup volumePluginDir providerID memoryReservationPolicy containerRuntimeEndpoint "
        "imageServiceEndpoint",
        duration="syncFrequency fileCheckFrequency httpCheckFrequency streamingConnectionIdleTimeout "
        "nodeStatusUpdateFrequency nodeStatusReportFrequency imageMinimumGCAge imageMaximumGCAge volumeStatsAggPeriod "
        "cpuManagerReconcilePeriod runtimeRequestTimeout cpuCFSQuotaPeriod evictionPressureTransitionPeriod "
        "containerLogMonitorInterval shutdownGracePeriod shutdownGracePeriodCriticalPods",
    ),
    **dict.fromkeys(
        (
            "tlsCipherSuites",
            "preloadedImagesVerificationAllowlist",
            "clusterDNS",
            "enforceNodeAllocatable",
            "allowedUnsafeSysctls",
        ),
        "[]string",
    ),
    **dict.fromkeys(
        (
            "cpuManagerPolicyOptions",
            "topologyManagerPolicyOptions",
            "qosReserved",
            "evictionHard",
            "evictionSoft",
            "evictionSoftGracePeriod",
            "evictionMinimumReclaim",
            "systemReserved",
            "kubeReserved",
            "defaultPodSysctls",
        ),
        _TEXTS,
    ),
    "tlsCurvePreferences": "[]int32",
    "staticPodURLHeader": "map:[]string",
    "featureGates": "map:bool",
    "authentication": {
        "x509": {"clientCAFile": "string"},
        "webhook": {"enabled": "bool", "cacheTTL": "duration"},
        "anonymous": {"enabled": "bool"},
    },
    "authorization": {
        "mode": "string",
        "webhook": {"cacheAuthorizedTTL": "duration", "cacheUnauthorizedTTL": "duration"},
    },
    "memorySwap": {"swapBehavior": "string"},
    "logging": {
        "format": "string",
        "flushFrequency": "duration or int64",
        "verbosity": "uint32",
        "vmodule": ({"filePattern": "string", "verbosity": "uint32"},),
        "options": {"text": _LOG_OPTIONS, "json": _LOG_OPTIONS},
    },
    "shutdownGracePeriodByPodPriority": ({"priority": "int32", "shutdownGracePeriodSeconds": "int64"},),
    "crashLoopBackOff": {"maxContainerRestartPeriod": "duration"},
    "reservedMemory": ({"numaNode": "int32", "limits": "map:quantity"},),
    "registerWithTaints": ({"key": "string", "value": "string", "effect": "string", "timeAdded": "string"},),
    "tracing": {"endpoint": "string", "samplingRatePerMillion": "int32"},
    "userNamespaces": {"idsPerPod": "int64"},
}
"""``KubeletConfiguration``."""


def unmanaged_fields(kubelet: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields that Karpenter does not read; AL2023 passes them on, Custom ignores them, others fail."""
    return tuple(sorted(kubelet.keys() - _MANAGED.keys()))


def parse_problem(kubelet: Mapping[str, Any]) -> str:
    """Return the reason why Karpenter cannot parse ``spec.kubelet`` and so finds no types, or an empty string."""
    # Unlike in the rules below, field names match in any case.
    folded = {name.lower(): name for name in _MANAGED}
    managed = ({folded[name.lower()]: value} for name, value in sorted(kubelet.items()) if name.lower() in folded)
    return _reported(mistake for field in managed for mistake in _mistakes(field, _MANAGED, "ParsedKubeletConfig", []))


def rule_breaks(kubelet: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the messages of ``InvalidKubeletConfiguration``, in Karpenter's order and words."""
    return (*_against_upstream(kubelet), *_meaning(kubelet)) if kubelet else ()


def _against_upstream(kubelet: Mapping[str, Any]) -> list[str]:
    """Return only the first type error, otherwise every unknown field."""
    if isinstance(kubelet.get("maxPods"), str):
        kubelet = {**kubelet, "maxPods": 0}
    unknown: list[str] = []
    mistake = _reported(_mistakes(kubelet, _UPSTREAM, "KubeletConfiguration", unknown))
    problems = [mistake] if mistake else [f'unknown field "{path}"' for path in unknown]
    return [f"spec.kubelet: {problem}" for problem in problems]


class _Mistake(NamedTuple):
    """An error of Go's decoder."""

    text: str
    stops: bool
    """Whether a custom decoder rejects it, which stops decoding and is reported before earlier errors."""


def _reported(mistakes: Iterable[_Mistake]) -> str:
    """Return the error that Go reports: the first that stops decoding, otherwise the first; empty without any."""
    first = ""
    for mistake in mistakes:
        if mistake.stops:
            return mistake.text
        first = first or mistake.text
    return first


def _mistakes(value: Any, shape: Any, path: str, unknown: list[str]) -> Iterator[_Mistake]:
    """Yield the errors of Go's decoder; unknown fields are appended to ``unknown``."""
    if value is None and (shape != "duration" or path.endswith(_DURATION_POINTER)):
        return
    if isinstance(shape, str):
        yield from _scalar_mistakes(value, shape, path, unknown)
    elif isinstance(shape, tuple):
        if not isinstance(value, list | tuple):
            yield _refusal(value, path, "[]struct")
            return
        for index, item in enumerate(value):
            yield from _mistakes(item, shape[0], f"{path}[{index}]", unknown)
    elif not isinstance(value, Mapping):
        yield _refusal(value, path, "struct")
    else:
        for name in sorted(value):
            if name in shape:
                yield from _mistakes(value[name], shape[name], f"{path}.{name}", unknown)
            else:
                unknown.append(".".join((*path.split(".")[1:], name)))


def _scalar_mistakes(value: Any, kind: str, path: str, unknown: list[str]) -> Iterator[_Mistake]:
    if kind.startswith("[]"):
        if isinstance(value, list | tuple):
            for item in value:
                yield from _mistakes(item, kind[2:], path, unknown)
        else:
            yield _refusal(value, path, kind)
    elif kind.startswith("map:"):
        if isinstance(value, Mapping):
            for name in sorted(value):
                yield from _mistakes(value[name], kind[4:], path, unknown)
        else:
            yield _refusal(value, path, _NAMED_MAPS.get(kind, f"map[string]{kind[4:]}"))
    elif " or " in kind:
        left, right = kind.split(" or ")
        textual = {"string", "duration"}
        text, number = (left, right) if left in textual else (right, left)
        for mistake in _mistakes(value, text if isinstance(value, str) else number, path, unknown):
            yield mistake._replace(stops=True)
    elif kind == "duration":
        yield from _duration_mistakes(value, path)
    elif not _fits(value, kind):
        yield _refusal(value, path, kind)._replace(stops=kind == "quantity")


def _duration_mistakes(value: Any, path: str) -> Iterator[_Mistake]:
    if not isinstance(value, str | None):
        yield _refusal(value, path, "string")._replace(stops=True)
        return
    try:
        parse_duration(value or "")
    except DurationError as error:
        yield _Mistake(str(error), stops=True)


def _fits(value: Any, kind: str) -> bool:
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "string":
        return isinstance(value, str)
    if kind == "quantity":
        return is_quantity(str(value)) if isinstance(value, str | int | float) else False
    if isinstance(value, bool):
        return False
    if kind == "float64":
        return isinstance(value, int | float)
    if not isinstance(value, int):
        return False
    bits = _WHOLE[kind]
    return (0 if kind.startswith("u") else -(1 << bits)) <= value < 1 << bits


def _refusal(value: Any, path: str, kind: str) -> _Mistake:
    if isinstance(value, bool):
        actual = "bool"
    elif isinstance(value, int | float):
        is_wanted = kind in _WHOLE or kind == "float64"
        actual = f"number {msgspec.json.encode(value).decode()}" if is_wanted else "number"
    else:
        actual = "string" if isinstance(value, str) else "object" if isinstance(value, Mapping) else "array"
    return _Mistake(f"json: cannot unmarshal {actual} into Go struct field {path} of type {kind}", stops=False)


def _meaning(kubelet: Mapping[str, Any]) -> Iterator[str]:
    """Yield errors beyond types: keys, values, and combinations of fields."""
    for field, why in _OWNED.items():
        if field in kubelet:
            yield f"spec.kubelet.{field}: can't be set, {why}"
    for field in ("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"):
        for signal, text in _texts(kubelet, field):
            if signal not in EVICTION_SIGNALS:
                yield (
                    f'spec.kubelet.{field}: "{signal}" isn\'t a valid eviction signal, must be one of '
                    f"{', '.join(EVICTION_SIGNALS)}"
                )
            problem = _grace_problem(text) if field == "evictionSoftGracePeriod" else _threshold_problem(text)
            if problem:
                yield f'spec.kubelet.{field}[{signal}]: "{text}" {problem}'
    yield from _unpaired(kubelet)
    for field in ("kubeReserved", "systemReserved"):
        for resource, text in _texts(kubelet, field):
            if resource not in RESERVED_RESOURCES:
                yield (
                    f'spec.kubelet.{field}: "{resource}" isn\'t a reservable resource, must be one of '
                    f"{', '.join(RESERVED_RESOURCES)}"
                )
            if text.startswith("-"):
                yield f'spec.kubelet.{field}[{resource}]: "{text}" can\'t be a negative resource quantity'
    yield from _out_of_range(kubelet)


def _unpaired(kubelet: Mapping[str, Any]) -> Iterator[str]:
    soft, grace = (dict(_texts(kubelet, field)) for field in ("evictionSoft", "evictionSoftGracePeriod"))
    for signal in sorted(soft.keys() - grace.keys()):
        yield f"spec.kubelet.evictionSoft[{signal}]: has no matching evictionSoftGracePeriod"
    for signal in sorted(grace.keys() - soft.keys()):
        yield f"spec.kubelet.evictionSoftGracePeriod[{signal}]: has no matching evictionSoft"


def _out_of_range(kubelet: Mapping[str, Any]) -> Iterator[str]:
    high, low = "imageGCHighThresholdPercent", "imageGCLowThresholdPercent"
    for field in (high, low):
        value = _int64(kubelet, field)
        if value is not None and not 0 <= value <= 100:
            yield f"spec.kubelet.{field}: {value} must be between 0 and 100"
    for field in ("podsPerCore", "evictionMaxPodGracePeriod", "maxPods"):
        value = _int64(kubelet, field)
        if value is not None and value < 0:
            yield f"spec.kubelet.{field}: {value} can't be negative"
    above, below = _int64(kubelet, high), _int64(kubelet, low)
    if above is not None and below is not None and above <= below:
        yield f"spec.kubelet: {high} ({above}) must be greater than {low} ({below})"


def _texts(kubelet: Mapping[str, Any], field: str) -> list[tuple[str, str]]:
    """Return a string map sorted by key; anything else counts as absent."""
    value = kubelet.get(field)
    if not isinstance(value, Mapping) or not all(isinstance(text, str | None) for text in value.values()):
        return []
    return [(key, value[key] or "") for key in sorted(value)]


def _int64(kubelet: Mapping[str, Any], field: str) -> int | None:
    value = kubelet.get(field)
    return value if _fits(value, "int64") else None


def _threshold_problem(text: str) -> str:
    if text.endswith("%"):
        percent = parse_float(text[:-1])
        is_percent = percent is not None and not (percent < 0 or percent > 100)
        return "" if is_percent else "must be a percentage or a resource quantity"
    try:
        amount = parse_quantity(text)
    except QuantityError:
        return "must be a percentage or a resource quantity"
    return "can't be a negative resource quantity" if amount.nano < 0 else ""


def _grace_problem(text: str) -> str:
    try:
        return "can't be a negative duration" if parse_duration(text) < 0 else ""
    except DurationError:
        return "must be a duration"
