"""The k9s plugins start karptui on the object under the cursor; kubectl finds its plugin."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from karptui.cli.parser import build_parser, split
from tests.builders.files import written

ROOT = Path(__file__).parents[2]
PLUGINS: dict[str, Any] = yaml.safe_load((ROOT / "contrib" / "k9s" / "plugins.yaml").read_text())["plugins"]
VALUES = {"$CONTEXT": "prod eu", "$NAMESPACE": "web", "$NAME": "it's-1; touch no"}
TARGETS = {"karptui-node": ("node", VALUES["$NAME"]), "karptui-pod": ("pod", f"web/{VALUES['$NAME']}")}
TARGETS["karptui-pool"] = ("pool", VALUES["$NAME"])
OF_K9S = set("NASOJVFKRCLPU")
"""Letters that k9s uses with shift in some view."""
FAKE = f"""#!{sys.executable}
import json, os, sys
print(json.dumps([os.environ["KUBECONFIG"], *sys.argv[1:]]))
"""


@pytest.mark.parametrize("kubeconfig", ["", "/a/one:/b/two"])
@pytest.mark.parametrize("name", PLUGINS)
def test_a_key_starts_karptui_on_the_object(name: str, kubeconfig: str, tmp_path: Path) -> None:
    program = written(tmp_path / "karptui", FAKE)
    program.chmod(0o755)
    plugin, values = PLUGINS[name], {**VALUES, "$KUBECONFIG": kubeconfig}
    words = [plugin["command"], *(values.get(word, word) for word in plugin["args"])]
    path = f"{tmp_path}:/usr/bin:/bin"
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={"PATH": path}, cwd=tmp_path)
    given, *line = json.loads(done.stdout)
    assert given == kubeconfig
    command, rest = split(line)
    args = build_parser(command).parse_args(rest)
    assert (args.context, args.kubeconfig) == ("prod eu", None)
    if name in TARGETS:
        assert (command, args.kind, args.name) == ("explain", *TARGETS[name])
    else:
        assert command is None
    assert [path.name for path in tmp_path.iterdir()] == ["karptui"]


def test_keys_are_free_in_k9s() -> None:
    keys = Counter((plugin["shortCut"], scope) for plugin in PLUGINS.values() for scope in plugin["scopes"])
    assert set(keys.values()) == {1}
    assert not {plugin["shortCut"].removeprefix("Shift-") for plugin in PLUGINS.values()} & OF_K9S


def test_kubectl_finds_its_plugin() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["kubectl-karp"] == scripts["karptui"]
