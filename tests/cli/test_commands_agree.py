"""One fact has one figure: the same next command, destinations, counts, dollars and deadlines in commands and screens.

A sample of the golden fleets and of the incidents in every run; all of them with ``--hypothesis-profile=thorough``.
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
from karptui.views.findings.sentence import sentence
from tests.incidents.all import INCIDENTS
from tests.provisioning.loading import GOLDENS, scenarios
from tests.ui.fleet import screen_text
from tests.ui.stage import an_app, settled

FLEETS: Final = (
    *(GOLDENS / "karpenter-1.14.1" / f"{family}.jsonl.gz" for family in ("disruption", "consolidation", "storyE")),
    GOLDENS / "rules" / "rules-disruption.jsonl.gz",
    GOLDENS / "k115" / "k115-repair.jsonl.gz",
)
GIVEN: Final = GOLDENS / "incidents"
EVERY: Final = {"fleets": 60, "incidents": 24, "screens": 90}
"""One of so many is asked in a normal run: each takes one or two seconds."""
COMMANDS: Final = (
    "nodes",
    "pools",
    "claims",
    "capacity --by pool",
    "next",
    "verdict",
    "blockers",
    "pending",
    "remedies",
    "headroom --most 20",
    "drill",
    "packing",
)
SCREENS: Final = {"nodes": "1", "pools": "2", "claims": "3", "pending": "5", "budgets": "7", "advice": "0"}
"""Keys of the screens whose rows a command of the same name prints."""
HORIZON: Final = "--horizon 1h"
CENT: Final = 0.005
_HOLDS: Final = ("POD_DND", "NODE_DND", "PDB", "BUDGET")


class Answers:
    """What the commands print of one snapshot, as JSON."""

    def __init__(self, path: Path, folder: Path, *, asks_policies: bool = False) -> None:
        self._path = path
        text = path.read_bytes()
        self.has_overlays = b'"NodeOverlay"' in (gzip.decompress(text) if path.suffix == ".gz" else text)
        for command in COMMANDS:
            setattr(self, command.partition(" ")[0], self.ask(command))
        self.forward = self.ask(f"forward {HORIZON}")
        self.policies = self.ask(f"policies {HORIZON}") if asks_policies else None
        scenario = folder / "scenario.yaml"
        scenario.write_text("name: as it is\nedits: []\n")
        self.what_if = self.ask(f"simulate --scenario {scenario}")

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

    def ask(self, command: str) -> Any:
        """Return what a command prints, None if it cannot answer."""
        text = self.printed(command, "json")
        return json.loads(text) if text.strip() else None

    def printed(self, command: str, output: str) -> str:
        """Return what a command prints in a format."""
        out, err = io.StringIO(), io.StringIO()
        where = [str(self._path)] if command.startswith("simulate") else ["--snapshot", str(self._path), "--no-aws"]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([*command.split(), *where, "-o", output])
        assert status != 2 or "were not read" in err.getvalue(), f"{command}: {err.getvalue()}"
        return out.getvalue()


def contradictions(said: Answers) -> Iterator[str]:
    """Yield where two commands say different things of the same fact; nothing if pods were not read."""
    if not said.next:
        return
    yield from _next_command(said)
    yield from _counts(said)
    yield from _dollars(said)
    yield from _held(said)
    yield from _destinations(said)
    yield from _deadlines(said)
    yield from _remedies(said)
    yield from _room(said)
    yield from _policies(said)


def _next_command(said: Answers) -> Iterator[str]:
    """The verdict's next command is that of ``next``."""
    report = said.next["next"]
    acting = report["then"] if report["waits_for"] else report
    commands = acting["commands"] if acting is not None else []
    shown = [one for one in said.verdict if one["code"] == "NEXT"]
    if bool(shown) != bool(commands):
        yield f"next command: the verdict has {len(shown)}, next {len(commands)}"
    if shown and commands:
        nodes = [ref.partition("/")[2] for ref in shown[0]["objects"]]
        if nodes != commands[0]["nodes"]:
            yield f"next command: the verdict removes {nodes}, next {commands[0]['nodes']}"
        if shown[0]["pricePerHour"] != commands[0]["savings_per_hour"]:
            yield f"next command saves {shown[0]['pricePerHour']} and {commands[0]['savings_per_hour']}"


def _counts(said: Answers) -> Iterator[str]:
    """The nodes are as many everywhere."""
    rows = len(said.nodes)
    by_pool = sum(one["nodes"] + one["starting"] for one in said.capacity)
    if rows != by_pool:
        yield f"nodes: {rows} rows, capacity counts {by_pool}"
    foreign = sum(one["node_claim"] is None for one in said.nodes)
    named = {one["name"] for one in said.pools}
    pooled = sum(one["pool"] in named for one in said.nodes)
    in_pools = sum(one["nodes"] for one in said.pools)
    if pooled != in_pools:
        yield f"nodes of NodePools: {pooled} rows, pools count {in_pools}"
    if said.what_if is not None:
        before, without = said.what_if["before"], said.what_if["notCounted"]
        if before["nodes"] - before["launched"] + sum(without.values()) != rows:
            yield f"nodes: {rows} rows, a what-if counts {before['nodes']} and leaves {without} out"
    if said.forward is None:
        return
    now, there = said.forward["series"][0]["nodes"], sum(one["nodes"] for one in said.capacity)
    if not there <= now <= rows:
        yield f"nodes now: {there}, and {rows} with those that start; forward begins with {now}"
    if said.forward["unmanagedNodes"] != foreign:
        yield f"nodes not managed by Karpenter: {foreign}, forward leaves {said.forward['unmanagedNodes']} out"


def _dollars(said: Answers) -> Iterator[str]:
    """What the nodes cost now is one sum, and Forward's without the nodes that it names."""
    total = sum(one["price_per_hour"] or 0.0 for one in said.nodes)
    by_pool = sum(one["price_per_hour"] or 0.0 for one in said.capacity)
    if abs(total - by_pool) > CENT:
        yield f"$/h: nodes {total:.4f}, capacity {by_pool:.4f}"
    in_pools = sum(one["cost_per_hour"] or 0.0 for one in said.pools)
    named = {one["name"] for one in said.pools}
    managed = sum(one["price_per_hour"] or 0.0 for one in said.nodes if one["pool"] in named)
    if abs(managed - in_pools) > CENT:
        yield f"$/h of NodePools: nodes {managed:.4f}, pools {in_pools:.4f}"
    now = said.forward["series"][0] if said.forward is not None else None
    assumed = " ".join(said.forward["assumptions"]) if said.forward is not None else ""
    # Forward names reserved nodes, which it counts as almost free, and prices that NodeOverlays change.
    free = {"reserved"} if "reserved nodes count as almost free" in assumed else set()
    if "NodeOverlays change prices" in assumed and said.has_overlays:
        return
    prices = [one["price_per_hour"] for one in said.nodes if one["node_claim"] is not None and one["cap"] not in free]
    claimed = sum(price or 0.0 for price in prices)
    # Forward names the spot nodes of unknown price, which it counts at the on-demand price.
    if now is not None and None not in prices and not now["unpriced"] and abs(now["pricePerHour"] - claimed) > CENT:
        yield f"$/h now: nodes {claimed:.4f} without unmanaged ones, forward {now['pricePerHour']:.4f}"


def _held(said: Answers) -> Iterator[str]:
    """Several nodes together hold no more than they hold one by one."""
    singles = sum(one["heldPricePerHour"] or 0.0 for one in said.nodes)
    together = sum(one["held_per_hour"] or 0.0 for one in said.capacity)
    if together > singles + CENT:
        yield f"held: {singles:.4f} node by node, {together:.4f} by NodePool"
    for one in said.verdict:
        if one["code"] in _HOLDS and (one["pricePerHour"] or 0.0) > singles + CENT:
            yield f"held: {one['code']} {one['pricePerHour']:.4f} of {singles:.4f} in all"


def _destinations(said: Answers) -> Iterator[str]:
    """Pending pods land where ``simulate`` puts them."""
    decided = said.ask("simulate --disruption")
    report = said.next["next"]
    for one in decided["disruption"]:
        if one["name"] == report["method"] and report["commands"]:
            names = {row["node_claim"]: row["name"] for row in said.nodes}  # simulate names some by their NodeClaim
            simulated = [sorted(names.get(name, name) for name in command["candidates"]) for command in one["commands"]]
            shown = [sorted(command["nodes"]) for command in report["commands"]]
            if sorted(simulated) != sorted(shown):
                yield f"{report['method']}: next removes {shown}, simulate {simulated}"
    solution = decided["provisioning"]
    on_nodes = {pod: one["name"] for one in solution["existingNodes"] for pod in one["pods"]}
    on_new = {pod: one["nodePool"] for one in solution["newNodeClaims"] for pod in one["pods"]}
    for row in said.pending:
        keys = [f"{row['namespace']}/{name}" for name in row["pods"]]
        nodes, pools = (
            {on_nodes[key] for key in keys if key in on_nodes},
            {on_new[key] for key in keys if key in on_new},
        )
        shown_nodes = {one["node"] for one in row["places"] if one["node"]}
        shown_pools = {one["pool"] for one in row["places"] if not one["node"]}
        if row["places"] and (shown_nodes, shown_pools) != (nodes, pools):
            yield f"{row['name']}: pending says {shown_nodes} {shown_pools}, simulate {nodes} {pools}"
        if not row["places"] and row["turn"] == "no place" and (nodes or pools):
            yield f"{row['name']}: pending finds no place, simulate {nodes} {pools}"


def _deadlines(said: Answers) -> Iterator[str]:
    """What ends a hold by itself ends when Blockers says so, or when Claims says that the NodeClaim ends."""
    untils = {_seconds(one["until"]) for one in said.blockers if one["until"]}
    for claim in said.claims:
        grace = claim["termination_grace_seconds"]
        untils.update(_seconds(claim[name]) for name in ("expires", "deadline") if claim[name])
        if claim["expires"] and grace is not None:
            untils.add(_seconds(claim["expires"]) + grace)
    for one in said.verdict:
        if one["code"] in _HOLDS and one["until"] and _seconds(one["until"]) not in untils:
            yield f"{one['code']} ends {one['until']}, blockers and claims say otherwise"


def _remedies(said: Answers) -> Iterator[str]:
    """A remedy frees nodes of its blockers, saves no more than they hold, and has a time only by a forecast."""
    held = {one["name"]: one["heldPricePerHour"] for one in said.nodes}
    for one in said.remedies or ():
        name, freed = f"{one['group']}, {one['remedy']}", one["freed_nodes"]
        if not set(freed) <= held.keys():
            yield f"{name}: it frees {sorted(set(freed) - held.keys())}, which Nodes does not have"
        if len(freed) > (one["nodes"] or 0):
            yield f"{name}: it frees {len(freed)} of {one['nodes']} nodes"
        if freed and not one["is_forecast"] and one["is_upper_bound"] != (len(freed) > 1):
            yield f"{name}: {len(freed)} nodes, upper bound {one['is_upper_bound']}"
        if "at once" in one["says"] or (one["is_forecast"] and freed and not one["wait_seconds"]):
            yield f"{name}: {one['says']}"
        amounts = [held.get(node) for node in freed]
        # Once pods have ended a node needs no replacement: that may save more than it holds.
        if one["is_forecast"] or one["wait_seconds"] or None in amounts:
            continue
        together = sum(amount or 0.0 for amount in amounts)
        if (one["saves_per_hour"] or 0.0) > together + CENT:
            yield f"{name}: it saves {one['saves_per_hour']:.4f}, its nodes hold {together:.4f}"


def _room(said: Answers) -> Iterator[str]:
    """Drill, Packing and Headroom have the nodes of Nodes, and Headroom agrees with Pending on pods without a place."""
    rows = {one["name"]: one for one in said.nodes}
    for one in said.drill or ():
        kind, _, name = one["without"].partition("=")
        key = {"zone": "zone", "capacity-type": "cap", "nodepool": "pool"}[kind]
        gone, lost = {row["name"] for row in said.nodes if row[key] == name}, set(one["nodesGone"])
        if one["nodesBefore"] != len(rows) or lost != gone:
            yield f"drill {one['without']}: {len(lost)} of {one['nodesBefore']}, nodes {len(gone)} of {len(rows)}"
    for one in said.packing["nodes"]:
        asked = one["daemonsets"]["cpu_millis"] + sum(pod["cpu_millis"] for pod in one["pods"])
        row = rows.get(one["name"], {})
        known = row.get("cpu_requested_millis"), row.get("pool") or ""
        if (asked, one["pool"] or "") != known:
            yield f"{one['name']}: packing {asked} of {one['pool']}, nodes {known}"
    # A further pod of a StatefulSet has volumes of its own.
    unplaced = [row for row in said.pending if row["turn"] == "no place" and not row["places"]]
    places = {row["owner"]: row["count"] for row in unplaced if not row["owner"].startswith("StatefulSet/")}
    for one in said.headroom or ():
        if not {taker["node"] for taker in one["nodes"]} <= rows.keys():
            yield f"headroom {one['pod']}: {one['nodes']}"
        if places.get(one["pod"]) == one["pods"] and one["beforeLimits"]:
            yield f"{one['pod']}: pending finds no place, headroom {one['beforeLimits']}"


def _policies(said: Answers) -> Iterator[str]:
    """The policies as they are end as Forward ends."""
    if said.policies is None or said.forward is None:
        return
    today, end = next(one for one in said.policies["outcomes"] if one["isAsItIs"]), said.forward["end"]
    ends = {"endNodes": "nodes", "endPricePerHour": "pricePerHour", "pending": "pending"}
    for name, same in ends.items():
        if today[name] != end[same]:
            yield f"policies as they are: {name} {today[name]}, forward {end[same]}"


async def contradictions_on_screens(said: Answers, path: Path, folder: Path) -> AsyncIterator[str]:
    """Yield where a screen of the app shows other values than the command of its name, or another verdict."""
    snapshot = SnapshotReader().read([path], keeps_manifests=True)
    source, config = SnapshotSource(snapshot), Config()
    clock = FrozenClock(snapshot.captured_at_ns)
    app = an_app(source, config=config, clock=clock, evidence=evidence_source(source, config))
    async with app.run_test(size=(240, 60)) as pilot:
        await settled(pilot)
        now_ns, reasons = clock.now_ns(), app.session.pending_reasons()
        strip = [sentence(one, now_ns, reasons) for one in app.session.verdict(now_ns)]
        if strip != [one["text"] for one in said.verdict]:
            yield f"verdict: {strip} on Nodes, {[one['text'] for one in said.verdict]}"
        prices = [one["price_per_hour"] for one in said.nodes]
        top_bar = screen_text(app).splitlines()[0]
        if any(prices) and f"{per_hour_text(sum(price or 0.0 for price in prices))}" not in top_bar:
            yield f"$/h: {sum(price or 0.0 for price in prices):.2f}, the top bar has {top_bar}"
        for command, keys in SCREENS.items():
            await pilot.press(*keys)
            await settled(pilot)
            assert isinstance(app.screen, ListScreen)
            listing = app.screen.listing
            listing.save(str(folder / f"{command}.txt"), listing.spec.headings())
            drawn, printed = _table((folder / f"{command}.txt").read_text()), _table(said.printed(command, "wide"))
            if drawn != printed:
                yield f"{command}: {sorted(drawn - printed)[:3]} on the screen, {sorted(printed - drawn)[:3]} printed"


def _table(text: str) -> set[tuple[str, ...]]:
    """Return the words of each row; screens and commands may sort rows differently."""
    return {tuple(line.split()) for line in text.splitlines()[1:]}


def _seconds(timestamp: str) -> int:
    return parse_timestamp(timestamp) // NS_PER_SECOND


def _is_thorough() -> bool:
    return hypothesis.settings.get_current_profile_name() == "thorough"


def _every(kind: str) -> int:
    return 1 if _is_thorough() else EVERY[kind]


def _answered(snapshot: Mapping[str, Any], folder: Path, at: Path) -> Answers:
    catalogs = at.parent / "catalogs"
    if "catalog" in snapshot and not catalogs.exists():
        shutil.copytree(folder / "catalogs", catalogs)
    at.write_text(json.dumps(snapshot))
    return Answers(at, at.parent)


@pytest.mark.parametrize("path", FLEETS, ids=lambda path: path.name.partition(".")[0])
def test_golden_fleets(path: Path, tmp_path: Path) -> None:
    wrong = {}
    for scenario in list(scenarios(path))[:: _every("fleets")]:
        snapshot = scenario["snapshot"]
        if not snapshot.get("disruption"):
            continue
        found = list(contradictions(_answered(snapshot, path.parent, tmp_path / "snapshot.json")))
        if found:
            wrong[snapshot["name"]] = found
    assert wrong == {}


# Two Nodes of one instance are two rows of Nodes, and one node of a forecast.
@pytest.mark.parametrize("name", sorted(INCIDENTS.keys() - {"two-nodes-for-one-instance"})[:: _every("incidents")])
def test_incidents(name: str, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(INCIDENTS[name].snapshot()))
    assert list(contradictions(Answers(path, tmp_path))) == []


@pytest.mark.parametrize(
    "path", sorted(GIVEN.glob("*/snapshot.json.gz"))[:: _every("incidents")], ids=lambda path: path.parent.name
)
def test_given_incidents(path: Path, tmp_path: Path) -> None:
    assert list(contradictions(Answers(path, tmp_path))) == []


def test_the_demo(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert main(["record", str(path), "--demo"]) == 0
    assert list(contradictions(Answers(path, tmp_path))) == []


def test_policies_as_they_are_end_as_forward_does(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(INCIDENTS["fine-evening-scale-down"].snapshot()))
    assert list(contradictions(Answers(path, tmp_path, asks_policies=True))) == []


@pytest.mark.parametrize("name", sorted({*sorted(INCIDENTS)[:: _every("screens")], "limit-stops-drift"}))
async def test_screens_show_what_commands_print(name: str, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(INCIDENTS[name].snapshot()))
    said = Answers(path, tmp_path)
    assert [one async for one in contradictions_on_screens(said, path, tmp_path)] == []
