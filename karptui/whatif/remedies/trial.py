"""A change to be tried on the engine; where it has a size, from the gentlest to the strongest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from karptui.kube.pod import Pod
from karptui.provisioning import PodExplanation, Prepared
from karptui.whatif.edits import AnyEdit, ObjectRef, SetField
from karptui.whatif.remedies.remedy import RemedyKind
from karptui.whatif.situation import WhatIfBase


class Step(NamedTuple):
    """A change of one size."""

    words: str
    """What to do, in words that hold for all pods."""
    edits: tuple[AnyEdit, ...]


class Trial(msgspec.Struct, frozen=True):
    """A change, in one size or several of which a stronger one never places fewer pods."""

    kind: RemedyKind
    subject: str
    """The object it changes: ``NodePool general``, ``the pods``, ``Karpenter's settings``."""
    steps: tuple[Step, ...]
    """The gentlest first."""
    guess: int | None = None
    """Position of the step that is likely the gentlest that helps."""


class Question(NamedTuple):
    """Pods that find no place, and why."""

    base: WhatIfBase
    pods: tuple[Pod, ...]
    """Pods that no rule tells apart."""
    explanation: PodExplanation | None
    """Of the first of them; None where Karpenter does not look at it."""

    @property
    def prepared(self) -> Prepared:
        """The cluster, made ready for runs."""
        return self.base.prepared

    @property
    def siblings(self) -> tuple[Pod, ...]:
        """The pods and all others that wait and are made of the same template: it changes for all of them."""
        asked = {pod.uid for pod in self.pods}
        template = self.first.template
        others = (pod for pod in self.prepared.pending if pod.template is template and pod.uid not in asked)
        return (*self.pods, *others)

    @property
    def first(self) -> Pod:
        """The pod that stands for all."""
        return self.pods[0]


def set_fields(pods: Iterable[Pod], make: Callable[[Pod], tuple[tuple[str | int, ...], Any]]) -> tuple[AnyEdit, ...]:
    """Return an edit of one field for each pod.

    Args:
        pods: The pods.
        make: Gives path and value for a pod.
    """
    return tuple(SetField(ref_of(pod), *make(pod)) for pod in pods)


def ref_of(pod: Pod) -> ObjectRef:
    """Return a reference to a pod."""
    return ObjectRef("Pod", pod.name, pod.namespace)


def once(kind: RemedyKind, subject: str, words: str, edits: Iterable[AnyEdit]) -> Trial:
    """Return a change of a single size."""
    return Trial(kind, subject, (Step(words, tuple(edits)),))
