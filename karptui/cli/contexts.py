"""``--contexts``: several clusters of a kubeconfig, each read by a separate process."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

from karptui.cli.options import LIVE_FLAGS, PRICE_FLAGS, cluster_words, refuse_unused
from karptui.cli.streams import UsageError, put, say
from karptui.errors import no_such
from karptui.paths import own_command
from karptui.views.sanitize import clean, page
from karptui.workers.children import kill_group

if TYPE_CHECKING:
    from karptui.session.fleet import Fleet

MEMBER: Final = "fleet-member"
"""First word of the command line of a process for one cluster; `karptui.cli.main` knows it."""
AT_ONCE: Final = 8
LONGEST_SECONDS: Final = 300.0
_MOST_MESSAGES: Final = 20
_ANSWERED: Final = (0, 1, 3, 4)
"""Exit statuses of a verdict that was printed."""
_OTHERS: Final = (*(flag for flag in LIVE_FLAGS if flag != "context"), "karpenter_version", *PRICE_FLAGS)


def contexts_of(args: argparse.Namespace) -> list[str]:
    """Return the contexts that ``--contexts`` names; all of the kubeconfig for ``all`` or without the flag.

    Raises:
        UsageError: There are none, too many, or one does not exist.
    """
    from karptui.session.fleet import MOST_CLUSTERS
    from karptui.sources.cluster.kubeconfig import load_kubeconfig

    refused = "cannot be combined with --contexts: these are live clusters, and names are in the kubeconfig"
    if args.contexts is not None:
        refuse_unused(args, ("context", "snapshot", "demo", "at", "now"), refused)
        if getattr(args, "snapshots", None):
            raise UsageError(f"{args.snapshots[0]} {refused}")
    contexts = list(load_kubeconfig(args.kubeconfig).contexts)
    named = ["all"] if args.contexts is None else args.contexts
    chosen = contexts if named == ["all"] else list(dict.fromkeys(named))
    for name in chosen:
        if name not in contexts:
            raise no_such("context", name, contexts)
    if not chosen:
        raise UsageError("--contexts names no context" if args.contexts == [] else "the kubeconfig has no contexts")
    if len(chosen) > MOST_CLUSTERS:
        raise UsageError(f"--contexts: {len(chosen)} contexts are too many: each is a process; name {MOST_CLUSTERS}")
    return chosen


def fleet_of(args: argparse.Namespace) -> Fleet:
    """Return the clusters of the contexts, followed by processes that are not started yet.

    Raises:
        RequestError: There are none, or too many.
    """
    from karptui.session.fleet import Fleet

    words = cluster_words(args, _OTHERS)
    return Fleet({name: own_command(MEMBER, f"--context={name}", *words) for name in contexts_of(args)})


def title_lines(name: str, form: str) -> list[str]:
    """Return the lines above the findings of one of several clusters; none for a single one."""
    if not name:
        return []
    return [f"## {clean(name)}", ""] if form == "markdown" else [f"{clean(name)}:"]


class _Answer(NamedTuple):
    status: int
    printed: str
    messages: Sequence[str]


def run_verdicts(args: argparse.Namespace) -> int:
    """Print the verdict of each context, and return the worst status."""
    names, status = contexts_of(args), 0
    flags = ["-o", args.output, f"--fail-on={args.fail_on}", *cluster_words(args, _OTHERS)]
    flags += [] if args.simulate is None else ["--simulate" if args.simulate else "--no-simulate"]
    running: list[subprocess.Popen[str]] = []
    with ThreadPoolExecutor(min(len(names), AT_ONCE)) as pool:
        try:
            answers = pool.map(lambda name: _ask(name, flags, running), names)
            for name, answer in zip(names, answers, strict=True):
                status = max(status, _print(name, answer, args.output))
                sys.stdout.flush()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                kill_group(process)
            raise
    return status


def _ask(name: str, words: Sequence[str], running: list[subprocess.Popen[str]]) -> _Answer:
    command = own_command(MEMBER, "verdict", f"--context={name}", *words)
    try:
        process = subprocess.Popen(  # noqa: S603 - karptui itself
            command,
            stdin=subprocess.PIPE,  # ends it when this process is gone
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            process_group=0,
        )
    except (OSError, ValueError) as error:
        return _Answer(2, "", [f"its process cannot be started: {error}"])
    running.append(process)
    stdin, process.stdin = process.stdin, None  # communicate would close it
    try:
        printed, stderr = process.communicate(timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        return _Answer(2, "", [f"no answer within {LONGEST_SECONDS:.0f} s"])
    finally:
        kill_group(process)
        assert stdin is not None
        stdin.close()
    lines = [line.removeprefix("karptui verdict: ") for line in stderr.splitlines() if line.strip()]
    if process.returncode not in _ANSWERED:
        lines = lines or [f"its process ended with status {process.returncode}"]
    return _Answer(process.returncode, printed, lines[:_MOST_MESSAGES])


def _print(name: str, answer: _Answer, form: str) -> int:
    is_answered = answer.status in _ANSWERED
    if form == "json":
        outcome = {"findings": json.loads(answer.printed)} if is_answered else {"error": " ".join(answer.messages)}
        put(page(json.dumps({"name": name, **outcome})))
    elif is_answered:
        text = "".join(f"{clean(line)}\n" for line in (*title_lines(name, form), *answer.printed.splitlines()))
        put(page(f"{text}\n"), end="")
    for message in answer.messages:
        say(f"{name}: {message}")
    return answer.status if is_answered else 1
