"""Commands and screens agree on the next command, pod destinations, counts, costs and deadlines.

Every run tests a sample of the golden fleets and incidents, ``--hypothesis-profile=thorough`` all of them.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import hypothesis
import pytest

from karptui.aws.money import per_hour_text
from karptui.cli.evidence import evidence_source
from karptui.cli.main import main
from karptui.clock import FrozenClock
from karptui.config import Config
from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp
from karptui.screens.list_screen import ListScreen
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from karptui.views.verdict.sentence import sentence
from tests.builders.files import written
from tests.goldens_loading import GOLDENS, scenarios
from tests.incidents.all import INCIDENTS
from tests.ui.fleet import screen_text
from tests.ui.stage import an_app, settled

FLEETS: Final = (
    *(GOLDENS / "karpenter-1.14.1" / f"{family}.jsonl.gz" for family in ("disruption", "consolidation", "storyE")),
    GOLDENS / "rules" / "rules-disruption.jsonl.gz",
    GOLDENS / "k115" / "k115-repair.jsonl.gz",
)
IS_THOROUGH: Final = hypothesis.settings.get_current_profile_name() == "thorough"
EVERY_FLEET: Final = 60
"""A normal run tests every 60th scenario of a golden fleet, and SMALL_INCIDENTS: each takes half a second."""
SMALL_INCIDENTS: Final = (
    *("account-is-being-verified", "budget-that-cannot-be-counted", "min-values", "one-pod-stops-all"),
    *("repair-in-a-loop", "spot-quota", "static-pool-is-short", "two-karpenters"),
)
"""Incidents with failed launches, pending pods, blockers, repair, a static NodePool, and two Karpenters."""
COMMANDS: Final = {
    "nodes": "nodes",
    "pools": "pools",
    "claims": "claims",
    "capacity": "capacity --by pool",
    "next": "next",
    "verdict": "verdict",
    "blockers": "blockers",
    "pending": "pending",
    "remedies": "remedies",
    "headroom": "headroom --most 20",
    "drill": "drill",
    "packing": "packing",
    "forward": "forward --horizon 1h",
    "policies": "policies --horizon 1h",
}
LOSSES: Final = {"zone": "zone", "capacity-type": "cap", "nodepool": "pool"}
"""Each kind of loss that ``drill`` simulates, and the key of ``nodes`` that holds its name."""
SCREENS: Final = {"nodes": "1", "pools": "2", "claims": "3", "pending": "5", "budgets": "7", "advice": "0"}
"""Commands that print the rows of a screen, and the key that opens the screen."""
ON_SCREENS: Final = (
    "no-leader-and-pods-it-could-not-help",
    "overlays-that-conflict",
)
"""Small incidents with rows on each of these screens."""
CENT: Final = 0.005
_HOLDS: Final = ("POD_DND", "NODE_DND", "PDB", "BUDGET")


class Answers:
    """The commands' JSON output for one snapshot; each command runs once, when its attribute is first read."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path
        text = path.read_bytes()
        self.has_overlays = b'"NodeOverlay"' in (gzip.decompress(text) if path.suffix == ".gz" else text)
        self._scenario = folder / "scenario.yaml"
        self._scenario.write_text("name: as it is\nedits: []\n")

    nodes: list[dict[str, Any]]
    pools: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    capacity: list[dict[str, Any]]
    next: dict[str, Any]
    verdict: list[dict[str, Any]]
    blockers: list[dict[str, Any]]
    pending: list[dict[str, Any]]
    remedies: list[dict[str, Any]]
    headroom: list[dict[str, Any]]
    drill: list[dict[str, Any]]
    packing: dict[str, Any]
    forward: dict[str, Any] | None
    policies: dict[str, Any]
    what_if: dict[str, Any] | None

    def __getattr__(self, name: str) -> Any:
        """Run the command named by an attribute that has no value yet."""
        command = f"simulate --scenario {self._scenario}" if name == "what_if" else COMMANDS[name]
        if name == "drill":
            lost = {kind: node[key] for node in self.nodes for kind, key in LOSSES.items() if node[key]}
            command = " ".join([command, *(f"--without {kind}={value}" for kind, value in lost.items())])
        answer = self.ask(command)
        setattr(self, name, answer)
        return answer

    def ask(self, command: str) -> Any:
        """Return a command's JSON output, or None if it prints nothing."""
        text = self.printed(command, "json")
        return json.loads(text) if text.strip() else None

    def printed(self, command: str, output: str) -> str:
        """Return a command's output in a format."""
        out, err = io.StringIO(), io.StringIO()
        where = [str(self._path)] if command.startswith("simulate") else ["--snapshot", str(self._path), "--no-aws"]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([*command.split(), *where, "-o", output])
        assert status != 2 or "were not read" in err.getvalue(), f"{command}: {err.getvalue()}"
        return out.getvalue()


def contradictions(answers: Answers) -> Iterator[str]:
    """Yield each contradiction between two commands; none if pods were not read."""
    if not answers.next:
        return
    yield from _next_command(answers)
    yield from _counts(answers)
    yield from _dollars(answers)
    yield from _held(answers)
    yield from _destinations(answers)
    yield from _deadlines(answers)
    yield from _remedies(answers)
    yield from _room(answers)


def _next_command(answers: Answers) -> Iterator[str]:
    """The verdict and ``next`` name the same next command; the verdict may leave it out if kinds were not read."""
    report = answers.next["next"]
    acting = report["then"] if report["waits_for"] else report
    commands = acting["commands"] if acting is not None else []
    shown = [item for item in answers.verdict if item["code"] == "NEXT"]
    if not shown and any("they count as none" in item["text"] for item in answers.verdict):
        return
    if bool(shown) != bool(commands):
        yield f"next command: the verdict has {len(shown)}, next {len(commands)}"
    if shown and commands:
        nodes = [ref.partition("/")[2] for ref in shown[0]["objects"]]
        if nodes != commands[0]["nodes"]:
            yield f"next command: the verdict removes {nodes}, next {commands[0]['nodes']}"
        if shown[0]["pricePerHour"] != commands[0]["savings_per_hour"]:
            yield f"next command saves {shown[0]['pricePerHour']} and {commands[0]['savings_per_hour']}"


def _counts(answers: Answers) -> Iterator[str]:
    """All commands count the same number of nodes."""
    rows = len(answers.nodes)
    by_pool = sum(item["nodes"] + item["starting"] for item in answers.capacity)
    if rows != by_pool:
        yield f"nodes: {rows} rows, capacity counts {by_pool}"
    foreign = sum(node["node_claim"] is None for node in answers.nodes)
    named = {pool["name"] for pool in answers.pools}
    pooled = sum(node["pool"] in named for node in answers.nodes)
    in_pools = sum(pool["nodes"] for pool in answers.pools)
    if pooled != in_pools:
        yield f"nodes of NodePools: {pooled} rows, pools count {in_pools}"
    if answers.what_if is not None:
        before, without = answers.what_if["before"], answers.what_if["notCounted"]
        if before["nodes"] - before["launched"] + sum(without.values()) != rows:
            yield f"nodes: {rows} rows, a what-if counts {before['nodes']} and leaves {without} out"
    if answers.forward is None:
        return
    now, there = answers.forward["series"][0]["nodes"], sum(item["nodes"] for item in answers.capacity)
    if not there <= now <= rows:
        yield f"nodes now: {there}, and {rows} with those that start; forward begins with {now}"
    if answers.forward["unmanagedNodes"] != foreign:
        yield f"nodes not managed by Karpenter: {foreign}, forward leaves {answers.forward['unmanagedNodes']} out"


def _dollars(result: Answers) -> Iterator[str]:
    """All commands show the same cost of the nodes; forward excludes the nodes that it names as assumptions."""
    total = sum(node["price_per_hour"] or 0.0 for node in result.nodes)
    by_pool = sum(item["price_per_hour"] or 0.0 for item in result.capacity)
    if abs(total - by_pool) > CENT:
        yield f"$/h: nodes {total:.4f}, capacity {by_pool:.4f}"
    in_pools = sum(pool["cost_per_hour"] or 0.0 for pool in result.pools)
    named = {pool["name"] for pool in result.pools}
    managed = sum(node["price_per_hour"] or 0.0 for node in result.nodes if node["pool"] in named)
    if abs(managed - in_pools) > CENT:
        yield f"$/h of NodePools: nodes {managed:.4f}, pools {in_pools:.4f}"
    now = result.forward["series"][0] if result.forward is not None else None
    assumed = " ".join(result.forward["assumptions"]) if result.forward is not None else ""
    # Forward counts reserved nodes as almost free, and ignores price changes by NodeOverlays; it reports both.
    free = {"reserved"} if "reserved nodes count as almost free" in assumed else set()
    if "NodeOverlays change prices" in assumed and result.has_overlays:
        return
    prices = [
        node["price_per_hour"] for node in result.nodes if node["node_claim"] is not None and node["cap"] not in free
    ]
    claimed = sum(price or 0.0 for price in prices)
    # Forward counts spot nodes without a known price at the on-demand price, and reports their number.
    if now is not None and None not in prices and not now["unpriced"] and abs(now["pricePerHour"] - claimed) > CENT:
        yield f"$/h now: nodes {claimed:.4f} without unmanaged ones, forward {now['pricePerHour']:.4f}"


def _held(answers: Answers) -> Iterator[str]:
    """The cost held by a group of nodes is at most the sum of the costs held by each node."""
    singles = sum(node["heldPricePerHour"] or 0.0 for node in answers.nodes)
    together = sum(element["held_per_hour"] or 0.0 for element in answers.capacity)
    if together > singles + CENT:
        yield f"held: {singles:.4f} node by node, {together:.4f} by NodePool"
    for item in answers.verdict:
        if item["code"] in _HOLDS and (item["pricePerHour"] or 0.0) > singles + CENT:
            yield f"held: {item['code']} {item['pricePerHour']:.4f} of {singles:.4f} in all"


def _destinations(answers: Answers) -> Iterator[str]:
    """``next`` removes the nodes that ``simulate`` removes, and ``pending`` names its destinations of pods."""
    decided = answers.ask("simulate --disruption")
    report = answers.next["next"]
    for item in decided["disruption"]:
        if item["name"] == report["method"] and report["commands"]:
            names = {row["node_claim"]: row["name"] for row in answers.nodes}  # simulate may print the NodeClaim's name
            simulated = [
                sorted(names.get(name, name) for name in command["candidates"]) for command in item["commands"]
            ]
            shown = [sorted(command["nodes"]) for command in report["commands"]]
            if sorted(simulated) != sorted(shown):
                yield f"{report['method']}: next removes {shown}, simulate {simulated}"
    solution = decided["provisioning"]
    on_nodes = {pod: element["name"] for element in solution["existingNodes"] for pod in element["pods"]}
    on_new = {pod: element["nodePool"] for element in solution["newNodeClaims"] for pod in element["pods"]}
    for row in answers.pending:
        keys = [f"{row['namespace']}/{name}" for name in row["pods"]]
        nodes, pools = (
            {on_nodes[key] for key in keys if key in on_nodes},
            {on_new[key] for key in keys if key in on_new},
        )
        shown_nodes = {place["node"] for place in row["places"] if place["node"]}
        shown_pools = {place["pool"] for place in row["places"] if not place["node"]}
        if row["places"] and (shown_nodes, shown_pools) != (nodes, pools):
            yield f"{row['name']}: pending says {shown_nodes} {shown_pools}, simulate {nodes} {pools}"
        if not row["places"] and row["turn"] == "no place" and (nodes or pools):
            yield f"{row['name']}: pending finds no place, simulate {nodes} {pools}"


def _deadlines(answers: Answers) -> Iterator[str]:
    """A blocker's end time in the verdict is one that Blockers shows, or a deadline that Claims shows."""
    untils = {_seconds(blocker["until"]) for blocker in answers.blockers if blocker["until"]}
    for claim in answers.claims:
        grace = claim["termination_grace_seconds"]
        untils.update(_seconds(claim[name]) for name in ("expires", "deadline") if claim[name])
        if claim["expires"] and grace is not None:
            untils.add(_seconds(claim["expires"]) + grace)
    for item in answers.verdict:
        if item["code"] in _HOLDS and item["until"] and _seconds(item["until"]) not in untils:
            yield f"{item['code']} ends {item['until']}, blockers and claims say otherwise"


def _remedies(answers: Answers) -> Iterator[str]:
    """A remedy frees only nodes of its blockers, saves at most what they hold, and has a wait only if forecast."""
    held = {node["name"]: node["heldPricePerHour"] for node in answers.nodes}
    for item in answers.remedies or ():
        name, freed = f"{item['group']}, {item['remedy']}", item["freed_nodes"]
        if not set(freed) <= held.keys():
            yield f"{name}: it frees {sorted(set(freed) - held.keys())}, which Nodes does not have"
        if len(freed) > (item["nodes"] or 0):
            yield f"{name}: it frees {len(freed)} of {item['nodes']} nodes"
        if freed and not item["is_forecast"] and item["is_upper_bound"] != (len(freed) > 1):
            yield f"{name}: {len(freed)} nodes, upper bound {item['is_upper_bound']}"
        if "at once" in item["says"] or (item["is_forecast"] and freed and not item["wait_seconds"]):
            yield f"{name}: {item['says']}"
        amounts = [held.get(node) for node in freed]
        # Once its pods have ended, a node needs no replacement: that may save more than the node holds.
        if item["is_forecast"] or item["wait_seconds"] or None in amounts:
            continue
        together = sum(amount or 0.0 for amount in amounts)
        if (item["saves_per_hour"] or 0.0) > together + CENT:
            yield f"{name}: it saves {item['saves_per_hour']:.4f}, its nodes hold {together:.4f}"


def _room(answers: Answers) -> Iterator[str]:
    """Drill, Packing and Headroom know the same nodes as Nodes; Headroom has no room for unschedulable pods."""
    rows = {item["name"]: item for item in answers.nodes}
    for node in answers.drill or ():
        kind, _, name = node["without"].partition("=")
        gone, lost = {row["name"] for row in answers.nodes if row[LOSSES[kind]] == name}, set(node["nodesGone"])
        if node["nodesBefore"] != len(rows) or lost != gone:
            yield f"drill {node['without']}: {len(lost)} of {node['nodesBefore']}, nodes {len(gone)} of {len(rows)}"
    for node in answers.packing["nodes"]:
        asked = node["daemonsets"]["cpu_millis"] + sum(pod["cpu_millis"] for pod in node["pods"])
        row = rows.get(node["name"], {})
        result = row.get("cpu_requested_millis"), row.get("pool") or ""
        if (asked, node["pool"] or "") != result:
            yield f"{node['name']}: packing {asked} of {node['pool']}, nodes {result}"
    # One more pod of a StatefulSet has its own volumes, so it may fit although the pending ones do not.
    unplaced = [row for row in answers.pending if row["turn"] == "no place" and not row["places"]]
    places = {row["owner"]: row["count"] for row in unplaced if not row["owner"].startswith("StatefulSet/")}
    for node in answers.headroom or ():
        if not {taker["node"] for taker in node["nodes"]} <= rows.keys():
            yield f"headroom {node['pod']}: {node['nodes']}"
        if places.get(node["pod"]) == node["pods"] and node["beforeLimits"]:
            yield f"{node['pod']}: pending finds no place, headroom {node['beforeLimits']}"


async def contradictions_on_screens(answers: Answers, path: Path, folder: Path) -> AsyncIterator[str]:
    """Yield each difference between a screen and the command of the same name, or between their verdicts."""
    snapshot = SnapshotReader().read([path], keeps_manifests=True)
    source, config = SnapshotSource(snapshot), Config()
    clock = FrozenClock(snapshot.captured_at_ns)
    app = an_app(source, config=config, clock=clock, evidence=evidence_source(source, config))
    async with app.run_test(size=(240, 60)) as pilot:
        await settled(pilot)
        now_ns, reasons = clock.now_ns(), app.session.pending_reasons()
        strip = [sentence(item, now_ns, reasons) for item in app.session.verdict(now_ns)]
        if strip != [item["text"] for item in answers.verdict]:
            yield f"verdict: {strip} on Nodes, {[item['text'] for item in answers.verdict]}"
        prices = [node["price_per_hour"] for node in answers.nodes]
        top_bar = screen_text(app).splitlines()[0]
        if any(prices) and f"{per_hour_text(sum(price or 0.0 for price in prices))}" not in top_bar:
            yield f"$/h: {sum(price or 0.0 for price in prices):.2f}, the top bar has {top_bar}"
        for command, keys in SCREENS.items():
            await pilot.press(*keys)
            await settled(pilot)
            assert isinstance(app.screen, ListScreen)
            listing = app.screen.listing
            listing.save(str(folder / f"{command}.txt"), listing.spec.headings())
            drawn, printed = _table((folder / f"{command}.txt").read_text()), _table(answers.printed(command, "wide"))
            if drawn != printed:
                yield f"{command}: {sorted(drawn - printed)[:3]} on the screen, {sorted(printed - drawn)[:3]} printed"


def _table(text: str) -> set[tuple[str, ...]]:
    """Return the set of rows, as words: screens and commands may sort rows differently."""
    return {tuple(line.split()) for line in text.splitlines()[1:]}


def _seconds(timestamp: str) -> int:
    return parse_timestamp(timestamp) // NS_PER_SECOND


def _answered(snapshot: Mapping[str, Any], folder: Path, at: Path) -> Answers:
    catalogs = at.parent / "catalogs"
    if "catalog" in snapshot and not catalogs.exists():
        shutil.copytree(folder / "catalogs", catalogs)
    at.write_text(json.dumps(snapshot))
    return Answers(at, at.parent)


@pytest.mark.parametrize("path", FLEETS, ids=lambda path: path.name.partition(".")[0])
def test_commands_agree_on_golden_fleets(path: Path, tmp_path: Path) -> None:
    wrong = {}
    for scenario in list(scenarios(path))[:: 1 if IS_THOROUGH else EVERY_FLEET]:
        snapshot = scenario["snapshot"]
        if not snapshot.get("disruption"):
            continue
        result = list(contradictions(_answered(snapshot, path.parent, tmp_path / "snapshot.json")))
        if result:
            wrong[snapshot["name"]] = result
    assert wrong == {}


# Two Nodes of one instance are two rows of `nodes`, but one node in a forecast.
@pytest.mark.parametrize(
    "name", sorted(INCIDENTS.keys() - {"two-nodes-for-one-instance"}) if IS_THOROUGH else SMALL_INCIDENTS
)
def test_commands_agree_on_incidents(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "snapshot.json", INCIDENTS[name].snapshot())
    assert list(contradictions(Answers(path, tmp_path))) == []


def test_current_policies_end_like_forward(tmp_path: Path) -> None:
    path = written(tmp_path / "snapshot.json", INCIDENTS["fine-evening-scale-down"].snapshot())
    answers = Answers(path, tmp_path)
    assert answers.forward is not None
    today, end = next(item for item in answers.policies["outcomes"] if item["isAsItIs"]), answers.forward["end"]
    ends = {"endNodes": "nodes", "endPricePerHour": "pricePerHour", "pending": "pending"}
    assert {name: today[name] for name in ends} == {name: end[same] for name, same in ends.items()}


@pytest.mark.parametrize("name", ON_SCREENS)
async def test_screens_show_what_commands_print(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "snapshot.json", INCIDENTS[name].snapshot())
    answers = Answers(path, tmp_path)
    assert [contradiction async for contradiction in contradictions_on_screens(answers, path, tmp_path)] == []
