"""Hostile names in a cluster: tables and CSV contain no terminal control sequences, and JSON is ASCII."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

import karptui.cli
from karptui.cli.main import main
from karptui.cli.parser import COMMANDS
from karptui.decode.kinds import kind_of
from karptui.kube.hidden_text import escaped
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.yaml_reader import load_documents
from karptui.kube.yaml_text import to_yaml
from karptui.sources.history.store import Mark, Sample
from karptui.sources.history.writer import HistoryWriter
from karptui.whatif.yaml.write import write_block
from tests.builders import NOW_NS
from tests.builders.files import written
from tests.builders.manifests import a_change
from tests.cli.conftest import Run
from tests.troubled_cluster import troubles_document

EVERYTHING: Final = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\u202e\u200b\u2066\ufeff"
"""OSC 52 (writes the clipboard), CSI, the C1 form of CSI, direction overrides, and zero-width characters."""
CODES: Final = re.compile(r"[-+.\d]+[a-zA-Z%]*|\d{4}-\d\d-\d\dT.*")
"""Quantities, numbers, durations and timestamps: an object with another text there cannot be read at all."""
TEXT: Final = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe a\nb\r\tc\x9b31mred[bold]x[/]\U0001f600é"
NAMED: Final = frozenset({"Pod", "Node", "NodePool", "NodeClaim", "EC2NodeClass", "PersistentVolumeClaim", "Event"})
FORMS: Final = ("table", "json", "csv")
PROSE: Final = ("text", "markdown", "json")
SOLVED: Final = (*PROSE, "scenario", "yaml", "patch")


def hostile() -> dict[str, Any]:
    """Return the troubles snapshot with hostile text appended to names and in messages; pods block nodes."""
    document = json.loads(json.dumps(troubles_document()))
    names = {manifest["metadata"]["name"] for manifest in document["objects"] if manifest["kind"] in NAMED}

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: changed(result) for key, result in value.items()}
        if isinstance(value, list):
            return [changed(element) for element in value]
        return f"{value}{TEXT}" if value in names or value == "Pod should schedule on: nodeclaim/spot-gone1" else value

    objects = [changed(manifest) for manifest in document["objects"]]
    for item in objects:
        if item["kind"] == "Pod" and item["spec"].get("nodeName"):
            item["metadata"].setdefault("annotations", {})["karpenter.sh/do-not-disrupt"] = "true"
    return {**document, "name": f"evil{TEXT}", "objects": objects}


def hostile_everywhere() -> dict[str, Any]:
    """Return the troubles snapshot with hostile text in every text field and map; references still match."""
    kept = {"apiVersion", "kind", "operator", "effect", "key", "type", "status", "phase", "op"}

    def changed(value: Any, field: str = "") -> Any:
        if isinstance(value, dict):
            is_map = field in ("labels", "annotations", "matchLabels", "nodeSelector")
            texts = {f"{key}x{EVERYTHING}": f"{result}{EVERYTHING}" for key, result in value.items()} if is_map else {}
            return {key: changed(result, key) for key, result in value.items()} | texts
        if isinstance(value, list):
            return [changed(item, field) for item in value]
        if not isinstance(value, str) or field in kept or CODES.fullmatch(value):
            return value
        return f"{value}{EVERYTHING}"

    document = json.loads(json.dumps(troubles_document()))
    return {**document, "name": EVERYTHING, "objects": [changed(manifest) for manifest in document["objects"]]}


def harmless(text: str, *, is_json: bool) -> bool:
    """Return whether a terminal would act on nothing in a text."""
    if is_json:
        return text.isascii() and all(char >= " " or char == "\n" for char in text)
    return not [char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") and char != "\n"]


@pytest.fixture(scope="module", params=[hostile, hostile_everywhere], ids=["names", "everywhere"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a snapshot with hostile text (after names, or in every field), and return its path."""
    return str(written(tmp_path_factory.mktemp("hostile") / "hostile.json", request.param()))


def lines(command: str, file: str) -> list[list[str]]:
    """Return the command lines of a command, one for each output format."""
    forms = [["-o", form] for form in FORMS]
    if command == "audit":
        return [[command, hostile_audit(file), *form] for form in forms]
    if command == "do":
        return [[command, "cordon", f"x{EVERYTHING}", "--snapshot", file]]
    if command == "card":
        return [[command, str(Path(file).with_suffix("")), "--snapshot", file]]
    if command in ("changes", "history"):
        return [[command, "--snapshot", hostile_history(file), *form] for form in forms]
    if command in ("simulate", "sweep"):
        texts = (
            ["--set", "VM_MEMORY_OVERHEAD_PERCENT=0.05,0.06", "--jobs", "1"] if command == "sweep" else ["--disruption"]
        )
        return [[command, file, *texts, *form] for form in forms[: 3 if command == "sweep" else 2]]
    if command == "explain":
        whole = json.loads(Path(file).read_text())["objects"]
        pool = next(item["metadata"]["name"] for item in whole if item["kind"] == "NodePool")
        node = next(item["metadata"]["name"] for item in whole if item["kind"] == "Node")
        pod = next(item["metadata"] for item in whole if item["kind"] == "Pod" and "report" in item["metadata"]["name"])
        what = [("pool", pool), ("node", node), ("pod", f"{pod['namespace']}/{pod['name']}")]
        return [[command, *pair, "--snapshot", file, *form] for pair in what for form in forms[:2]]
    texts = {
        "forward": ["--horizon", "10m"],
        "headroom": ["--most", "20"],
        "plan": ["--horizon", "10m", "-f", applied(file)],
        "rightsize": ["--horizon", "10m", "--krr", recommended(file)] if command == "rightsize" else [],
        "solve": ["pending", "--tries", "8"],
    }.get(command, [])
    told = {
        "forward": ("table", "json"),
        "packing": ("table", "json"),
        "plan": PROSE,
        "verdict": PROSE,
        "solve": SOLVED,
    }.get(command, FORMS)
    patch = [[command, "--snapshot", file, *texts, "--patch"]] if command == "rightsize" else []
    return [[command, "--snapshot", file, *texts, "-o", form] for form in told] + patch


def hostile_audit(file: str) -> str:
    """Write an audit file with hostile text, and return its path."""
    path = Path(file).with_suffix(".audit")
    texts = dict.fromkeys(("context", "server", "user", "action", "method", "path", "reason", "time"), EVERYTHING)
    names = dict.fromkeys(("kind", "namespace", "name", "uid"), EVERYTHING)
    diff = [{"field": EVERYTHING, "before": [EVERYTHING], "after": {EVERYTHING: EVERYTHING}}]
    begun = {**texts, "id": "a", "userFrom": "server", "phase": "before", "object": names, "diff": diff}
    ended = {**begun, "phase": "after", "outcome": EVERYTHING, "message": EVERYTHING}
    path.write_text("".join(json.dumps(line) + "\n" for line in (begun, ended)))
    return str(path)


def hostile_history(file: str) -> str:
    """Write a snapshot as a history in which every object changes, with marks, and return its path."""
    path = Path(file).with_suffix(".karptui")
    if path.exists():
        return str(path)
    whole = json.loads(Path(file).read_text())
    changes = []
    for number, manifest in enumerate(whole["objects"]):
        kind = str(kind_of(manifest["apiVersion"], manifest["kind"]))
        for at_ns in (number % 2, 60):
            edited = {**manifest, "spec": {**manifest.get("spec", {}), f"replicas{TEXT}": f"{at_ns}{TEXT}"}}
            written = edited if at_ns else manifest
            changes.append(a_change(NOW_NS + at_ns * NS_PER_SECOND, written, kind=kind, manager=f"argocd{TEXT}"))
    writer = HistoryWriter(path, whole["name"])
    writer.write_key([change for change in changes if change.at_ns == NOW_NS])
    writer.finish_key(NOW_NS)
    writer.write([change for change in changes if change.at_ns > NOW_NS])
    causes = ("verdict", "verdict-over", "disruption", "launch-refused", "edit", "restart", "gap")
    marks = [
        Mark(at_ns=NOW_NS + number, cause=cause, code=TEXT, object_kind=TEXT, name=TEXT, text=TEXT, pool=TEXT)
        for number, cause in enumerate(causes, 1)
    ]
    writer.write_marks(marks)
    writer.write_samples([Sample(at_ns=NOW_NS + NS_PER_SECOND, pool=pool, nodes=1) for pool in ("", TEXT)])
    writer.close()
    return str(path)


def recommended(file: str) -> str:
    """Write a KRR result for a snapshot's pods, and return its path."""
    scans = [
        {
            "object": {
                "kind": owner["kind"],
                "namespace": manifest["metadata"]["namespace"],
                "name": owner["name"],
                "container": manifest["spec"]["containers"][0].get("name", ""),
            },
            "recommended": {"requests": {"cpu": {"value": 0.05}, "memory": {"value": 5e7}}},
        }
        for manifest in json.loads(Path(file).read_text())["objects"]
        if manifest["kind"] == "Pod"
        for owner in manifest["metadata"].get("ownerReferences", ())
    ]
    return str(written(Path(file).parent / "krr.json", {"scans": scans, "strategy": {"name": TEXT}}))


def applied(file: str) -> str:
    """Write a snapshot's NodePools as manifests, and return their path."""
    whole = json.loads(Path(file).read_text())["objects"]
    path = Path(file).parent / "pools.yaml"
    path.write_text(yaml.safe_dump_all([item for item in whole if item["kind"] == "NodePool"]))
    return str(path)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("record", "completion", "mcp", "watch")])
def test_hostile_text_is_printed_escaped(
    command: str, file: str, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    is_everywhere = "everywhere" in request.node.name
    for words in lines(command, file):
        status = main(words)
        out, err = capsys.readouterr()
        assert harmless(out, is_json=words[-1] == "json"), ascii(out[:2000])
        assert harmless(err, is_json=False), ascii(err)
        if is_everywhere:
            assert status in (0, 1, 2, 3, 4), err
            assert out or err
            continue
        assert status in ((2,) if command == "do" else (0, 1, 3, 4)), err
        if words[-1] == "json":
            for line in out.splitlines() if command == "simulate" else [out]:
                json.loads(line)
        # No remedy frees a node here, a card is a folder, and do refuses a snapshot: these print no rows.
        is_empty = (command == "remedies" and "remed" in err) or command in ("card", "do")
        assert out or is_empty or words[-1] == "csv", "CSV output has rows"


def test_an_unknown_capacity_type_is_printed_cleaned(tmp_path: Path, run: Run) -> None:
    document = json.loads(json.dumps(troubles_document()))
    pool = next(manifest for manifest in document["objects"] if manifest["kind"] == "NodePool")
    pool["spec"]["template"]["spec"]["requirements"] = []
    for instance_type in document["instanceTypes"]:
        for part in (instance_type, *instance_type["offerings"]):
            for requirement in part["requirements"]:
                if requirement["key"] == "karpenter.sh/capacity-type":
                    requirement["values"] = [f"odd{EVERYTHING}"]
    path = written(tmp_path / "hostile.json", document)
    for form in ("table", "wide", "csv", "json"):
        out, err = run("types", "--pool", pool["metadata"]["name"], "--snapshot", str(path), "-o", form)
        assert "odd" in out
        assert harmless(out, is_json=form == "json")
        assert harmless(err, is_json=False)


def test_a_recording_on_standard_output_is_ascii(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "hostile.json", hostile_everywhere())
    assert main(["record", "-", "--snapshot", str(path)]) in (0, 1)
    out, err = capsys.readouterr()
    assert harmless(out, is_json=True)
    assert harmless(err, is_json=False)


def test_only_the_streams_module_prints() -> None:
    folder = Path(karptui.cli.__file__).parent
    direct = re.compile(r"\bprint\(|std(?:out|err)(?:\.buffer)?\.write|sys\.stdout[,)]")
    names = {path.name for path in folder.glob("*.py") if direct.search(path.read_text())}
    assert names == {"streams.py"}


def test_every_hidden_character_is_escaped() -> None:
    every = "".join(map(chr, range(0x110000)))
    left = escaped(every)
    hidden = {char for char in every if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n", "\t"}
    assert not hidden & set(left)
    assert "é😀…—" in escaped("é😀…—")
    value = {"a\u202eb": "x\x1b\u200b", "c": ["d\u2066", "tab\tand\nline\u061c"]}
    text = to_yaml(value)
    assert escaped(text) == text
    assert load_documents(text) == [value]
    assert load_documents("\n".join(write_block(value, indent=0))) == [value]
    assert harmless("\n".join(write_block(value, indent=0)), is_json=False)
