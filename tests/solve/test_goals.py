from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.prices import NodePrices, PriceSettings
from karptui.errors import RequestError
from karptui.kube.taints import Taint
from karptui.provisioning.reporter import Cancelled
from karptui.solve.answer import Figures, Solved, Tried, commands_text, manifests_text, ranked
from karptui.solve.goals import pending
from karptui.solve.question import LESS_MEMORY, composed
from karptui.solve.run import solve_goal
from karptui.views.column import plain
from karptui.views.solve import REPORT, headline, markdown_lines, text_lines
from karptui.whatif.edits import AnyEdit, ObjectRef, SetField, SetSetting
from karptui.whatif.edits.apply import apply
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay, Scenario, read_scenarios, write_scenarios
from karptui.whatif.situation import TypesResult, WhatIfBase
from tests.builders import NOW_NS, a_pod, a_requirement, amounts, an_instance_type, present
from tests.whatif.remedies.asking import a_base, a_pool

SCENARIO = "name: x\nedits:\n- edit: set\n  object: NodePool/second\n"
FAMILY = "karpenter.k8s.aws/instance-family"


def a_type(name: str, cpu: str, price: float, memory: str = "64Gi") -> Any:
    family = a_requirement(FAMILY, "In", name.partition(".")[0])
    return an_instance_type(name=name, cpu=cpu, memory=memory, prices={"on-demand": price}, requirements=(family,))


def solved(base: WhatIfBase, goal: str, **given: str) -> Solved:
    return solve_goal(base, goal, {name.replace("_", "-"): value for name, value in given.items()})


def unpriced(base: WhatIfBase) -> WhatIfBase:
    """Return the same cluster with prices off."""
    off = NodePrices(settings=PriceSettings(is_disabled=True))
    return WhatIfBase(base.inventory, base.types_for, base.settings, NOW_NS, prices=off)


def price(base: WhatIfBase, edits: tuple[AnyEdit, ...], mode: Replay) -> float:
    return sum(figures.price_per_hour for figures in replay(apply(base, edits), mode).pools.values())


# Nothing pending


def test_a_search_may_start_from_a_scenario_and_its_answer_includes_it() -> None:
    types = (a_type("m5.large", "2", 0.1), a_type("c5.4xlarge", "16", 0.7))
    small = a_pool(name="small", requirements=(a_requirement(FAMILY, "In", "m5"),))
    labelled = a_pod(name="gold", cpu="1", node_selector={"tier": "gold"})
    base = a_base(labelled, a_pod(name="large", cpu="8"), pools=(small,), types=types)
    whole = solved(base, "pending")
    assert len(present(whole.best).parts) == 2
    first = Scenario("larger", edits=present(whole.best).edits[:1])
    answer = solve_goal(base, "pending", {}, on_top_of=first)
    assert len(present(answer.best).parts) == 1
    assert answer.now.pending == 1
    assert answer.scenario.edits == (*first.edits, *present(answer.best).edits)
    assert not replay(apply(base, answer.scenario.edits), Replay.PENDING).unplaced
    assert headline(answer).startswith("on top of larger: NodePool small: ")
    assert plain(REPORT, answer)["onTopOf"] == "larger"


def test_nothing_pending_needs_no_change() -> None:
    answer = solved(a_base(a_pod(name="a", cpu="1")), "pending")
    assert (answer.is_reached, answer.best, answer.effort.tried) == (True, None, 0)
    assert headline(answer) == "nothing has to change: every pod is scheduled or will be without a change"


def test_two_kinds_of_pods_need_a_set_of_changes_and_the_cheapest_wins() -> None:
    types = (a_type("m5.large", "2", 0.1), a_type("c5.4xlarge", "16", 0.7), a_type("r5.4xlarge", "16", 1.0))
    small = a_pool(name="small", requirements=(a_requirement(FAMILY, "In", "m5"),))
    tainted = a_pool(
        name="tainted", requirements=(a_requirement(FAMILY, "In", "r5"),), taints=(Taint("team", "NoSchedule", "a"),)
    )
    labelled = a_pod(name="gold", cpu="1", node_selector={"tier": "gold"})
    large = a_pod(name="large", cpu="8")
    base = a_base(labelled, large, pools=(small, tainted), types=types)
    answer = solved(base, "pending")
    assert answer.is_reached
    assert answer.best is not None
    assert set(answer.best.parts) == {
        "NodePool small: give its nodes the label tier=gold",
        "NodePool small: allow instance-family c5",
    }
    assert answer.best.figures.pending == 0
    assert answer.best.figures.price_per_hour == pytest.approx(price(base, answer.best.edits, Replay.PENDING))
    assert answer.runner_up is not None
    assert answer.runner_up.why_not == "costs $0.40/h more"
    assert answer.effort.tried == answer.effort.all
    # No combination of the single changes leaves nothing pending at a lower cost.
    singles = [tried for tried in (answer.runner_up, *answer.others) if len(tried.parts) == 1]
    for size in (1, 2):
        for chosen in combinations(singles, size):
            edits = composed(base, [tried.edits for tried in chosen])
            outcome = replay(apply(base, edits or ()), Replay.PENDING)
            assert outcome.unplaced or price(base, edits or (), Replay.PENDING) >= answer.best.figures.price_per_hour


def test_a_limit_rises_by_what_all_pods_need() -> None:
    pool = a_pool(name="general", limits=amounts({"cpu": "4"}))
    pods = (a_pod(name="a", cpu="3500m"), a_pod(name="b", cpu="3500m", labels={"app": "b"}), a_pod(name="c", cpu="3"))
    answer = solved(a_base(*pods, pools=(pool,)), "pending")
    assert answer.is_reached
    assert present(answer.best).edits == (SetField(ObjectRef("NodePool", "general"), ("spec", "limits", "cpu"), "12"),)
    assert present(answer.best).parts == ("NodePool general: raise its limit of cpu from 4 to 12",)


def test_pods_are_changed_only_if_nothing_else_helps_and_it_is_allowed() -> None:
    pod = a_pod(name="huge", cpu="500")
    base = a_base(pod)
    answer = solved(base, "pending")
    assert present(answer.best).words.startswith("pods default/huge: request at most")
    kept = solved(base, "pending", change="karpenter")
    assert (kept.is_reached, kept.best) == (False, None)
    assert headline(kept).startswith("not reached: no single change")
    assert kept.effort.not_tried[-1] == "1 change to the pods themselves or to DaemonSets"


# Overhead


def overhead_base(*pods: Any) -> WhatIfBase:
    """Return a cluster with one instance type, which has 64Gi times (1 - overhead percent) of memory."""
    pool = a_pool(name="general")
    given = a_base(*pods, pools=(pool,))

    def types_for(_: Any, settings: Any) -> TypesResult:
        left = int(64 * 1024 * (1 - settings.vm_memory_overhead_percent))
        return TypesResult((a_type("m5.4xlarge", "16", 0.8, memory=f"{left}Mi"),))

    return WhatIfBase(given.inventory, types_for, given.settings, NOW_NS)


def test_the_highest_overhead_equals_that_of_trying_all_values() -> None:
    base = overhead_base(a_pod(name="big", cpu="1", memory="56Gi"), a_pod(name="small", cpu="1", memory="1Gi"))
    answer = solved(base, "overhead")
    (edit,) = present(answer.best).edits
    assert isinstance(edit, SetSetting)
    highest = round(float(edit.value) * 1000)
    assert highest == 125

    def waits(percent: int) -> bool:
        setting = (SetSetting("VM_MEMORY_OVERHEAD_PERCENT", f"{percent / 1000:g}"),)
        return bool(replay(apply(base, setting), Replay.PENDING).unplaced)

    near = range(75, 175)
    assert max(percent for percent in near if not waits(percent)) == highest
    assert present(answer.runner_up).why_not == "leaves 1 pod unschedulable that fit today: default/big"
    assert answer.effort.is_monotone


def test_the_risk_of_less_overhead_is_in_the_first_sentence() -> None:
    answer = solved(overhead_base(a_pod(name="big", cpu="1", memory="60Gi")), "pending")
    assert present(answer.best).parts[0].startswith("VM_MEMORY_OVERHEAD_PERCENT 0.0")
    assert "risk: new nodes may have less memory than Karpenter then assumes" in headline(answer)
    assert plain(REPORT, answer)["risk"] == answer.risk


NOW = Figures(pending=1, nodes=1, price_per_hour=1.0)


def test_a_risky_change_ranks_below_a_more_expensive_safe_one() -> None:
    def change(words: str, price: float, edit: AnyEdit) -> Tried:
        figures = Figures(pending=0, nodes=1, price_per_hour=price)
        return Tried(parts=(words,), outcome="nothing pending", edits=(edit,), figures=figures, is_enough=True)

    risky = change("overhead 0.01", 1.0, SetSetting("VM_MEMORY_OVERHEAD_PERCENT", "0.01"))
    safe = change("raise its limit", 1.5, SetField(ObjectRef("NodePool", "a"), ("spec", "limits", "cpu"), "9"))
    best, runner_up, _ = ranked((risky, safe), pending.criteria_of(NOW, has_prices=True))
    assert best is safe
    assert runner_up is not None
    assert (runner_up.parts, runner_up.why_not) == (risky.parts, f"is a risk: {LESS_MEMORY}")


@pytest.mark.parametrize(("now", "drifting", "calm", "best", "why"), [
    (30.0, 39.09, 39.15, "calm", "drifts 43 nodes to save $0.06/h"),
    (30.0, 39.09, 39.20, "drifting", "costs $0.11/h more"),
    (30.0, 39.0, 38.95, "calm", "costs $0.05/h more"),
    (1000.0, 1030.0, 1030.3, "calm", "drifts 43 nodes to save $0.30/h"),
    (1000.0, 1001.0, 1001.3, "drifting", "costs $0.30/h more"),
])  # fmt: skip
def test_less_drift_wins_among_equal_changes(now: float, drifting: float, calm: float, best: str, why: str) -> None:
    """Costs count as equal within $0.10/h, or within 1% of the cost that the cheapest change adds."""

    def change(name: str, price: float, drifts: int) -> Tried:
        figures = Figures(pending=0, nodes=1, price_per_hour=price, drifts=drifts)
        edits = (SetField(ObjectRef("NodePool", name), ("spec", "weight"), 9),)
        return Tried(parts=(name,), outcome="nothing pending", edits=edits, figures=figures, is_enough=True)

    tried = (change("drifting", drifting, 43), change("calm", calm, 0), change("dearest", calm + 50, 0))
    result, runner_up, _ = ranked(tried, pending.criteria_of(replace(NOW, price_per_hour=now), has_prices=True))
    assert result is not None
    assert runner_up is not None
    assert (result.words, runner_up.why_not) == (best, why)


def test_an_overhead_may_be_limited_by_its_additional_cost() -> None:
    pods = [a_pod(name=f"p{index}", cpu="1", memory="14Gi") for index in range(4)]
    free, bounded = (solved(overhead_base(*pods), "overhead", **given) for given in ({}, {"dearer_by": "0%"}))
    assert present(bounded.best).figures.price_per_hour == pytest.approx(bounded.now.price_per_hour)
    assert present(free.best).figures.price_per_hour > free.now.price_per_hour
    assert "more from scratch" in present(bounded.runner_up).why_not
    without = solved(unpriced(overhead_base(*pods)), "overhead", dearer_by="0%")
    assert present(without.runner_up).why_not == "costs more from scratch"
    assert "cheapest" not in headline(without)


def test_a_dollar_sign_in_a_pod_name_is_not_treated_as_a_price() -> None:
    answer = solved(unpriced(overhead_base(a_pod(name="big$5", cpu="1", memory="56Gi"))), "overhead")
    assert present(answer.runner_up).why_not == "leaves 1 pod unschedulable that fit today: default/big$5"


# Weight


def weighed(**weights: int) -> tuple[Any, ...]:
    return tuple(a_pool(name=name, weight=weight) for name, weight in weights.items())


def test_the_smallest_change_of_order_that_moves_pods_to_a_pool_wins() -> None:
    pods = (a_pod(name="web-1", cpu="1"), a_pod(name="web-2", cpu="1"))
    answer = solved(
        a_base(*pods, pools=weighed(first=50, second=20, third=10)), "weight", pods="default/web-*", nodepool="second"
    )
    assert answer.is_reached
    assert answer.best is not None
    assert answer.best.words == "NodePool second: weight 51"
    assert answer.replay is Replay.PENDING
    assert answer.best.figures.wanted == 2
    assert headline(answer).startswith("NodePool second: weight 51: all 2 pods land on second, the same $/h; runner-up")
    answer = solved(a_base(a_pod(name="web"), pools=weighed(z=100, a=100)), "weight", pods="default/web", nodepool="a")
    assert present(answer.best).words == "NodePool z: weight 99"


def test_the_order_that_moves_fewest_other_pods_wins() -> None:
    tolerant = a_pod(name="web", cpu="1", node_selector={"tier": "gold"})
    other = a_pod(name="other", cpu="1")
    gold = [
        a_pool(name=name, weight=weight, template_labels={"tier": "gold"}) for name, weight in (("b", 50), ("c", 10))
    ]
    base = a_base(tolerant, other, pools=(*gold, a_pool(name="plain", weight=60)))
    answer = solved(base, "weight", pods="default/web", nodepool="c")
    assert present(answer.best).figures.moved == 0
    assert present(answer.best).words == "NodePool c: weight 51"
    assert present(answer.runner_up).why_not == "1 other pod moves to another NodePool"


def test_pods_that_cannot_or_already_do_land_on_the_pool() -> None:
    pools = (a_pool(name="a"), a_pool(name="b", taints=(Taint("team", "NoSchedule", "x"),)))
    answer = solved(a_base(a_pod(name="web"), pools=pools), "weight", pods="default/*", nodepool="b")
    assert (answer.is_reached, answer.best) == (False, None)
    assert "with b as the only NodePool 1 pod is unschedulable, such as default/web" in answer.because
    assert "team=x:NoSchedule" in answer.because
    answer = solved(a_base(a_pod(name="web"), pools=weighed(a=5, b=1)), "weight", pods="default/web", nodepool="a")
    assert (answer.is_reached, answer.best) == (True, None)
    assert answer.because == "the pod lands on a without a change"


# Families

FAMILIES = (
    a_type("m5.large", "2", 0.10),
    a_type("m6a.large", "2", 0.08),
    a_type("c6a.large", "2", 0.09, memory="4Gi"),
    a_type("r6a.4xlarge", "16", 0.40, memory="256Gi"),
    a_type("x1.large", "2", 0.90),
)


def test_families_equal_those_found_by_trying_every_set() -> None:
    pool = a_pool(name="general", requirements=(a_requirement(FAMILY, "In", "m5"),))
    pods = [a_pod(name=f"p{index}", cpu="1500m", memory="6Gi") for index in range(3)]
    base = a_base(*pods, pools=(pool,), types=FAMILIES)
    answer = solved(base, "families", nodepool="general")
    path = ("spec", "template", "spec", "requirements", 0, "values")
    others = ("m6a", "c6a", "r6a", "x1")
    every = {
        chosen: price(base, (SetField(ObjectRef("NodePool", "general"), path, ["m5", *chosen]),), Replay.SCRATCH)
        for size in (1, 2, 3)
        for chosen in combinations(others, size)
    }
    assert present(answer.best).figures.price_per_hour == pytest.approx(min(every.values()))
    fewest = min(len(chosen) for chosen, value in every.items() if value == pytest.approx(min(every.values())))
    assert len(present(answer.best).parts) == fewest
    assert answer.effort.tried == answer.effort.all == 14
    assert headline(answer).startswith("NodePool general: allow m6a: 3 nodes as now, $0.06/h less on an empty cluster")


def test_without_prices_the_headline_names_the_criterion_of_the_best_answer() -> None:
    pool = a_pool(name="general", requirements=(a_requirement(FAMILY, "In", "m5"),))
    pods = [a_pod(name=f"p{index}", cpu="1500m", memory="6Gi") for index in range(3)]
    answer = solved(unpriced(a_base(*pods, pools=(pool,), types=FAMILIES)), "families", nodepool="general")
    assert headline(answer).startswith(
        "NodePool general: allow m6a: 3 nodes as now, the cheapest change tried, by Karpenter's prices; "
    )
    assert not any("$" in line for line in text_lines("x", answer))
    document = plain(REPORT, answer)
    for item in (document["now"], document["answer"]["figures"], document["others"][0]["figures"]):
        assert (item["pricePerHour"], item["unpriced"]) == (None, item["nodes"])


@pytest.mark.parametrize(("nodes", "unpriced", "price"), [(2, 2, None), (2, 1, 0.0), (0, 0, 0.0)])
def test_the_price_of_nodes_is_null_if_none_has_one(nodes: int, unpriced: int, price: float | None) -> None:
    answer = solved(a_base(pools=(a_pool(),)), "pending")
    figures = Figures(pending=0, nodes=nodes, unpriced=unpriced, price_per_hour=0.0)
    assert plain(REPORT, replace(answer, now=figures, has_prices=True))["now"]["pricePerHour"] == price


def test_no_family_lowers_the_cost() -> None:
    pool = a_pool(name="general", requirements=(a_requirement(FAMILY, "In", "m6a"),))
    base = a_base(a_pod(name="a", cpu="1"), pools=(pool,), types=FAMILIES)
    answer = solved(base, "families", nodepool="general")
    assert (answer.is_reached, answer.best) == (False, None)
    assert answer.because == "none of 4 families makes it cheaper"
    free = solved(a_base(a_pod(name="a"), types=FAMILIES), "families", nodepool="general")
    assert "no requirement of general alone keeps a family out" in free.because


# All goals


@pytest.mark.parametrize(("goal", "given", "says"), [
    ("fly", {}, "there is no goal fly; there are pending, overhead, weight, families, consolidate-after"),
    ("pending", {"nodepool": "general"}, "pending: there is no nodepool; it takes change, tries"),
    ("pending", {"tries": "0"}, "tries: '0' is not a number from 1 to 5,000"),
    ("pending", {"tries": "²"}, "is not a number"),
    ("pending", {"change": "me"}, "change: 'me' is neither any nor karpenter"),
    ("overhead", {}, "instance types came with the snapshot"),
    ("weight", {"pods": "a/b"}, "weight: nodepool is missing"),
    ("weight", {"pods": "a/b", "nodepool": "general"}, "no pod that Karpenter would place is 'a/b'"),
    ("weight", {"pods": "a/b", "nodepool": "x"}, "NodePool 'x' does not exist; there are general"),
    ("families", {"nodepool": "general", "replay": "next"}, "replay: 'next' is neither scratch nor pending"),
    ("consolidate-after", {}, "consolidate-after: evictions is missing"),
    ("consolidate-after", {"evictions": "few"}, "evictions: 'few' is not a number"),
])  # fmt: skip
def test_invalid_goals_are_refused(goal: str, given: dict[str, str], says: str) -> None:
    with pytest.raises(RequestError, match=says.replace("(", r"\(")):
        solve_goal(a_base(a_pod(name="a")), goal, given)


def test_invalid_shares_are_refused() -> None:
    with pytest.raises(RequestError, match="dearer-by: 'much' is not a share"):
        solved(overhead_base(), "overhead", dearer_by="much")


def test_a_search_reports_progress_and_can_be_cancelled() -> None:
    pool = a_pool(name="general", requirements=(a_requirement(FAMILY, "In", "m5"),))
    base = a_base(a_pod(name="a"), pools=(pool,), types=FAMILIES)
    told: list[tuple[int, int]] = []

    def reporter(done: int, total: int) -> None:
        told.append((done, total))
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        solve_goal(base, "families", {"nodepool": "general"}, reporter)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (3, 200)


def test_the_answer_is_available_as_scenario_manifests_and_commands() -> None:
    base = a_base(a_pod(name="web", cpu="1"), pools=weighed(first=50, second=20))
    answer = solved(base, "weight", pods="default/web", nodepool="second")
    (scenario,) = read_scenarios(write_scenarios([answer.scenario]), "written")
    assert scenario == answer.scenario
    assert scenario.edits == (SetField(ObjectRef("NodePool", "second"), ("spec", "weight"), 51),)
    assert "  weight: 51\n" in manifests_text(base, answer)
    assert """kubectl patch nodepools.karpenter.sh second --type merge -p '{"spec": {"weight": 51}}'""" in (
        commands_text(base, answer)
    )
    same = solved(base, "weight", pods="default/web", nodepool="second")
    assert plain(REPORT, same) == plain(REPORT, answer)
    lines = list(text_lines("cluster", answer))
    assert lines[1:3] == ["  Change", "    NodePool second: weight 51"]
    assert any(line.endswith("object: NodePool/second") for line in markdown_lines("c", answer, SCENARIO))


# Several changes as one


def pool_edit(path: tuple[str | int, ...], value: Any) -> tuple[AnyEdit, ...]:
    return (SetField(ObjectRef("NodePool", "general"), path, value),)


VALUES = ("spec", "template", "spec", "requirements", 0, "values")
CPU = ("spec", "limits", "cpu")


@pytest.mark.parametrize(
    ("changes", "together"),
    [
        (
            [pool_edit(VALUES, ["a", "b", "c"]), pool_edit(VALUES, ["a", "b", "d"])],
            pool_edit(VALUES, ["a", "b", "c", "d"]),
        ),
        ([pool_edit(VALUES, ["a"]), pool_edit(VALUES, ["b"])], None),
        ([pool_edit(CPU, "6"), pool_edit(CPU, "7")], pool_edit(CPU, "9")),
        ([pool_edit(CPU, "6"), pool_edit(CPU, "6")], pool_edit(CPU, "6")),
        ([pool_edit(("spec", "weight"), "x"), pool_edit(("spec", "weight"), "y")], None),
        ([pool_edit(("a", "b"), 3), pool_edit(("a", "b"), 5)], pool_edit(("a", "b"), 5)),
        ([(SetSetting("A", "0.05"),), (SetSetting("A", "0.03"),)], (SetSetting("A", "0.03"),)),
        ([(SetSetting("A", "x"),), (SetSetting("A", "y"),)], None),
        (
            [pool_edit(VALUES[:-1], None), pool_edit((*VALUES[:-2], 2), None), pool_edit(CPU, "6")],
            (*pool_edit(CPU, "6"), *pool_edit((*VALUES[:-2], 2), None), *pool_edit(VALUES[:-1], None)),
        ),
    ],
)
def test_changes_of_the_same_field_are_merged(
    changes: list[tuple[AnyEdit, ...]], together: tuple[AnyEdit, ...] | None
) -> None:
    pool = a_pool(name="general", requirements=(a_requirement(FAMILY, "In", "a", "b"),), limits=amounts({"cpu": "4"}))
    assert composed(a_base(pools=(pool,)), changes) == together
