from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.kube.generated_names import stem
from karptui.kube.objects import OwnerReference
from karptui.kube.workload import Workload
from tests.builders import a_pod, a_pod_template, an_owner

CRON = OwnerReference("batch/v1", "CronJob", "nightly", controller=True)
KNOWN = (Workload(name="nightly-29384920", namespace="ci", api_version="batch/v1", kind="Job", owners=(CRON,)),)


def origin(
    name: str,
    kind: str = "",
    owner: str = "",
    *,
    workloads: tuple[Workload, ...] = KNOWN,
    labels: Mapping[str, str] | None = None,
) -> str:
    result = (an_owner(kind=kind, name=owner),) if kind else ()
    pod = a_pod(name=name, template=a_pod_template(namespace="ci", owners=result, labels=labels or {}))
    return OriginIndex(OwnerIndex(workloads)).of(pod)


@pytest.mark.parametrize(("text", "expected"), [
    (origin("front-0", "StatefulSet", "front-5"), "StatefulSet/ci/front-5"),
    (origin("x", "Job", "nightly-29384920"), "CronJob/ci/nightly"),
    (origin("x", "Job", "nightly-29384920", workloads=()), "Job/ci/nightly"),
    (origin("x", "Job", "ci-4711"), "Job/ci/ci"),
    (origin("x", "Job", "migrate"), "Job/ci/migrate"),
    (origin("x", "ReplicaSet", "front-5c9d8b7f6", labels={"pod-template-hash": "5c9d8b7f6"}), "Deployment/ci/front"),
    (origin("x", "ReplicaSet", "front-5c9d", labels={"rollouts-pod-template-hash": "5c9d"}), "Rollout/ci/front"),
    (origin("x", "ReplicaSet", "front-5c9d8b7f6"), "ReplicaSet/ci/front-5c9d8b7f6"),
    (origin("x", "ReplicaSet", "front", labels={"pod-template-hash": "5c9d8b7f6"}), "ReplicaSet/ci/front"),
    (origin("runner-7f2c4"), "Pod/ci/runner"),
    (origin("plain"), "Pod/ci/plain"),
    (origin("x", "EphemeralRunner", "arc-x2-abcd1-runner-z9k2p", labels={"actions.github.com/scale-set-name": "arc"}),
     "EphemeralRunner/ci/arc"),
    (origin("x", "Workflow", "etl-x7k2p", labels={"workflows.argoproj.io/workflow": "etl-x7k2p"}), "Workflow/ci/etl"),
    (origin("x", "TaskRun", "build-run-9", labels={"tekton.dev/pipeline": "build"}), "TaskRun/ci/build"),
    (origin("x", "TaskRun", "build-run-9", labels={"tekton.dev/pipeline": ""}), "TaskRun/ci/build-run"),
])  # fmt: skip
def test_the_first_matching_rule_determines_the_origin(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize(("name", "rest"), [
    ("runner-t1abcdef-project-4711-concurrent-0-x7k2p9aa", "runner"),
    ("runner-t1abcdef-project-4711-concurrent-12", "runner"),
    ("runner-project", "runner-project"),
    ("job-9f3e2a10-1b2c-4d5e-8f90-abcdef012345", "job"),
    ("ci-4711-x7k2p", "ci"),
    ("report-zxkqp", "report"),
    ("report-daily", "report-daily"),
    ("build-v2", "build-v2"),
    ("12345", "12345"),
    ("a-1-2-3", "a"),
])  # fmt: skip
def test_generated_endings(name: str, rest: str) -> None:
    assert stem(name) == rest


def test_origin_is_cached_by_template_without_own_labels() -> None:
    template = a_pod_template(namespace="ci", owners=(an_owner(kind="Workflow", name="etl-x7k2p"),))
    index = OriginIndex(OwnerIndex(()))
    assert [index.of(a_pod(name=name, template=template)) for name in "ab"] == ["Workflow/ci/etl"] * 2
    pod = replace(a_pod(name="c", template=template), own_labels={"dag_id": "nightly"})
    assert index.of(pod) == "Workflow/ci/nightly"
