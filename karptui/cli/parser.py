"""The commands and flags of karptui."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, NoReturn

from karptui import __version__
from karptui.cli.options import flags_by_value
from karptui.cli.pages import epilog_of
from karptui.cli.streams import put
from karptui.views.sanitize import page

COMMANDS: Final = MappingProxyType(
    {
        "nodes": "list nodes, and NodeClaims that have no node yet",
        "pools": "list NodePools in the order Karpenter tries them, with limits, types and overlap",
        "pods": "list pods with their requests and nodes",
        "pending": "list pending pods, grouped by cause, with the messages of Karpenter and kube-scheduler",
        "explain": "explain why a pod is pending, why a node is still here, or which pods a NodePool takes",
        "simulate": "simulate Karpenter's decisions for snapshots, or the effect of scenarios",
        "sweep": "compare values of a setting or field: nodes, costs, pending pods",
        "verdict": "list the problems of a cluster, worst first, one sentence each with its cost",
        "blockers": "list everything that keeps Karpenter from disrupting each node",
        "remedies": "list remedies for blocked nodes, each simulated, best first",
        "next": "show Karpenter's next disruption command, and the nodes it would remove without their blockers",
        "forward": "forecast clusters: Karpenter's decisions over time, and the result",
        "plan": "show the effect of applying manifests: decisions, costs, drift, rollout, risks",
        "drill": "show which pods become unschedulable if a zone, a capacity type or a NodePool is lost",
        "headroom": "count how many more of a pod fit: on existing nodes, on new ones, until a limit stops launches",
        "solve": "find the change that reaches a goal: nothing pending, cheapest families, weights, overhead, others",
        "rightsize": "show nodes and costs if requests were as VPA, KRR or usage recommend, and write the patches",
        "policies": "compare consolidation policies and values of consolidateAfter: savings and evictions",
        "pause": "show how to stop voluntary disruption, what continues during the pause, and what its end releases",
        "rollout": "show whether changes of NodePools and NodeClasses are rolled out, the time left, and blockers",
        "timeouts": "list nodes that consolidation does not evaluate before its timeout",
        "rehearse": "simulate moving node groups to Karpenter: launches, unschedulable pods, costs",
        "claims": "list NodeClaims: their life, drift, expiry and drain",
        "capacity": "list nodes, pods, free resources and cost by zone, NodePool or instance type",
        "packing": "draw how pods fill nodes, now or before and after scenarios: a picture, or JSON",
        "churn": "show how many nodes are replaced, the reasons, their lifetimes and replacement loops",
        "changes": "list what changed between two moments of a recorded history, and who changed it",
        "history": "show nodes, cost, launches, removals, evictions and savings over time, from the recorded history",
        "budgets": "list how many nodes of each NodePool may be disrupted, now and when",
        "types": "list the instance types that NodePools may launch, and where their memory goes",
        "events": "list Karpenter's events and the history of nodes, grouped by object and reason",
        "advice": "list problems in a cluster's objects, with remedies; the exit status shows the worst severity",
        "card": "write an incident card: the last minutes under pseudonyms, the verdict, and pictures of screens",
        "watch": "follow a cluster without a screen: record its history, print changes of the verdict, serve metrics",
        "mcp": "answer an assistant's questions about a cluster: read-only tools of the Model Context Protocol",
        "record": "write a cluster to a snapshot file, without secrets",
        "do": "dry-run a change on the server, or carry it out: cordon, do-not-disrupt, evict, scale, apply and others",
        "audit": "list the changes that karptui made to clusters, from this machine's audit file",
        "completion": "print the completion script for a shell",
    }
)
"""Name and one line of every command; the module of the same name has ``configure(parser)`` and ``run(args)``."""
LISTS: Final = frozenset({"nodes", "pods", "pending", "claims", "capacity", "budgets", "events"})
"""Commands that `karptui.cli.lists` declares instead."""
_FORMER_NAMES: Final = MappingProxyType({"unreached": "timeouts"})
"""Current name by former name of a command."""
_PAST: Final = re.compile(r"-[0-9]")
OPEN: Final = "open"
"""The module behind a call without a command."""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one sentence and where to read more, not a page."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # As of negative numbers: -20m is the value of the flag before it. No flag begins with a digit.
        self._negative_number_matcher = _PAST

    command: str | None = None
    """The command whose columns and codes its help explains; None for the app."""

    def format_help(self) -> str:
        """Return the help; what columns mean is looked up only here, as it takes the views."""
        if self.command is None:
            more = "`karptui COMMAND --help` explains a command."
            self.epilog = f"commands:\n{_command_lines()}\n\n{more}\n\n{epilog_of(None)}"
        else:
            from karptui.cli.legends import legend_of

            self.epilog = epilog_of(self.command, legend_of(self.command))
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help to standard output; argparse would hide that it failed."""
        if file is sys.stdout:
            put(page(message), end="")
        else:
            super()._print_message(page(message), file)


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of a command, or of the app; the modules of other commands need not be imported."""
    description = "terminal dashboard for Karpenter. Without a command it opens the app"
    description = description if command is None else COMMANDS[command]
    parser = _Parser(
        prog="karptui" if command is None else f"karptui {command}",
        description=f"{description[:1].upper()}{description[1:]}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.command = command
    if command is None:
        parser.add_argument("--version", action="version", version=f"karptui {__version__}")
    module_of(command).configure(parser)
    parser.set_defaults(flags=flags_by_value(parser))
    return parser


def module_of(command: str | None) -> Any:
    """Return the module of a command or of the app, or the declaration of a list: they configure and run it."""
    if command in LISTS:
        return import_module("karptui.cli.lists").LISTS[command]
    return import_module(f"karptui.cli.{command or OPEN}")


def unrecognized(command: str | None, unknown: Sequence[str]) -> str:
    flag = unknown[0].partition("=")[0]
    if command is not None and _has_flag(None, flag) and not any(_has_flag(other, flag) for other in COMMANDS):
        return f"{flag} is for the app, which opens without a command"
    return f"unrecognized arguments: {' '.join(unknown)}"


def _has_flag(command: str | None, flag: str) -> bool:
    return any(flag in action.option_strings for action in actions_of(command))


def actions_of(command: str | None) -> list[argparse.Action]:
    """Return the arguments of a command, or of the app."""
    return build_parser(command)._actions  # noqa: SLF001 - argparse offers no other way to list them


DEMOS: Final = (*"abcde", "still", "large")
"""Values of ``--demo=``: stories, and other kinds of demo; commands take ``still`` only."""
_DEMO: Final = "--demo="


def refused_demo(command: str | None, words: Sequence[str]) -> str:
    """Return an error message for a value of ``--demo=``; empty if it is valid."""
    demos = DEMOS if command is None else ("still",)
    word = next((word for word in words if word.startswith(_DEMO) and word.removeprefix(_DEMO) not in demos), None)
    if word is None:
        return ""
    if command is None:
        return f"{word}: there is no such demo; there are {', '.join(demos)}"
    why = " is for the app" if word.removeprefix(_DEMO) in DEMOS else ": there is no such demo"
    return f"{word}{why}; commands take --demo and --demo=still"


def with_demo(words: Sequence[str]) -> list[str]:
    """Return the words with ``--demo=a``, ``--demo=still`` and ``--demo=large`` as separate flags."""
    parts = (("--demo", _of_demo(word.removeprefix(_DEMO))) if word.startswith(_DEMO) else (word,) for word in words)
    return [word for part in parts for word in part]


def _of_demo(named: str) -> str:
    return f"--{named}" if named in ("still", "large") else f"--tour={named}"


def split(argv: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the command and the words for its parser, those before the command last.

    Flags may precede or follow the command, as with kubectl.
    """
    words = list(argv)
    for index, name in enumerate(words):
        word = _FORMER_NAMES.get(name, name)
        if word == "--" or (index == 0 and not word.startswith("-") and word not in COMMANDS):
            break
        if word in COMMANDS and not (index and _takes_value(words[index - 1], word)):
            return word, [*words[index + 1 :], *words[:index]]
    return None, words


def _takes_value(flag: str, command: str) -> bool:
    """Return whether the next word is this flag's value: ``--context nodes`` names a context."""
    if not flag.startswith("-") or "=" in flag:
        return False
    actions = (*actions_of(command), *actions_of(None))
    return not any(flag in action.option_strings and action.nargs == 0 for action in actions)


def _command_lines() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(f"  {name:<{width}}  {line}" for name, line in COMMANDS.items())


def hint(word: str) -> str:
    import difflib

    near = difflib.get_close_matches(word, COMMANDS, n=1)
    return f"did you mean {near[0]}?" if near else f"the commands are {', '.join(COMMANDS)}"
