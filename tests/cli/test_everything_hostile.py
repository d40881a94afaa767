"""Whatever a cluster's objects are called: tables and CSV hold nothing a terminal acts on, JSON is ASCII."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from karptui.cli.main import COMMANDS, main
from tests.troubles import troubles_document

TEXTS: Final = ("\x1b[2J\x1b]0;owned\x07", "\u202egnp.exe", "a\nb\r\tc", "\x9b31mred", "[bold]x[/]", "\U0001f600é")
NAMED: Final = frozenset({"Pod", "Node", "NodePool", "NodeClaim", "EC2NodeClass", "PersistentVolumeClaim", "Event"})
FORMS: Final = ("table", "json", "csv")
PROSE: Final = ("text", "markdown", "json")
SOLVED: Final = (*PROSE, "scenario", "yaml", "patch")


def hostile(text: str) -> dict[str, Any]:
    """Return the troubles with a text behind every name that people give and in what is said; pods hold nodes."""
    document = json.loads(json.dumps(troubles_document()))
    names = {one["metadata"]["name"] for one in document["objects"] if one["kind"] in NAMED}

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: changed(one) for key, one in value.items()}
        if isinstance(value, list):
            return [changed(one) for one in value]
        return f"{value}{text}" if value in names or value == "Pod should schedule on: nodeclaim/spot-gone1" else value

    objects = [changed(one) for one in document["objects"]]
    for one in objects:
        if one["kind"] == "Pod" and one["spec"].get("nodeName"):
            one["metadata"].setdefault("annotations", {})["karpenter.sh/do-not-disrupt"] = "true"
    return {**document, "name": f"evil{text}", "objects": objects}


def harmless(text: str, *, is_json: bool) -> bool:
    """Whether nothing in a text is acted on by a terminal."""
    if is_json:
        return text.isascii() and all(char >= " " or char == "\n" for char in text)
    return not [char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") and char != "\n"]


@pytest.fixture(params=TEXTS, ids=ascii, name="file")
def hostile_file(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(hostile(request.param)))
    return str(path)


def lines(command: str, file: str) -> list[list[str]]:
    """Return the command lines of a command, in every form."""
    forms = [["-o", form] for form in FORMS]
    if command in ("simulate", "sweep"):
        own = (
            ["--set", "VM_MEMORY_OVERHEAD_PERCENT=0.05,0.06", "--jobs", "1"] if command == "sweep" else ["--disruption"]
        )
        return [[command, file, *own, *form] for form in forms[: 3 if command == "sweep" else 2]]
    if command == "explain":
        whole = json.loads(Path(file).read_text())["objects"]
        pool = next(one["metadata"]["name"] for one in whole if one["kind"] == "NodePool")
        node = next(one["metadata"]["name"] for one in whole if one["kind"] == "Node")
        pod = next(one["metadata"] for one in whole if one["kind"] == "Pod" and "report" in one["metadata"]["name"])
        what = [("pool", pool), ("node", node), ("pod", f"{pod['namespace']}/{pod['name']}")]
        return [[command, *one, "--snapshot", file, *form] for one in what for form in forms[:2]]
    own = {
        "forward": ["--horizon", "10m"],
        "headroom": ["--most", "20"],
        "plan": ["--horizon", "10m", "-f", applied(file)],
        "solve": ["pending", "--tries", "8"],
    }.get(command, [])
    told = {
        "forward": ("table", "json"),
        "packing": ("table", "json"),
        "plan": PROSE,
        "verdict": PROSE,
        "solve": SOLVED,
    }.get(command, FORMS)
    return [[command, "--snapshot", file, *own, "-o", form] for form in told]


def applied(file: str) -> str:
    """Write the NodePools of a snapshot as manifests, and return the file."""
    whole = json.loads(Path(file).read_text())["objects"]
    path = Path(file).parent / "pools.yaml"
    path.write_text(yaml.safe_dump_all([one for one in whole if one["kind"] == "NodePool"]))
    return str(path)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("record", "completion")])
def test_nothing_hostile_is_printed(command: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in lines(command, file):
        status = main(words)
        out, err = capsys.readouterr()
        assert status in (0, 1, 3, 4), err
        assert harmless(out, is_json=words[-1] == "json"), ascii(out[:2000])
        assert harmless(err, is_json=False), ascii(err)
        if words[-1] == "json":
            for line in out.splitlines() if command == "simulate" else [out]:
                json.loads(line)
        # What keeps a node cannot be taken away here so that the node goes.
        is_empty = command == "remedies" and "no remedies" in err
        assert out or is_empty or words[-1] == "csv", "without rows CSV has no header"


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("completion", "simulate", "sweep")])
def test_what_cannot_be_read_is_a_sentence(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    extra = {"explain": ["pool", "general"], "solve": ["pending"], "record": [str(tmp_path / "out.json")]}.get(
        command, []
    )
    for flags in (
        ["--snapshot", str(broken)],
        ["--snapshot", str(tmp_path / "no such file")],
        ["--demo", "--snapshot", "x"],
    ):
        assert main([command, *extra, *flags]) == 2, flags
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("karptui")
        assert "Traceback" not in err
        assert len(err.strip().splitlines()) == 1
