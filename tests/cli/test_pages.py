"""Help: examples that the parser accepts, legends of columns and codes, shell completion."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess

import pytest

from karptui.cli.pages import EXAMPLES, Entry, epilog_of, statuses_of
from karptui.cli.parser import COMMANDS, actions_of, build_parser, split
from tests.cli.conftest import Run

LINES = [(command, entry.term) for command, entries in EXAMPLES.items() for entry in entries]


def test_every_command_has_examples() -> None:
    assert set(EXAMPLES) == {"", *COMMANDS}


@pytest.mark.parametrize(("command", "line"), LINES, ids=lambda text: text or "app")
def test_examples_parse(command: str, line: str) -> None:
    words = shlex.split(line.replace("<(", "").replace(")", "").partition(" > ")[0].rpartition(" | ")[2])
    result, rest = split(words[words.index("karptui") + 1 :])
    assert (result or "") == command
    assert build_parser(result).parse_args(rest) is not None


@pytest.mark.parametrize("command", [None, *COMMANDS], ids=lambda name: name or "app")
def test_help_has_examples_and_exit_statuses(command: str | None) -> None:
    text = build_parser(command).format_help()
    assert "\nexamples:\n  karptui" in text or "\nexamples:\n  source" in text
    assert "\nexit status:\n  0 " in text
    assert "nvironment variables" in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_exit_statuses_of_commands() -> None:
    assert [entry.term for entry in statuses_of("simulate")] == ["0", "1", "2", "3", "130"]
    assert [entry.term for entry in statuses_of("advice")] == ["0", "1", "2", "3", "4", "130"]
    assert [entry.term for entry in statuses_of("nodes")] == ["0", "1", "2", "130"]
    assert "KARPTUI_CONFIG" in epilog_of(None)
    assert Entry("0", "done") in statuses_of(None)


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize(("command", "terms"), [
    ("nodes", ("Δ CLAIM", "WHY", "draining 12m", "type not in pool")),
    ("pools", ("NODES", "TYPES", "LAST HOUR")),
    ("claims", ("L/R/I s",)),
    ("pending", ("COMPUTED NOW", "no place")),
    ("headroom", ("NO NODE", "TAKES")),
    ("drill", ("PENDING", "PODS")),
    ("blockers", ("WITHOUT IT", "PDB_MULTIPLE")),
    ("forward", ("two PDBs",)),
    ("next", ("OUTCOME", "blocked (cluster)")),
    ("capacity", ("FREE",)),
    ("explain", ("pods don't fit",)),
])  # fmt: skip
def test_the_help_of_a_command_explains_its_columns_and_codes(command: str, terms: tuple[str, ...]) -> None:
    lines = build_parser(command).format_help().splitlines()
    assert [term for term in terms if not any(line.startswith(f"  {term}  ") for line in lines)] == []


def test_descriptions_are_wrapped_and_start_below_long_terms() -> None:
    sections = (("codes", (Entry("A", "word " * 30), Entry("A_CODE_THAT_IS_AS_LONG_AS_THIS", "short"))),)
    lines = epilog_of("nodes", sections).splitlines()
    start = lines.index("codes:")
    assert lines[start + 1].startswith("  A                     word word")
    assert lines[start + 2].startswith("                        word word")
    at = lines.index("  A_CODE_THAT_IS_AS_LONG_AS_THIS")
    assert lines[at + 1] == "                        short"
    assert all(len(line) < 80 for line in lines[start : at + 2])


def script(shell: str, run: Run) -> str:
    return run("completion", shell).out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_has_commands_and_flags_and_valid_syntax(shell: str, run: Run) -> None:
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


def test_fish_completes(run: Run) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    text = script("fish", run)
    ask = f"{text}\ncomplete -C 'karptui do '\ncomplete -C 'karptui nodes --sor'\ncomplete -C 'karptui solve '"
    done = subprocess.run(["fish", "--no-config"], input=ask, check=True, capture_output=True, text=True, timeout=60)
    assert {"cordon", "--sort-by", "weight"} <= {line.split("\t")[0] for line in done.stdout.splitlines()}
