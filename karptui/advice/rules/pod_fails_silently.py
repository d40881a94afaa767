"""Pending pods that Karpenter never looks at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed
from karptui.kube.pod import Pod

_VOLUME_KINDS: Final = frozenset({"PersistentVolumeClaim", "PersistentVolume", "StorageClass"})
"""Where these may not be listed, a volume that seems to be missing may well be there."""


def _find(context: AdviceContext) -> Iterator[Finding]:
    by_cause: dict[tuple[str, bool], list[Pod]] = {}
    for one in context.prepared.ignored:
        if one.pod.volumes and context.hidden & _VOLUME_KINDS:
            continue
        cause = "; ".join(one.problems)
        by_cause.setdefault((cause, not cause), []).append(one.pod)
    for (cause, is_silent), pods in sorted(by_cause.items()):
        owners = tuple(dict.fromkeys(map(context.owner_of, pods)))
        said = (
            "they ask for karpenter.sh/nodepool DoesNotExist, and as a preference that counts too: neither error nor "
            "event says so"
            if is_silent
            else f"only an event on the pod tells: {cause}"
        )
        yield Finding(
            severity=Severity.WARNING if is_silent else Severity.ERROR,
            objects=owners,
            fact=f"{counted(len(pods), 'pending pod')} ({listed(map(ref_text, owners))}) "
            f"{'is' if len(pods) == 1 else 'are'} passed over by Karpenter; {said}.",
        )


RULE: Final = Rule(
    id="pod-fails-silently",
    title="pending pods passed over",
    what="Unschedulable pods fail Karpenter's validation, or their requirements exclude all NodePools.",
    why="Before it plans, Karpenter drops pods with a required term on kubernetes.io/hostname or another label that it "
    "may not set, with an unknown tenancy or capacity type, or with volumes that cannot be resolved: they get an event "
    "and nothing else. karpenter.sh/nodepool DoesNotExist, even as the heaviest preference, drops a pod without a "
    "word.",
    source="Validate in pkg/controllers/provisioning/provisioner.go",
    remedy="Mend the term or the volume that the event names; take the DoesNotExist term out where Karpenter should "
    "place the pod.",
    find=_find,
)
