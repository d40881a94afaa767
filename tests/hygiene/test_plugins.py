"""The k9s plugins call commands that there are, with flags that they take; kubectl finds its plugin."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from karptui.cli.main import build_parser, split

ROOT = Path(__file__).parents[2]
PLUGINS: dict[str, Any] = yaml.safe_load((ROOT / "contrib" / "k9s" / "plugins.yaml").read_text())["plugins"]


@pytest.mark.parametrize("name", PLUGINS)
def test_a_plugin_is_a_command_line_that_is_understood(name: str) -> None:
    plugin = PLUGINS[name]
    assert {"shortCut", "description", "scopes", "command", "args"} <= set(plugin)
    if plugin["command"] == "sh":
        _, script, _, *values = plugin["args"]
        line = script.partition(" | ")[0]
        words = re.sub(r'"([^"]*)"', lambda m: re.sub(r"\$(\d)", lambda n: values[int(n[1]) - 1], m[1]), line).split()
    else:
        words = [plugin["command"], *plugin["args"]]
    assert words[0] == "karptui"
    command, rest = split(words[1:])
    args = build_parser(command).parse_args(rest)
    assert args.context == "$CONTEXT"
    assert args.kubeconfig == "$KUBECONFIG"


def test_kubectl_finds_its_plugin() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["kubectl-karp"] == scripts["karptui"]
