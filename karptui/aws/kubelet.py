"""Evaluates kubelet settings that are CEL expressions for an instance type.

Source: pkg/cel/environment.go, pkg/apis/v1/kubeletconfiguration.go and ``resolveMaxPods`` and ``resolveReserved`` in
pkg/providers/instancetype/types.go in Karpenter's AWS provider, 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, Final

import msgspec

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.nodeclass import Ec2NodeClass, Kubelet, NodeClassError
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.karpenter.settings import Settings
from karptui.kube.cel_library import why_no_cel
from karptui.kube.quantity import is_quantity
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY

PODS_WITHOUT_ENI_LIMIT: Final = 110
HOST_NETWORK_PODS: Final = 2
"""aws-node and kube-proxy use the host network and need no address."""


def eni_limited_pods(facts: InstanceTypeFacts, reserved_enis: int, efa_only_on_first_card: int) -> int:
    """Return the number of pods that the default card's interfaces have addresses for.

    An interface uses its first address itself. Types without a usable interface accept no pods.
    """
    enis = facts.card_enis[facts.default_card] - reserved_enis - efa_only_on_first_card
    return enis * (facts.ipv4_per_eni - 1) + HOST_NETWORK_PODS if enis > 0 else 0


def max_pods(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass, reserved_enis: int) -> int:
    """Return the number of pods that the kubelet is configured to accept.

    ``maxPods: 0`` is a limit, ``podsPerCore: 0`` is not. Karpenter ignores prefix delegation and IPv6.
    """
    kubelet, family = nodeclass.kubelet, nodeclass.family
    if isinstance(kubelet.max_pods, str):
        raise NodeClassError(
            f"{EC2_KIND} {nodeclass.name}: spec.kubelet.maxPods: must be a whole number, "
            "is text: write it without quotes"
        )
    if kubelet.max_pods is not None:
        pods = kubelet.max_pods
    elif family.limits_pods_by_enis:
        pods = eni_limited_pods(facts, reserved_enis, nodeclass.efa_only_on_first_card)
    else:
        pods = PODS_WITHOUT_ENI_LIMIT
    if family.honours_pods_per_core and kubelet.pods_per_core is not None and kubelet.pods_per_core > 0:
        return min(pods, kubelet.pods_per_core * facts.vcpus)
    return pods


CEL_GATE: Final = "NodeClassCEL"
MOST_PODS: Final = (1 << 31) - 1
_ROUNDED_UP: Final = {CPU: (10, "m"), MEMORY: (16, "Mi"), EPHEMERAL_STORAGE: (1, "Gi")}
"""Rounding step and unit of a result, by resource."""


class ExpressionError(ValueError):
    """The expression does not compile, or has no usable result for a type; the message has the reason."""


def evaluates(settings: Settings) -> bool:
    """Return whether expressions are evaluated: Karpenter's gate is on, and the library for it is installed."""
    return settings.aws_gates.get(CEL_GATE, False) and not why_no_cel()


def is_expression(amount: str) -> bool:
    """Return whether a reserved amount is an expression, which anything but a quantity is."""
    return not is_quantity(amount)


def expressions(kubelet: Kubelet) -> dict[str, str]:
    """Return the expressions in ``spec.kubelet`` by field: ``maxPods``, ``kubeReserved[cpu]``."""
    results = {"maxPods": kubelet.max_pods} if isinstance(kubelet.max_pods, str) else {}
    return results | {place: text for place, text in _reserved(kubelet) if is_expression(text)}


def _reserved(kubelet: Kubelet) -> Iterator[tuple[str, str]]:
    """Yield place and amount of the reserved resources: ``kubeReserved[cpu]``."""
    for field, amounts in (("kubeReserved", kubelet.kube_reserved), ("systemReserved", kubelet.system_reserved)):
        yield from ((f"{field}[{key}]", amount) for key, amount in (amounts or {}).items())


def for_type(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass, settings: Settings) -> Ec2NodeClass:
    """Return the NodeClass for a type, with expressions replaced by their results.

    Expressions are ignored while the gate is off, and without the library. A reserved amount that fails or is
    negative is dropped.

    Raises:
        NodeClassError: ``maxPods`` has no usable result, so Karpenter finds no types at all.
    """
    is_on = evaluates(settings)
    kubelet = nodeclass.kubelet
    if isinstance(kubelet.max_pods, str):
        expression = kubelet.max_pods
        nodeclass = _with(nodeclass, max_pods=None)
        if is_on:
            most = max_pods(facts, nodeclass, settings.reserved_enis)
            nodeclass = _with(nodeclass, max_pods=_pods(expression, facts, most, nodeclass.name))
    pods = max_pods(facts, nodeclass, settings.reserved_enis)
    return _with(
        nodeclass,
        kube_reserved=_amounts(kubelet.kube_reserved, facts, pods, is_on=is_on),
        system_reserved=_amounts(kubelet.system_reserved, facts, pods, is_on=is_on),
    )


def failures(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass, settings: Settings) -> dict[str, str]:
    """Return the reason why expressions fail for a type, by field; Karpenter then rejects the NodeClass."""
    kubelet, reasons = nodeclass.kubelet, {}
    plain = _with(nodeclass, max_pods=None) if isinstance(kubelet.max_pods, str) else nodeclass
    pods = max_pods(facts, plain, settings.reserved_enis)
    for place, expression in expressions(kubelet).items():
        try:
            result = evaluate(expression, facts, pods)
            if place == "maxPods":
                plain = _with(nodeclass, max_pods=_checked_pods(result))
                pods = max_pods(facts, plain, settings.reserved_enis)
            elif result < 0:
                reasons[place] = f"{expression} is {result}: an amount cannot be negative"
        except ExpressionError as error:
            reasons[place] = str(error)
    return reasons


def expression_results(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass, settings: Settings) -> dict[str, str]:
    """Return the expressions with their results for a type, by field: ``80m = vcpus * 20``."""
    texts = expressions(nodeclass.kubelet)
    if not texts or not settings.rules.evaluates_kubelet:
        return {}
    if not evaluates(settings):
        reason = why_no_cel() if settings.aws_gates.get(CEL_GATE, False) else f"{CEL_GATE} is off"
        return {place: f"{text}: not used, {reason}" for place, text in texts.items()}
    try:
        kubelet = for_type(facts, nodeclass, settings).kubelet
    except NodeClassError as error:
        return {"maxPods": str(error)}
    plain = {"maxPods": kubelet.max_pods, **dict(_reserved(kubelet))}
    return {
        place: f"{plain[place]} = {text}" if place in plain else f"{text}: no result, the default applies"
        for place, text in texts.items()
    }


def evaluate(expression: str, facts: InstanceTypeFacts, pods: int) -> int:
    """Return an expression's result for a type, truncated to an integer.

    Raises:
        ExpressionError: It does not compile, or has no result for this type.
    """
    program = _program(expression)
    data = {
        "vcpus": facts.vcpus,
        "memory_mib": facts.memory_mib,
        "default_enis": facts.card_enis[facts.default_card],
        "ips_per_eni": facts.ipv4_per_eni,
        "max_pods": pods,
        "instance_type": facts.name,
    }
    result = program.eval(data=data).value()
    if isinstance(result, int):
        return result
    if isinstance(result, float) and math.isfinite(result):
        return int(result)
    raise ExpressionError(f"{expression} has no result on {facts.name}: {str(result)[:200]}")


def compile_problem(expression: str) -> str:
    """Return the reason why an expression is invalid for every type, or an empty string."""
    try:
        _program(expression)
    except ExpressionError as error:
        return str(error)
    return ""


def _with(nodeclass: Ec2NodeClass, **changes: Any) -> Ec2NodeClass:
    kubelet = msgspec.structs.replace(nodeclass.kubelet, **changes)
    return msgspec.structs.replace(nodeclass, spec=msgspec.structs.replace(nodeclass.spec, kubelet=kubelet))


def _pods(expression: str, facts: InstanceTypeFacts, most: int, name: str) -> int:
    try:
        return _checked_pods(evaluate(expression, facts, most))
    except ExpressionError as error:
        raise NodeClassError(
            f"{EC2_KIND} {name}: spec.kubelet.maxPods: {expression} on {facts.name}: {error}: "
            "Karpenter finds no instance types"
        ) from None


def _checked_pods(result: int) -> int:
    if not 0 <= result <= MOST_PODS:
        raise ExpressionError(f"is {result}, must be from 0 to {MOST_PODS}")
    return result


def _amounts(
    amounts: Mapping[str, str] | None, facts: InstanceTypeFacts, pods: int, *, is_on: bool
) -> dict[str, str] | None:
    if amounts is None:
        return None
    resolved = {}
    for key, text in amounts.items():
        if not is_expression(text):
            resolved[key] = text
        elif is_on and (amount := _amount(key, text, facts, pods)) is not None:
            resolved[key] = amount
    return resolved


def _amount(key: str, expression: str, facts: InstanceTypeFacts, pods: int) -> str | None:
    try:
        result = evaluate(expression, facts, pods)
    except ExpressionError:
        return None
    step, unit = _ROUNDED_UP.get(key, (1, ""))
    return None if result < 0 else f"{-(-result // step) * step}{unit}"


@lru_cache(maxsize=256)
def _compiled(expression: str) -> Any:
    """Return the program, or an error message."""
    from cel_expr_python import cel  # noqa: PLC0415 - loads native libraries for 20 ms, and few clusters need it

    try:
        program = _environment().compile(expression)
    except RuntimeError as error:
        return f"{expression} does not compile: {' '.join(str(error).split())[:300]}"
    kind = program.return_type()
    if kind not in (cel.Type.INT, cel.Type.DOUBLE):
        return f"{expression} must be a number, is {kind.name()}"
    return program


def _program(expression: str) -> Any:
    program = _compiled(expression)
    if isinstance(program, str):
        raise ExpressionError(program)
    return program


@cache
def _environment() -> Any:
    from cel_expr_python import cel  # noqa: PLC0415 - as above

    whole, double = cel.Type.INT, cel.Type.DOUBLE
    kinds = ((whole, whole, whole), (double, double, double), (double, whole, double), (double, double, whole))
    return cel.NewEnv(
        variables={
            **dict.fromkeys(("vcpus", "memory_mib", "default_enis", "ips_per_eni", "max_pods"), whole),
            "instance_type": cel.Type.STRING,
        },
        functions=[
            cel.FunctionDecl(
                name,
                [
                    cel.Overload(
                        f"{name}_{index}", return_type=result, parameters=[left, right], impl=_as(choose, result)
                    )
                    for index, (result, left, right) in enumerate(kinds)
                ],
            )
            for name, choose in (("max", max), ("min", min))
        ],
    )


def _as(choose: Any, result: Any) -> Any:
    from cel_expr_python import cel  # noqa: PLC0415 - as above

    return (lambda left, right: float(choose(left, right))) if result == cel.Type.DOUBLE else choose
