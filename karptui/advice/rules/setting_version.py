"""Another version of Karpenter than the one that is modelled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.karpenter.controller import ControllerInfo
from karptui.karpenter.version import is_other_minor
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    version = context.evidence.karpenter_version
    sentence = ControllerInfo(title="", version=version).version_sentence
    if sentence:
        yield Finding(
            severity=Severity.WARNING if is_other_minor(version) else Severity.INFO,
            objects=(ObjectRef("Setting", "version"),),
            fact=f"{sentence}.",
        )


RULE: Final = Rule(
    id="setting-version",
    title="another version is modelled",
    what="Karpenter's metrics, image or labels name another version than the one that karptui models.",
    why="Everything that is worked out here follows the source of one version of Karpenter. Rules change between minor "
    "versions: when a node counts as empty, the order of candidates, which gates there are.",
    source="pkg/operator/operator.go for the version that it reports, and the tags of Karpenter's repository",
    remedy="Read verdicts of another minor version with care, and check surprising ones against Karpenter's events.",
    find=_find,
)
