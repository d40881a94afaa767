from __future__ import annotations

import argparse
import shutil
import subprocess

import pytest

from karptui.cli.main import COMMANDS, actions_of
from tests.cli.conftest import Run


def script(shell: str, run: Run) -> str:
    return run("completion", shell).out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_has_every_command_and_flag_and_the_shell_accepts_it(shell: str, run: Run) -> None:
    text = script(shell, run)
    assert all(command in text for command in COMMANDS)
    for flag in ("snapshot", "context", "extra-labels", "redact", "filter"):
        assert flag in text
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=text.encode(), check=True, capture_output=True, timeout=30)


@pytest.mark.parametrize(("words", "expected", "unexpected"), [
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
])  # fmt: skip
def test_bash_completes(words: str, expected: set[str], unexpected: set[str], run: Run) -> None:
    text = script("bash", run)
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    ask = (
        f'COMP_WORDS=({words}); COMP_CWORD=$(({len(words.split())} - 1)); _karptui; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    result = subprocess.run(["bash", "-c", f"{text}\n{ask}"], check=True, capture_output=True, timeout=30)
    texts = set(result.stdout.decode().split())
    assert expected <= texts
    assert not unexpected & texts


def test_bash_completes_every_flag_and_first_word_of_every_command(run: Run) -> None:
    asks = "\n".join(
        f"COMP_WORDS=(karptui {command} {word}); COMP_CWORD=2; COMPREPLY=(); _karptui; "
        f'echo "{command}" "${{COMPREPLY[@]}}"'
        for command in COMMANDS
        for word in ("-", "''")
    )
    asked = f"{script('bash', run)}\n{asks}"
    done = subprocess.run(["bash"], input=asked, check=True, capture_output=True, text=True, timeout=60)
    texts: dict[str, set[str]] = {command: set() for command in COMMANDS}
    for line in done.stdout.splitlines():
        command, *words = line.split()
        texts[command] |= set(words)
    for command in COMMANDS:
        actions = [action for action in actions_of(command) if action.help is not argparse.SUPPRESS]
        flags = {name for action in actions for name in action.option_strings}
        choices = next((set(action.choices or ()) for action in actions if not action.option_strings), set())
        assert flags | choices <= texts[command], command
    assert {"cordon", "apply"} <= texts["do"]
    assert {"pending", "weight"} <= texts["solve"]


def test_fish_itself_completes(run: Run) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    text = script("fish", run)
    ask = f"{text}\ncomplete -C 'karptui do '\ncomplete -C 'karptui nodes --sor'\ncomplete -C 'karptui solve '"
    done = subprocess.run(["fish", "--no-config"], input=ask, check=True, capture_output=True, text=True, timeout=60)
    assert {"cordon", "--sort-by", "weight"} <= {line.split("\t")[0] for line in done.stdout.splitlines()}
