"""`karptui mcp`, called by the MCP SDK's client over stdio."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from karptui.cli.main import main
from karptui.cli.mcp_tools import OUTPUT, TOOL_OF, TOOLS, ToolError, command_line, input_schema, shortened
from karptui.cli.options import CLUSTER_FLAGS, PRICE_FLAGS, cluster_words
from karptui.cli.parser import build_parser
from karptui.paths import own_command
from tests.cli.conftest import Run
from tests.cli.files import OBJECTS, a_file
from tests.histories import record_demo

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"
EDIT = "name: weight\nedits:\n- {edit: removeNode, name: node-1}\n"


def schema(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((SCHEMAS / f"{name}.json").read_text()))


async def in_this_process(command: list[str], *, input: bytes, cwd: Path | None, **_: object) -> SimpleNamespace:  # noqa: A002
    """Run a command in this process instead of a child process; the test over stdio starts real ones."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd or "."), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(command[len(own_command()) :])
    return SimpleNamespace(returncode=status, stdout=out.getvalue().encode(), stderr=err.getvalue().encode())


def ask(words: Sequence[str], *calls: tuple[str, Mapping[str, str]], runs: Any = in_this_process) -> list[Any]:
    """Return the results of tool calls, answered in this process."""
    # Imported here, because the import takes a second.
    from mcp_types import CallToolRequestParams

    from karptui.cli.mcp_server import _Assistant

    args = build_parser("mcp").parse_args(["mcp", *words])

    async def asked(folder: Path) -> list[Any]:
        assistant = _Assistant(args, folder)
        asked_for = (CallToolRequestParams(name=name, arguments=dict(given)) for name, given in calls)
        return [await assistant._call(None, params) for params in asked_for]

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("karptui.cli.mcp_server.anyio.run_process", runs)
        return anyio.run(asked, Path(folder))


def ask_over_stdio(words: Sequence[str], *calls: tuple[str, Mapping[str, str]]) -> list[Any]:
    """Start the server as a client does, and return its list of tools, then the results of the calls."""
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def asked() -> list[Any]:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "karptui", "mcp", *words], env=dict(os.environ)
        )
        with Path(os.devnull).open("w") as log:
            async with Client(stdio_client(command, errlog=log)) as client:
                tools = (await client.list_tools()).tools
                return [tools, *[await client.call_tool(name, dict(given)) for name, given in calls]]

    return anyio.run(asked)


def text_of(result: Any) -> str:
    return str(result.content[0].text)


def test_tools_give_the_answers_of_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = a_file(tmp_path)
    tools, verdict, whatif, node = ask_over_stdio(
        ["--snapshot", file, "--no-redact"],
        ("verdict", {}),
        ("what_if", {"scenario": EDIT}),
        ("explain", {"kind": "node", "name": "node-1"}),
    )
    assert [tool.name for tool in tools] == list(TOOL_OF)
    assert all(tool.annotations.read_only_hint and not tool.annotations.destructive_hint for tool in tools)
    for result, words, name in (
        (verdict, ["verdict"], "verdict"),
        (node, ["explain", "node", "node-1"], "explain-node"),
    ):
        main([*words, "-o", "json", "--snapshot", file])
        Draft202012Validator(OUTPUT).validate(result.structured_content)
        assert result.structured_content["answer"] == json.loads(capsys.readouterr().out)
        assert json.loads(text_of(result)) == result.structured_content
        schema(name).validate(result.structured_content["answer"])
    assert not whatif.is_error, text_of(whatif)
    schema("simulate-scenario").validate(whatif.structured_content["answer"])
    assert whatif.structured_content["answer"]["scenario"] == "weight"


def test_answers_contain_neither_names_nor_free_text(tmp_path: Path) -> None:
    message = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "secret-host is down"}
    sick = json.loads(json.dumps(OBJECTS[0]).replace("node-1", "acme-node"))
    sick["status"]["conditions"] = [message]
    file = a_file(tmp_path, sick, name="acme-prod")
    verdict, pending, wrong = ask(
        ["--snapshot", file], ("verdict", {}), ("pending", {}), ("explain", {"kind": "node", "name": "acme-node"})
    )
    name = pending.structured_content["answer"][0]["name"]
    assert "job-1" not in name
    assert wrong.is_error
    assert text_of(wrong).startswith("there is no node acme-node")
    for result in (verdict, pending):
        assert not [word for word in ("acme", "secret", "node-1", "api-1", str(tmp_path)) if word in text_of(result)]
    # Other tools accept the pseudonym as a name.
    (explained,) = ask(["--snapshot", file], ("explain", {"kind": "pod", "name": name}))
    assert explained.structured_content["answer"][0]["name"] == name


def test_changes_of_a_history_use_pseudonyms(tmp_path: Path) -> None:
    history = tmp_path / "prod.karptui"
    record_demo(history, 240, cluster="acme-prod")
    (plain,) = ask(["--snapshot", str(history), "--no-redact"], ("changes", {"from": "-3m"}))
    result, wrong = ask(["--snapshot", str(history)], ("changes", {"from": "-3m"}), ("changes", {"from": "9m"}))
    schema("changes").validate(result.structured_content["answer"])
    kinds = [row["kind"] for row in result.structured_content["answer"]]
    assert sorted(kinds) == sorted(row["kind"] for row in plain.structured_content["answer"])
    assert "general" in text_of(plain)
    assert not [word for word in ("trino", "acme", "general", "ip-10") if word in text_of(result)]
    assert wrong.is_error
    assert text_of(wrong).startswith("changes: '9m' is not")


def test_an_unreadable_cluster_is_named_on_standard_error_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (result,) = ask(["--kubeconfig", str(tmp_path / "acme.yaml")], ("verdict", {}))
    assert result.is_error
    assert "acme" not in text_of(result)
    assert "acme.yaml" in capsys.readouterr().err


def test_a_long_answer_is_shortened_and_reports_it(tmp_path: Path) -> None:
    jobs = [json.loads(json.dumps(OBJECTS[-1]).replace("job-1", f"task{number}-x")) for number in range(40)]
    for number, job in enumerate(jobs):
        job["metadata"]["ownerReferences"] = []
        job["spec"]["nodeSelector"] = {"team": f"none-{number}"}
    result, slow = ask(
        ["--snapshot", a_file(tmp_path, *jobs), "--no-redact", "--kilobytes", "8"], ("pending", {}), ("tasks", {})
    )
    structured_content = result.structured_content
    schema("pending").validate(structured_content["answer"])
    assert len(json.dumps(structured_content["answer"])) <= 8 << 10
    assert structured_content["leftOff"][0] == {"list": "answer", "kept": len(structured_content["answer"]), "of": 41}
    assert slow.is_error
    assert "there is no tool tasks; the tools: verdict, explain" in text_of(slow)


def test_a_slow_answer_is_cancelled_after_the_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # At least half a second: asyncio leaves a process running if it is cancelled while the process starts.
    slow = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr("karptui.cli.mcp_server.own_command", lambda *_: slow)
    (result,) = ask(
        ["--snapshot", a_file(tmp_path), "--no-redact", "--timeout", "0.5s"], ("forward", {}), runs=anyio.run_process
    )
    assert text_of(result) == (
        "forward: no answer within 0.5 s; ask about less, or start karptui mcp with a longer --timeout"
    )


def test_sigterm_leaves_no_recording_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    (home := tmp_path / "home").mkdir()
    words = [sys.executable, "-m", "karptui", "mcp", "--snapshot", a_file(home)]
    (folder := tmp_path / "tmp").mkdir()
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        for message in (
            {"id": 1, "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "verdict", "arguments": {}}},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "karptui"
        assert json.loads(process.stdout.readline())["result"]["structuredContent"]["answer"]
        assert [file.name for path in folder.glob("karptui-mcp-*") for file in path.iterdir()]
        process.send_signal(signal.SIGTERM)
        process.wait(20)
    assert not list(folder.iterdir())


def test_without_the_mcp_extra_the_install_command_is_shown(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.delitem(sys.modules, "karptui.cli.mcp_server", raising=False)
    monkeypatch.delitem(sys.modules, "mcp.server.lowlevel", raising=False)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    assert run("mcp", "--demo", status=2).err.endswith("install karptui with the extra mcp\n")


@pytest.mark.parametrize(("tool", "arguments", "message"), [
    ("explain", {"kind": "node", "name": "/etc/passwd"}, "name is invalid"),
    ("explain", {"kind": "node", "name": "../prod.json"}, "name is invalid"),
    ("explain", {"kind": "node", "name": "prod.karptui"}, "name is invalid"),
    ("explain", {"kind": "pod", "name": "web/prod.json.gz"}, "name is invalid"),
    ("explain", {"kind": "node", "name": "--snapshot=x"}, "name is invalid"),
    ("explain", {"kind": "node", "name": "-"}, "name is invalid"),
    ("explain", {"kind": "event", "name": "x"}, "kind is invalid: pod, node or pool."),
    ("explain", {"kind": "node"}, "name is missing"),
    ("pending", {"namespace": "a --demo"}, "namespace is invalid"),
    ("verdict", {"at": "x.json"}, "at is invalid"),
    ("verdict", {"snapshot": "x"}, "there is no argument snapshot; its arguments: at"),
    ("forward", {"horizon": 6}, "horizon is invalid"),
    ("plan", {"manifests": "x" * 300_000}, "manifests is invalid"),
    ("plan", {}, "manifests is missing"),
])  # fmt: skip
def test_a_model_can_pass_neither_flags_nor_files(tool: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        command_line(tool, arguments)


@given(st.sampled_from(TOOLS), st.data())
def test_arguments_that_the_schema_allows_give_a_valid_command_line(tool: Any, data: st.DataObject) -> None:
    properties = input_schema(tool)["properties"]
    given = {name: data.draw(st.from_regex(rule["pattern"], fullmatch=True)) for name, rule in properties.items()}
    line = command_line(tool.name, given)
    extra = ["--at=-5m"] if line.at else []
    words = [word for word in line.words[1:] if not word.startswith(("--from", "--to", "--horizon"))]
    args = build_parser(tool.command.split()[0]).parse_args([*words, *extra])
    assert not getattr(args, "snapshot", None)
    assert not getattr(args, "files", None)
    assert not getattr(args, "snapshots", None)
    assert args.output == "json"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=60,
)


@given(JSON, st.integers(2, 600))
def test_a_shortened_answer_fits_the_size_and_keeps_the_first_items(answer: Any, most: int) -> None:
    before = json.loads(json.dumps(answer))
    try:
        short, left = shortened(answer, most)
    except ToolError:
        return
    assert len(json.dumps(short)) <= most
    assert is_beginning_of(short, before)
    assert bool(left) == (short != before)
    assert all(0 < cut["kept"] < cut["of"] for cut in left)


def is_beginning_of(short: Any, full: Any) -> bool:
    if isinstance(full, dict):
        return short.keys() == full.keys() and all(is_beginning_of(short[name], full[name]) for name in full)
    if isinstance(full, list):
        same = all(map(is_beginning_of, short, full))
        return same and (len(short) > 0 or not full) and len(short) <= len(full)
    return bool(short == full)


def test_flags_passed_to_a_child_process_parse_to_the_same_values() -> None:
    words = ["--context=a=b", "--kubeconfig=k", "--as=me", "--as-group=g", "--as-group=h", "--request-timeout=90s"]
    words += ["--snapshot=x", "--no-aws", "--price-multiplier=0.7", "--karpenter-setting=A=b=c", "--disable-pricing"]
    parser = build_parser("mcp")
    args = parser.parse_args(words)
    names = [name for name in (*CLUSTER_FLAGS, *PRICE_FLAGS) if name not in ("now", "at")]
    again = parser.parse_args(cluster_words(args, names))
    assert {name: getattr(again, name) for name in names} == {name: getattr(args, name) for name in names}
