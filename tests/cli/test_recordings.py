"""Every command takes recordings the same way: ``FILE``, or ``--snapshot FILE``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karptui.cli.main import main
from tests.cli.conftest import Run
from tests.troubled_cluster import EXTRA_POOL, troubles_document

OWN = {
    "explain": ["pool", "spot"],
    "plan": ["-f", "pool.txt", "--horizon", "10m"],
    "solve": ["pending", "--tries", "3"],
    "sweep": ["--set", "RESERVED_ENIS=0"],
    "simulate": ["--self-check"],
    "forward": ["--horizon", "10m"],
    "headroom": ["--most", "2"],
    "rehearse": ["--horizon", "10m"],
}


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a recording in the current directory."""
    (tmp_path / "cluster.json").write_text(json.dumps({**troubles_document(), "name": "cluster.json"}))
    (tmp_path / "pool.txt").write_text(EXTRA_POOL)
    monkeypatch.chdir(tmp_path)
    return "cluster.json"


@pytest.mark.parametrize("command", ["nodes", "verdict", "types", *OWN])
def test_a_file_needs_no_flag_to_be_read(command: str, recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [command, *OWN.get(command, [])]
    answers = []
    for file in ([recording], ["--snapshot", recording]):
        status = main([*words, *file])
        output, error = capsys.readouterr()
        assert status != 2, error
        answers.append((status, output))
    assert answers[0] == answers[1]


def test_several_snapshots_have_a_verdict_each(recording: str, run: Run) -> None:
    output, error = run("verdict", recording, "none.json", recording, "-o", "json", status=1)
    first, missing, last = map(json.loads, output.splitlines())
    assert first == last
    assert (first["name"], bool(first["findings"])) == (recording, True)
    assert missing == {"name": "none.json", "error": "none.json: cannot be read: No such file or directory"}
    assert "karptui verdict: none.json: cannot be read" in error
    assert run("verdict", recording, recording).out.count(f"{recording}:\n") == 2
