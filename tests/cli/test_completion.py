from __future__ import annotations

import shutil
import subprocess

import pytest

from karptui.cli.main import COMMANDS, main


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_knows_every_command_and_its_flags(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    assert all(command in text for command in COMMANDS)
    for flag in ("snapshot", "context", "extra-labels", "redact", "filter"):
        assert flag in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_accepts_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=text.encode(), check=True, capture_output=True, timeout=30)


@pytest.mark.parametrize(
    ("words", "expected", "unexpected"),
    [
        ("karptui ''", {"nodes", "pods", "--demo", "--theme"}, {"--redact"}),
        ("karptui no", {"nodes"}, {"pods"}),
        ("karptui nodes --so", {"--sort-by"}, {"--theme"}),
        ("karptui nodes -o ''", {"table", "wide", "json", "csv"}, {"--demo"}),
        ("karptui --demo pods --name", {"--namespace"}, {"--node-sort"}),
        ("karptui --screen ''", {"nodes", "budgets"}, {"explain", "--demo"}),
        ("karptui --theme ''", {"textual-dark", "nord"}, {"nodes", "--demo"}),
        ("karptui nodes --sort-by ''", set(), {"--demo", "--filter"}),
        ("karptui explain ''", {"pod", "node", "pool"}, {"nodes"}),
        ("karptui completion ''", {"bash", "zsh", "fish"}, {"nodes"}),
        ("karptui record --re", {"--redact", "--request-timeout"}, {"--force"}),
    ],
)
def test_bash_completes(
    words: str, expected: set[str], unexpected: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = script("bash", capsys)
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    ask = (
        f'COMP_WORDS=({words}); COMP_CWORD=$(({len(words.split())} - 1)); _karptui; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    result = subprocess.run(["bash", "-c", f"{text}\n{ask}"], check=True, capture_output=True, timeout=30)
    found = set(result.stdout.decode().split())
    assert expected <= found
    assert not unexpected & found


def test_only_shells_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
