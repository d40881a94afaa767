from __future__ import annotations

import re
from pathlib import Path

import pytest

from karptui.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "model-provisioning.md"
CASES = re.findall(r"```console\n\$ karptui ([^\n]+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_there_are_cases() -> None:
    assert len(CASES) == 6
    used = {Path(words.split()[-1]).name for words, _ in CASES}
    assert used == {path.name for path in (ROOT / "docs" / "cases").iterdir()}


@pytest.mark.parametrize(("words", "output"), CASES, ids=lambda text: text.split("\n")[0][:40])
def test_the_page_shows_what_the_command_prints(
    words: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(words.split()) == 0
    assert capsys.readouterr().out == output
