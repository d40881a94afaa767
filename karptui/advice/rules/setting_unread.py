"""Settings that Karpenter passes over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    for name in context.settings.unread:
        value = context.settings.environment.get(name, "")
        yield Finding(
            severity=Severity.WARNING,
            objects=(ObjectRef("Setting", name),),
            fact=f'{name} is "{value}", which Karpenter cannot read: it takes the default and says nothing.',
        )


RULE: Final = Rule(
    id="setting-unread",
    title="a setting that is not read",
    what="An environment variable of the controller has text that is no number, boolean or duration.",
    why="Numbers, booleans and durations that cannot be parsed leave the default in force, without a message.",
    source="pkg/utils/env/env.go",
    remedy="Write it as Karpenter reads it: 0.075, true, 30s.",
    find=_find,
)
