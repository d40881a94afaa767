"""Unusable files and names: commands print a message on standard error and exit with 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from karptui.cli.parser import COMMANDS
from tests.cli.conftest import Run

NOT_READERS = (
    "audit", "changes", "completion", "do", "explain", "history", "mcp", "record", "simulate", "sweep", "watch",
)  # fmt: skip
READERS = tuple(name for name in COMMANDS if name not in NOT_READERS)
EMPTY = "the name of a file is empty; a variable that is not set?"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to a directory whose files form a valid snapshot."""
    (tmp_path / "cluster.json").write_text("[]")
    (tmp_path / "pool.yaml").write_text("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: x}\n")
    monkeypatch.chdir(tmp_path)


def words_of(command: str, file: str) -> list[str]:
    """Return a command line that makes the command read a snapshot."""
    return {
        "do": ["do", "cordon", "x", "--snapshot", file],
        "explain": ["explain", "node", "x", "--snapshot", file],
        "record": ["record", "-", "--snapshot", file],
        "sweep": ["sweep", "--set", "VM_MEMORY_OVERHEAD_PERCENT=0.05,0.06", "--snapshot", file],
        "simulate": ["simulate", "--self-check", "--snapshot", file],
        "plan": ["plan", "-f", "pool.yaml", "--snapshot", file],
        "solve": ["solve", "pending", "--snapshot", file],
        "": ["--snapshot", file],
    }.get(command, [command, "--snapshot", file])


@pytest.mark.parametrize("command", ["", *(name for name in COMMANDS if name not in ("audit", "completion"))])
def test_an_empty_name_is_not_the_current_directory(command: str, run: Run) -> None:
    output, error = run(*words_of(command, "  " if command == "nodes" else ""), status=2)
    assert not output
    assert error.startswith(f"karptui{f' {command}' if command else ''}: argument --snapshot: {EMPTY}")


@pytest.mark.parametrize(("command", "text", "sentence"), [
    ("plan", b"error: You must be logged in to the server", "has no kind: it is not a Kubernetes object"),
    ("record", b"5", "is a number, not a Kubernetes object"),
    ("solve", b"\x80", "is not UTF-8: line 1 holds the byte 0x80; save it as UTF-8"),
    ("changes", b"Log in", "is not a history that karptui has recorded"),
    ("history", b"Log in", "is not a history that karptui has recorded"),
    *((command, b"Log in", "is text, not a Kubernetes object: Log in") for command in READERS),
])  # fmt: skip
def test_a_file_without_objects_is_refused(command: str, text: bytes, sentence: str, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(text)
    output, error = run(*words_of(command, str(file)), status=2)
    assert not output
    assert error == f"karptui {command}: {file}: {sentence}\n"


@pytest.mark.parametrize("words", [
    ["nodes", "--snapshot", "bomb.yaml"],
    ["nodes", "--kubeconfig", "bomb.yaml"],
    ["simulate", "--demo", "--scenario", "bomb.yaml"],
    ["plan", "--demo", "-f", "bomb.yaml"],
])  # fmt: skip
def test_exponential_yaml_merge_keys_are_refused_in_every_input(words: list[str], run: Run) -> None:
    merges = [f"- &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 40)]
    Path("bomb.yaml").write_text("\n".join(["- &a0 {k: 1}", *merges]))
    output, error = run(*words, status=2)
    assert not output
    assert "bomb.yaml" in error
    assert "aliases" in error
    assert error.count("\n") == 1


OUT_OF_RANGE = {
    "path": "{edit: set, object: NodePool/general, path: spec." + "a." * 50_000 + "b, value: 1}",
    "overhead": "{edit: setting, name: VM_MEMORY_OVERHEAD_PERCENT, value: '1e308'}",
}


@pytest.mark.parametrize("words", [["simulate"], ["forward", "--horizon", "1m"]], ids=lambda words: words[0])
@pytest.mark.parametrize(("edit", "status", "why"), [
    ("path", 2, "scenario.yaml: edits[0].path: 'spec.a.a"),
    ("overhead", 1, "VM_MEMORY_OVERHEAD_PERCENT is 1e+308, must be a fraction of memory (0.075), at most 1000"),
])  # fmt: skip
def test_a_scenario_value_out_of_range_gives_a_short_message(
    words: list[str], edit: str, status: int, why: str, run: Run
) -> None:
    Path("scenario.yaml").write_text(f"edits:\n- {OUT_OF_RANGE[edit]}\n")
    output, error = run(*words, "--demo", "--scenario", "scenario.yaml", status=status)
    assert why in output + error
    assert len(error) < 500
