from __future__ import annotations

import msgspec
import pytest

from karptui.forward.durations import kind_of
from karptui.forward.result import StepKind
from karptui.kube.pod import Pod
from karptui.kube.timestamps import NS_PER_SECOND
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_pod, an_owner
from tests.forward.making import a_pair, a_world, played, seconds, steps


def a_job_pod(job: str, *, started_ns: int, ended_ns: int = 0, node: str = "node-1") -> Pod:
    pod = a_pod(name=f"{job}-x2k4p", node=node, cpu="1800m", owner=an_owner(kind="Job", name=job))
    phase = "Succeeded" if ended_ns else "Running"
    return msgspec.structs.replace(pod, start_ns=started_ns, ended_ns=ended_ns, phase=phase, ready=not ended_ns)


def ended(*minutes: int) -> list[Pod]:
    start_ns = NOW_NS - 10 * HOUR_NS
    return [
        a_job_pod(f"etl-2991{i}", started_ns=start_ns, ended_ns=start_ns + took * MINUTE_NS)
        for i, took in enumerate(minutes)
    ]


@pytest.mark.parametrize(
    ("job", "kind"),
    [("etl-29919555gd", "etl"), ("ci-4709", "ci"), ("load-test-2-77ab1", "load-test"), ("migrate", "migrate")],
)
def test_jobs_of_a_kind_differ_in_the_end_of_their_names(job: str, kind: str) -> None:
    assert kind_of(a_job_pod(job, started_ns=NOW_NS)) == f"default/{kind}"


def test_a_pod_ends_after_the_median_of_its_kind_and_frees_its_node() -> None:
    running = a_job_pod("etl-29955", started_ns=NOW_NS - 5 * MINUTE_NS)
    forecast = played(a_world(a_pair("node-1"), pods=[*ended(10, 20, 60), running]))
    (ends,) = steps(forecast, StepKind.JOB_ENDS)
    assert (seconds(ends), ends.pods, ends.nodes) == (15 * 60, ("default/etl-29955-x2k4p",), ("node-1",))
    (deleted,) = steps(forecast, StepKind.DISRUPT)
    assert (deleted.method, deleted.evictions) == ("Emptiness", 0)
    assert deleted.at_ns > ends.at_ns
    assert forecast.end.nodes == 0
    assert any("default/etl 20m" in assumption for assumption in forecast.assumptions)
    assert not any("Jobs" in text for text in forecast.not_modelled)


def test_one_that_is_moved_begins_anew() -> None:
    running = a_job_pod("etl-29955", started_ns=NOW_NS - 5 * MINUTE_NS)
    pair = a_pair("node-1", expire_after_ns=HOUR_NS + 60 * NS_PER_SECOND)
    forecast = played(a_world(pair, pods=[*ended(10, 20, 60), running]))
    (ends,) = steps(forecast, StepKind.JOB_ENDS)
    bound = steps(forecast, StepKind.BIND)[-1]
    assert ends.at_ns == bound.at_ns + 10 * NS_PER_SECOND + 20 * MINUTE_NS


def test_where_too_few_have_ended_they_run_on_and_that_is_said() -> None:
    running = a_job_pod("etl-29955", started_ns=NOW_NS)
    forecast = played(a_world(a_pair("node-1"), pods=[*ended(10, 20), running]))
    assert forecast.steps == ()
    text = "1 pod of Jobs runs to the end of the forecast: their durations are not known"
    assert forecast.not_modelled[0] == text
