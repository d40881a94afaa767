"""Kubelet settings that are CEL expressions, and what they come to on one instance type.

Source: pkg/cel/environment.go, pkg/apis/v1/kubeletconfiguration.go and ``resolveMaxPods`` and ``resolveReserved`` in
pkg/providers/instancetype/types.go of Karpenter's AWS provider, 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final

import msgspec

from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.nodeclass import Ec2NodeClass, Kubelet, NodeClassError
from karptui.aws.pod_slots import max_pods
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.karpenter.settings import Settings
from karptui.kube.quantity import QuantityError, parse_quantity
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY

CEL_GATE: Final = "NodeClassCEL"
MOST_PODS: Final = (1 << 31) - 1
_ROUNDED_UP: Final = {CPU: (10, "m"), MEMORY: (16, "Mi"), EPHEMERAL_STORAGE: (1, "Gi")}
"""By resource, the step that a result is rounded up to, and its unit."""


class ExpressionError(ValueError):
    """An expression that does not compile, or has no usable result on a type; says why."""


def is_expression(amount: str) -> bool:
    """Return whether a reserved amount is an expression: whatever is no quantity is."""
    try:
        parse_quantity(amount)
    except QuantityError:
        return True
    return False


def expressions(kubelet: Kubelet) -> dict[str, str]:
    """Return the expressions of ``spec.kubelet`` by their place: ``maxPods``, ``kubeReserved[cpu]``."""
    found = {"maxPods": kubelet.max_pods} if isinstance(kubelet.max_pods, str) else {}
    for field, amounts in (("kubeReserved", kubelet.kube_reserved), ("systemReserved", kubelet.system_reserved)):
        found |= {f"{field}[{key}]": text for key, text in (amounts or {}).items() if is_expression(text)}
    return found


def for_type(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass, settings: Settings) -> Ec2NodeClass:
    """Return the NodeClass as one type sees it: with plain amounts where it has expressions.

    With the gate off expressions count as not set. A reserved amount that fails or is negative is left out.

    Raises:
        NodeClassError: ``maxPods`` has no usable result: Karpenter then finds no types at all.
    """
    is_on = settings.aws_gates.get(CEL_GATE, False)
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
    """Return why the expressions that fail on a type do, by their place; Karpenter then refuses the NodeClass."""
    kubelet, found = nodeclass.kubelet, {}
    plain = _with(nodeclass, max_pods=None) if isinstance(kubelet.max_pods, str) else nodeclass
    pods = max_pods(facts, plain, settings.reserved_enis)
    for place, expression in expressions(kubelet).items():
        try:
            result = evaluate(expression, facts, pods)
            if place == "maxPods":
                plain = _with(nodeclass, max_pods=_checked_pods(result))
                pods = max_pods(facts, plain, settings.reserved_enis)
            elif result < 0:
                found[place] = f"{expression} is {result}: an amount cannot be negative"
        except ExpressionError as error:
            found[place] = str(error)
    return found


def expression_results(facts: InstanceTypeFacts, nodeclass: Ec2NodeClass, settings: Settings) -> dict[str, str]:
    """Return the expressions with what they come to on a type, by their place: ``80m = vcpus * 20``."""
    found = expressions(nodeclass.kubelet)
    if not found or not settings.rules.evaluates_kubelet:
        return {}
    if not settings.aws_gates.get(CEL_GATE, False):
        return {place: f"{text}: not used, {CEL_GATE} is off" for place, text in found.items()}
    try:
        own = for_type(facts, nodeclass, settings).kubelet
    except NodeClassError as error:
        return {"maxPods": str(error)}
    plain: dict[str, object] = {"maxPods": own.max_pods}
    for field, amounts in (("kubeReserved", own.kube_reserved), ("systemReserved", own.system_reserved)):
        plain |= {f"{field}[{key}]": amount for key, amount in (amounts or {}).items()}
    return {
        place: f"{plain[place]} = {text}" if place in plain else f"{text}: no result, the default applies"
        for place, text in found.items()
    }


def evaluate(expression: str, facts: InstanceTypeFacts, pods: int) -> int:
    """Return what an expression comes to on a type, cut to a whole number.

    Raises:
        ExpressionError: It does not compile, or has no result on this type.
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
    """Return why an expression cannot be used on any type, empty where it can."""
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
    found = {}
    for key, text in amounts.items():
        if not is_expression(text):
            found[key] = text
        elif is_on:
            amount = _amount(key, text, facts, pods)
            if amount is not None:
                found[key] = amount
    return found


def _amount(key: str, expression: str, facts: InstanceTypeFacts, pods: int) -> str | None:
    try:
        result = evaluate(expression, facts, pods)
    except ExpressionError:
        return None
    step, unit = _ROUNDED_UP.get(key, (1, ""))
    return None if result < 0 else f"{-(-result // step) * step}{unit}"


@lru_cache(maxsize=256)
def _compiled(expression: str) -> Any:
    """Return the program, or why there is none."""
    from cel_expr_python import cel  # noqa: PLC0415 - 20 ms of native libraries that few clusters need

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
                    cel.Overload(f"{name}_{index}", return_type=result, parameters=[one, two], impl=_as(choose, result))
                    for index, (result, one, two) in enumerate(kinds)
                ],
            )
            for name, choose in (("max", max), ("min", min))
        ],
    )


def _as(choose: Any, result: Any) -> Any:
    from cel_expr_python import cel  # noqa: PLC0415 - as above

    return (lambda one, two: float(choose(one, two))) if result == cel.Type.DOUBLE else choose
