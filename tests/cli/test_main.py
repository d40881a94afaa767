from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from karptui.cli import main as cli
from karptui.cli.main import main
from karptui.cli.parser import COMMANDS, actions_of, split
from tests.cli.conftest import Run

MODULES = "import sys, json, karptui.cli.main; print(json.dumps(sorted(sys.modules)))"


def test_importing_the_command_line_is_light() -> None:
    output = subprocess.run([sys.executable, "-c", MODULES], check=True, capture_output=True, timeout=60).stdout
    loaded = {name.partition(".")[0] for name in json.loads(output)}
    assert not loaded & {"textual", "rich", "kubernetes", "boto3", "botocore", "yaml", "msgspec", "urllib3", "numpy"}


@pytest.mark.parametrize(("words", "command", "rest"), [
    ([], None, []),
    (["--demo"], None, ["--demo"]),
    (["nodes", "-o", "json"], "nodes", ["-o", "json"]),
    (["--demo", "nodes", "-o", "json"], "nodes", ["-o", "json", "--demo"]),
    (["--context", "prod", "nodes"], "nodes", ["--context", "prod"]),
    (["--context=prod", "nodes"], "nodes", ["--context=prod"]),
    (["--context", "nodes"], None, ["--context", "nodes"]),
    (["--context", "nodes", "pods"], "pods", ["--context", "nodes"]),
    (["--snapshot", "a.json", "b.json", "pods"], "pods", ["--snapshot", "a.json", "b.json"]),
    (["--snapshot", "a.json", "record", "b.json"], "record", ["b.json", "--snapshot", "a.json"]),
    (["--disable-pricing", "nodes"], "nodes", ["--disable-pricing"]),
    (["--", "nodes"], None, ["--", "nodes"]),
    (["nonsense", "nodes"], None, ["nonsense", "nodes"]),
])  # fmt: skip
def test_flags_may_precede_or_follow_the_command(words: list[str], command: str | None, rest: list[str]) -> None:
    assert split(words) == (command, rest)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_list_that_may_be_empty_is_not_required(command: str) -> None:
    """argparse reports a list without a default as a missing argument."""
    arguments = actions_of(command)
    assert not [argument.dest for argument in arguments if argument.nargs == "*" and argument.required]


def test_help_names_every_command(run: Run) -> None:
    text = run("--help").out
    assert all(f"\n  {command} " in text for command in COMMANDS)


def test_a_command_has_no_version_flag() -> None:
    assert main(["nodes", "--version"]) == 2


def test_a_command_accepts_the_still_demo(run: Run) -> None:
    for words in (
        ["budgets", "--demo=still"],
        ["--demo=still", "budgets"],
        ["budgets", "--demo", "--still"],
        ["--demo", "--still", "budgets"],
    ):
        assert "budgets match" in run(*words, "--filter", "pool=none").err


def test_flags_may_be_between_the_arguments_of_a_list(run: Run) -> None:
    """argparse ends a list at the first flag."""
    told = run("solve", "pending", "none-1", "--tries", "1", "none-2", "-o", "json", "none-3", status=1).err
    assert [line.split()[2] for line in told.splitlines()] == ["none-1:", "none-2:", "none-3:"]
    assert "argument SNAPSHOT: the name of a file is empty" in run("solve", "pending", "--tries", "1", "", status=2).err
    assert "unrecognized arguments: more" in run("record", "-", "--demo", "more", status=2).err


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m karptui pods --demo -o csv | head -1"
    words = ["bash", "-c", f"set -o pipefail; {command}"]
    result = subprocess.run(words, check=True, capture_output=True, timeout=60)
    assert result.stdout.startswith(b"name,")
    assert b"Traceback" not in result.stderr
    assert b"Error" not in result.stderr


def test_an_interruption_has_its_own_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("karptui.cli.completion.run", interrupt)
    assert cli.main(["completion", "bash"]) == 130


INTERRUPTED_IMPORT = """
import os, runpy, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has background jobs ignore it

class Interrupting:
    def find_spec(self, name, *_):
        if name == "karptui.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
runpy.run_module("karptui", run_name="__main__", alter_sys=True)
"""


def test_ctrl_c_during_the_first_imports_leaves_no_traceback() -> None:
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED_IMPORT, "--version"], check=False, capture_output=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")


@pytest.mark.crashes
@pytest.mark.parametrize("error", [ZeroDivisionError("cannot send Bearer abc.def"), OSError(9, "odd")])
def test_an_internal_error_names_its_report(error: Exception, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr("karptui.cli.main._execute", fail)
    (line,) = run("nodes", "--demo", status=70).err.splitlines()
    assert line.startswith(f"karptui: internal error while running karptui nodes: {type(error).__name__}")
    assert "; report in " in line
    assert "abc.def" not in line
