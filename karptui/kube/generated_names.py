"""Names whose endings were generated: by ``generateName``, CI systems, workflow engines, CronJobs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

ORIGIN_LABELS: Final = (
    "actions.github.com/scale-set-name",
    "runner-deployment-name",
    "workflows.argoproj.io/cron-workflow",
    "workflows.argoproj.io/workflow",
    "tekton.dev/pipeline",
    "tekton.dev/task",
    "jenkins/label",
    "sparkoperator.k8s.io/app-name",
    "dag_id",
)
"""Actions Runner Controller (scale sets, then runner deployments), Argo Workflows, Tekton, Jenkins, Spark, Airflow."""
TEMPLATE_HASHES: Final[Mapping[str, str]] = {"pod-template-hash": "Deployment", "rollouts-pod-template-hash": "Rollout"}
"""Labels whose value a kind of owner appends to the names of its ReplicaSets: ``<deployment>-<hash>``."""
WRITTEN_KINDS: Final = frozenset(
    {
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "CronJob",
        "ReplicationController",
        "Node",
        "Rollout",
        "DeploymentConfig",
    }
)
"""Kinds whose objects are named by users."""
_GITLAB: Final = re.compile(r"^(runner)-.+-project-\d+-concurrent-\d+(-[a-z0-9]+)?$")
_UUID: Final = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_GENERATED: Final = re.compile(
    r"-(\d+"  # a number: a CronJob's minute, an index, a pipeline
    r"|[bcdfghjklmnpqrstvwxz2456789]{5}"  # generateName
    r"|(?=[a-z0-9]*\d)[a-z0-9]{5,}"  # a hash: letters and at least one digit
    r")$"
)


def written_owner(kind: str, name: str, labels: Mapping[str, str]) -> tuple[str, str]:
    """Return kind and name of a pod's owner as users know it: the Deployment or Argo Rollout of a ReplicaSet.

    Args:
        labels: The pod's.
    """
    for label, owner in TEMPLATE_HASHES.items() if kind == "ReplicaSet" else ():
        if labels.get(label) and name.endswith(f"-{labels[label]}"):
            return owner, name.removesuffix(f"-{labels[label]}")
    return kind, name


def stem(name: str) -> str:
    """Return a name without generated endings; its first part always remains.

    >>> stem("runner-t1abcdef-project-4711-concurrent-0-x7k2p9aa")
    'runner'
    >>> stem("nightly-report-29384920")
    'nightly-report'
    """
    if (match := _GITLAB.match(name)) is not None:
        return match[1]
    shorter = _UUID.sub("", name)
    while (cut := _GENERATED.sub("", shorter)) != shorter:
        shorter = cut
    return shorter
