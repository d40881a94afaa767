"""The JSON of every command matches docs/schema and the published keys, its CSV the published headers.

``output_keys.txt`` holds the published keys. Scripts depend on them: keys may be added, but not renamed or removed.
Above the blank line each line is an object of a document: its path, then its keys, with ``?`` for those that may be
absent. Below it each line is a command and its CSV header.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

from karptui.cli.main import main
from karptui.cli.parser import COMMANDS
from karptui.clock import SystemClock
from tests.cli.conftest import NOON_NS
from tests.shared_analyses import look_once
from tests.still_demo import tell_once
from tests.story_d import story_document

KEYS_TEXT, CSV_TEXT = Path(__file__).with_name("output_keys.txt").read_text().split("\n\n")
KEYS: Final = {line.split(" ")[0]: line.split(" ")[1:] for line in KEYS_TEXT.splitlines()}
HEADERS: Final = dict(line.split(":", 1) for line in CSV_TEXT.splitlines())
ROOT: Final = Path(__file__).resolve().parents[2]
SCHEMAS: Final = ROOT / "docs" / "schema"
GOLDENS: Final = ROOT / "tests" / "goldens" / "karpenter-1.14.1"
FAMILIES: Final = ("runners", "minvalues")
SOURCES: Final = ("demo", "story-d", *FAMILIES)
LISTS: Final = (
    "nodes", "pools", "pods", "claims", "budgets", "events", "pending", "blockers", "advice", "types", "capacity",
    "packing", "churn", "next", "drill", "headroom", "rehearse", "verdict", "remedies",
)  # fmt: skip
FEWER: Final = {"headroom": ("--most", "3")}
"""Flags that make a command try fewer values."""
LARGE: Final = "demo"
"""Skipped for slow commands and pod details, because the smaller clusters show the same keys."""
DEAR: Final = frozenset({"headroom", "remedies", "drill"})
WITHOUT_JSON: Final = frozenset({"record", "card", "completion", "mcp", "do"})
SCENARIO: Final = 'name: pct\nedits:\n- {edit: setting, name: VM_MEMORY_OVERHEAD_PERCENT, value: "0.04"}\n'


def closed(schema: Any) -> Any:
    """Return a schema that allows no other keys, so that every printed key must be documented."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items()}
    if "properties" in result:
        result.setdefault("additionalProperties", False)
    return result


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(closed(json.loads((SCHEMAS / f"{name}.json").read_text())))


def check(name: str, document: Any) -> None:
    problems = [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in validator(name).iter_errors(document)
    ]
    assert (name, problems) == (name, [])
    assert list(renamed_keys(name, document)) == []


def renamed_keys(path: str, value: Any) -> Iterator[str]:
    """Yield the objects whose keys differ from the published ones."""
    if isinstance(value, list):
        for item in value:
            yield from renamed_keys(f"{path}[]", item)
    elif isinstance(value, dict):
        keys = KEYS.get(path)
        if keys is not None:
            names = {key.rstrip("?") for key in keys}
            if not names & {*keys} <= value.keys() <= names:
                yield f"{path}: {' '.join(value)}"
        for key, item in value.items():
            yield from renamed_keys(f"{path}.{key if keys is not None else '*'}", item)


def schema_keys(path: str, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[tuple[str, set[str]]]:
    """Yield each object of a schema: its path and its keys, with ``?`` for those that may be absent."""
    if "$ref" in schema:
        yield from schema_keys(path, definitions[schema["$ref"].rpartition("/")[2]], definitions)
    for option in schema.get("anyOf", ()):
        yield from schema_keys(path, option, definitions)
    if schema.get("additionalProperties") is True:
        return
    if "properties" in schema:
        required = schema.get("required", ())
        yield path, {key if key in required else f"{key}?" for key in schema["properties"]}
    parts = [(f"{path}.{key}", part) for key, part in schema.get("properties", {}).items()]
    parts += [
        (path + end, schema[key]) for end, key in (("[]", "items"), (".*", "additionalProperties")) if key in schema
    ]
    for inner, part in parts:
        if isinstance(part, dict):
            yield from schema_keys(inner, part, definitions)


def written(folder: Path, name: str, document: Mapping[str, Any]) -> str:
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document))
    return str(path)


@pytest.fixture(autouse=True)
def _same_instant_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show every command the same instant of the demo."""
    monkeypatch.setattr(SystemClock, "now_ns", lambda _: NOON_NS)
    tell_once(monkeypatch)
    look_once(monkeypatch)


@pytest.fixture(scope="module", params=SOURCES)
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the flags of a cluster: the demo, the stories, and the first scenario of some golden families."""
    if request.param == "demo":
        return ["--demo"]
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "story-d":
        return ["--snapshot", written(folder, "story-d", story_document())]
    with gzip.open(GOLDENS / f"{request.param}.jsonl.gz", "rt") as lines:
        snapshot = json.loads(next(lines))["snapshot"]
    catalog = snapshot.pop("catalog", "")
    if catalog:
        with gzip.open(GOLDENS / f"{catalog}.gz", "rt") as text:
            snapshot["instanceTypes"] = json.load(text)
    return ["--snapshot", written(folder, request.param, snapshot)]


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main([*words, "-o", "json"]) != 2
    return json.loads(capsys.readouterr().out)


def test_every_schema_is_valid_and_every_command_has_one() -> None:
    names = sorted(path.stem for path in SCHEMAS.glob("*.json"))
    documented: dict[str, set[str]] = {}
    for name in names:
        schema = json.loads((SCHEMAS / f"{name}.json").read_text())
        Draft202012Validator.check_schema(schema)
        documented |= schema_keys(name, schema, schema.get("$defs", {}))
    assert documented == {path: {*keys} for path, keys in KEYS.items()}
    heads = {name.partition("-")[0] for name in names} | {"pool", "ledger"}
    assert set(COMMANDS) - WITHOUT_JSON <= heads


def test_lists_match_their_schemas(
    capsys: pytest.CaptureFixture[str], source: list[str], request: pytest.FixtureRequest
) -> None:
    for command in LISTS:
        if command not in DEAR or request.node.callspec.params["source"] != LARGE:
            check(command, printed(capsys, command, *FEWER.get(command, ()), *source))
    check("churn-replacements", printed(capsys, "churn", "--replacements", *source))


@pytest.mark.parametrize("command", HEADERS)
def test_csv_headers_are_as_published(capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str) -> None:
    story = written(tmp_path, "story", story_document())
    words = ["--snapshot", story] if "STORY" not in command else []
    assert main([*command.replace("STORY", story).split(), *words, "-o", "csv"]) != 2
    assert capsys.readouterr().out.partition("\n")[0] == HEADERS[command]


def test_details_of_objects_match_their_schemas(capsys: pytest.CaptureFixture[str], source: list[str]) -> None:
    pools = printed(capsys, "pools", *source)
    pool = pools[0]["name"]
    check("pool", printed(capsys, "pools", "--pool", pool, *source))
    check("explain-pool", printed(capsys, "explain", "pool", pool, *source))
    types = printed(capsys, "types", "--pool", pool, *source)
    check("types-of-pool", types)
    if types:
        check("ledger", printed(capsys, "types", "--pool", pool, "--ledger", types[0]["name"], *source))
    for node in printed(capsys, "nodes", "--no-simulate", *source)[:1]:
        check("explain-node", printed(capsys, "explain", "node", node["name"], *source))


@pytest.mark.parametrize("source", [name for name in SOURCES if name != LARGE], indirect=True)
def test_details_of_pods_match_their_schemas(capsys: pytest.CaptureFixture[str], source: list[str]) -> None:
    for group in printed(capsys, "pending", *source)[:2]:
        pod = f"{group['namespace']}/{group['pods'][0]}"
        check("explain-pod", printed(capsys, "explain", "pod", pod, *source))
    bound = [pod for pod in printed(capsys, "pods", *source) if pod["node"]]
    for pod in bound[:1]:
        name = f"{pod['namespace']}/{pod['name']}"
        check("explain-bound-pod", printed(capsys, "explain", "pod", name, *source))


def krr_of(pods: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a KRR result for the first owned pod."""
    pod = next(pod for pod in pods if pod["metadata"].get("ownerReferences"))
    owner, metadata = pod["metadata"]["ownerReferences"][0], pod["metadata"]
    document = {"kind": owner["kind"], "namespace": metadata["namespace"], "name": owner["name"]}
    name = pod["spec"]["containers"][0].get("name", "")
    amounts = {"requests": {"cpu": {"value": 0.1}, "memory": {"value": 1e8}}}
    return {"scans": [{"object": {**document, "container": name}, "recommended": amounts}]}


@pytest.mark.parametrize("source", ["story-d", "runners"], indirect=True)
def test_simulations_match_their_schemas(capsys: pytest.CaptureFixture[str], source: list[str], tmp_path: Path) -> None:
    check("simulate", printed(capsys, "simulate", "--disruption", source[1]))
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO)
    check("simulate-scenario", printed(capsys, "simulate", source[1], "--scenario", str(scenario)))
    check("forward", printed(capsys, "forward", source[1], "--scenario", str(scenario), "--horizon", "10m"))
    pool = next(item for item in json.loads(Path(source[1]).read_text())["objects"] if item["kind"] == "NodePool")
    manifest = tmp_path / "pool.json"
    manifest.write_text(json.dumps(pool))
    check("plan", printed(capsys, "plan", "-f", str(manifest), *source, "--horizon", "10m"))
    check("solve", printed(capsys, "solve", "pending", *source, "--tries", "5"))
    sweep = "VM_MEMORY_OVERHEAD_PERCENT=0.04,0.075"
    check("packing-scenario", printed(capsys, "packing", *source, "--scenario", str(scenario)))
    check("pause", printed(capsys, "pause", *source, "--until", "10m", "--horizon", "10m"))
    check("rollout", printed(capsys, "rollout", *source, "--horizon", "10m"))
    check("timeouts", printed(capsys, "timeouts", *source))
    check("policies", printed(capsys, "policies", *source, "--policy", "Balanced", "--after", "0s", "--horizon", "10m"))
    krr = tmp_path / "krr.json"
    pods = [manifest for manifest in json.loads(Path(source[1]).read_text())["objects"] if manifest["kind"] == "Pod"]
    krr.write_text(json.dumps(krr_of(pods)))
    check("rightsize", printed(capsys, "rightsize", *source, "--krr", str(krr), "--horizon", "10m"))
    check("sweep", printed(capsys, "sweep", source[1], "--set", sweep, "--jobs", "1"))


def test_self_checks_match_their_schema(capsys: pytest.CaptureFixture[str], source: list[str], tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    for where in (source if source == ["--demo"] else source[1:], [str(broken)]):
        document = printed(capsys, "simulate", "--self-check", *where)
        check("simulate-self-check", document)
        assert ("error" in document) is (where == [str(broken)])


def test_types_of_a_case_match_their_schema(capsys: pytest.CaptureFixture[str]) -> None:
    case = GOLDENS.parent / "aws" / "userdata-maxpods.json"
    assert main(["types", str(case), "--types", "m5.large", "-o", "json"]) != 2
    check("types-of-case", json.loads(capsys.readouterr().out))
