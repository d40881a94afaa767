"""Quick edits that are not text: settings, scale, copies, outages, nodes and objects that go."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from karptui.karpenter.rules import MODELLED, NEWEST, VERSION_SETTING
from karptui.karpenter.settings import DEFAULTS, GATE_DEFAULTS, MIN_VALUES_POLICIES, PREFERENCE_POLICIES
from karptui.whatif.edits import (
    AnyEdit,
    CopyPod,
    CordonNode,
    DeleteObject,
    ObjectRef,
    RemoveNode,
    ScaleWorkload,
    SetSetting,
    TakeOut,
)
from karptui.whatif.quick_edits.fields import Input, refuse

_TRUTH: Final = ("true", "false")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingEdit:
    """One of Karpenter's settings."""

    name: str
    """As in ``SetSetting``."""
    title: str
    input: Input
    choices: tuple[str, ...] = ()
    stride: float = 0
    """Size of a step."""
    hint: str = ""

    @property
    def default(self) -> str:
        """Karpenter's default."""
        return NEWEST.version if self.name == VERSION_SETTING else DEFAULTS.texts()[self.name]

    def fault(self, text: str) -> str:
        """Return an error message for a value, empty if valid."""
        if self.choices:
            return "" if text in self.choices else f"must be {' or '.join(self.choices)}"
        if self.name == "RESERVED_ENIS":
            return "" if re.fullmatch(r"[0-9]{1,4}", text) else "must be a whole number of at least 0"
        if self.input is Input.DURATION:
            return (
                "" if re.fullmatch(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+", text) else "must be a duration such as 10s"
            )
        return "" if re.fullmatch(r"0?\.[0-9]+|0|[0-9]\.[0-9]+", text) else "must be a share such as 0.075"

    def step(self, text: str, direction: int) -> str:
        """Give the value one step up or down; choices go round."""
        if self.choices:
            at = self.choices.index(text) if text in self.choices else -1
            return self.choices[(at + direction) % len(self.choices)]
        if self.fault(text) or not self.stride:
            return self.default
        return f"{max(0.0, float(text) + direction * self.stride):.10g}"

    def edit(self, text: str) -> SetSetting:
        """Make the edit."""
        if sentence := self.fault(text):
            raise refuse(f"{self.name} {sentence}")
        return SetSetting(self.name, text)


SETTING_EDITS: Final[tuple[SettingEdit, ...]] = (
    SettingEdit(
        name=VERSION_SETTING,
        title="Karpenter",
        input=Input.CHOICE,
        choices=tuple(rules.version for rules in MODELLED),
        hint="the version whose rules apply: the effect of an upgrade",
    ),
    SettingEdit(
        name="VM_MEMORY_OVERHEAD_PERCENT",
        title="VM overhead",
        input=Input.NUMBER,
        stride=0.005,
        hint="share of a type's memory that its instances do not have",
    ),
    SettingEdit(
        name="RESERVED_ENIS",
        title="reserved ENIs",
        input=Input.NUMBER,
        stride=1,
        hint="network interfaces that are not for pods",
    ),
    SettingEdit(
        name="PREFERENCE_POLICY",
        title="preferences",
        input=Input.CHOICE,
        choices=PREFERENCE_POLICIES,
        hint="whether preferred affinities count",
    ),
    SettingEdit(
        name="MIN_VALUES_POLICY",
        title="minValues",
        input=Input.CHOICE,
        choices=MIN_VALUES_POLICIES,
        hint="whether minValues may be missed",
    ),
    SettingEdit(name="IGNORE_DRA_REQUESTS", title="ignore DRA requests", input=Input.CHOICE, choices=_TRUTH),
    SettingEdit(name="BATCH_MAX_DURATION", title="batch at most", input=Input.DURATION),
    *(
        SettingEdit(
            name=f"FEATURE_GATES.{gate}",
            title=f"gate {gate}",
            input=Input.CHOICE,
            choices=_TRUTH,
        )
        for gate in GATE_DEFAULTS
    ),
)
"""Karpenter's settings that change decisions, in display order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickAction:
    """An edit of something that is in the cluster, made from the object in focus and a number or name."""

    id: str
    title: str
    kinds: frozenset[str]
    """Kinds of the focused object; empty if none is needed."""
    asks: tuple[tuple[str, str], ...]
    """Questions: names with titles; an empty answer is allowed if the title ends in ``(any)``."""
    make: Callable[[ObjectRef, Mapping[str, str]], tuple[AnyEdit, ...]]
    """Makes the edits from the focused object and the answers; raises ``EditRefusedError`` with a message."""


def take_out(_: ObjectRef, answers: Mapping[str, str]) -> tuple[AnyEdit, ...]:
    """Make offerings unavailable: instance type, zone and capacity type in one line, in any order.

    A part of a type's name, such as ``flex`` or ``m5``, matches every type that contains it.
    """
    patterns: dict[str, str] = {}
    for word in answers.get("offerings", "").split():
        sort = "capacity type" if word in _CAPACITY_TYPES else "zone" if _ZONE.fullmatch(word) else "instance type"
        if sort in patterns:
            raise refuse(f"{word}: {patterns[sort]} is already the {sort}; remove others separately")
        is_part = sort == "instance type" and "." not in word and "*" not in word
        patterns[sort] = f"*{word}*" if is_part else word
    if not patterns:
        raise refuse("name an instance type, a zone or a capacity type: without one every offering would be removed")
    return (TakeOut(patterns.get("instance type", ""), patterns.get("zone", ""), patterns.get("capacity type", "")),)


def _count(answers: Mapping[str, str], name: str, *, low: int) -> int:
    text = answers.get(name, "").strip()
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) < low:
        raise refuse(f"must be a whole number of at least {low}")
    return int(text)


_CAPACITY_TYPES: Final = frozenset({"spot", "on-demand", "reserved"})
_ZONE: Final = re.compile(r"[a-z]{2,}(-[a-z0-9]+)*-[0-9][a-z]|[a-z]+[0-9]-az[0-9]+|[a-z]+-[a-z]+[0-9]-[a-z]")
"""As AWS, and other clouds, name zones."""
_SCALED: Final = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "Job"})
QUICK_ACTIONS: Final[tuple[QuickAction, ...]] = (
    QuickAction(
        id="scale",
        title="scale to n",
        kinds=_SCALED,
        asks=(("replicas", "replicas"),),
        make=lambda ref, answers: (ScaleWorkload(ref, _count(answers, "replicas", low=0)),),
    ),
    QuickAction(
        id="copies",
        title="add n pods like this",
        kinds=frozenset({"Pod"}),
        asks=(("count", "pods"),),
        make=lambda ref, answers: (CopyPod(ref, _count(answers, "count", low=1)),),
    ),
    QuickAction(
        id="outage",
        title="take an offering or zone out",
        kinds=frozenset(),
        asks=(("offerings", "instance types, zone, capacity type: m5.* us-east-1a spot, or a part: flex"),),
        make=take_out,
    ),
    QuickAction(
        id="remove-node",
        title="remove this node",
        kinds=frozenset({"Node"}),
        asks=(),
        make=lambda ref, _: (RemoveNode(ref.name),),
    ),
    QuickAction(
        id="cordon",
        title="cordon this node",
        kinds=frozenset({"Node"}),
        asks=(),
        make=lambda ref, _: (CordonNode(ref.name),),
    ),
    QuickAction(
        id="delete",
        title="delete this object",
        kinds=frozenset({"PodDisruptionBudget", "NodePool", "DaemonSet", "Deployment", "StatefulSet", "Job", "Pod"}),
        asks=(),
        make=lambda ref, _: (DeleteObject(ref),),
    ),
)
"""Edits outside the documents, in display order."""
