"""The process of one cluster of a fleet: follows it, and prints a line of JSON with its figures every few seconds.

Not a command for users: `karptui --contexts` starts ``karptui fleet-member`` with the flags of one cluster, and
`karptui verdict --contexts` starts ``karptui fleet-member verdict``, which ends with its parent too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from karptui.cli.evidence import configuration, evidence_source
from karptui.cli.parser import build_parser
from karptui.cli.source import open_source
from karptui.errors import RequestError
from karptui.session.fleet import MemberLine, WorstFinding, figures_of, oldest_ns
from karptui.session.follower import ClusterFollower
from karptui.session.watch import Verdict, Watch, losses_of, problems_of
from karptui.views.sanitize import clean
from karptui.views.verdict.sentence import pending_reasons, sentence
from karptui.workers.children import end_with_parent

STEP_SECONDS: Final = 0.5
TOLD_SECONDS: Final = 2.0
"""Interval of lines while nothing changes."""
NICENESS: Final = 10
"""The screen goes before the analyses of clusters that are not open."""
_LONGEST_TEXT: Final = 1_000


def main(words: Sequence[str]) -> int:
    """Follow the cluster of the flags until the parent ends, or it cannot be opened."""
    end_with_parent()
    os.nice(NICENESS)
    args = build_parser("watch").parse_args(words)
    try:
        source, clock = open_source(args)
        evidence = evidence_source(source, configuration(args), args.karpenter_version or "")
    except RequestError as error:
        _print(MemberLine(trouble=clean(str(error), limit=_LONGEST_TEXT)))
        return 2
    watch = Watch(ClusterFollower(source, evidence=evidence), clock)
    watch.follower.start()
    worst: WorstFinding | None = None
    is_fine, told_at = False, 0.0
    while True:
        verdict = watch.step()
        if verdict is not None:
            worst, is_fine = _worst(verdict), not problems_of(verdict.findings)
        if verdict is not None or time.monotonic() >= told_at + TOLD_SECONDS:
            told_at = time.monotonic()
            follower, now_ns = watch.follower, clock.now_ns()
            _print(
                MemberLine(
                    figures_of(follower.view, worst, is_fine=is_fine) if follower.knows_nodes else None,
                    oldest_ns(follower.view, watch.merged_ns, now_ns),
                    clean(_trouble(follower), limit=_LONGEST_TEXT),
                )
            )
        time.sleep(STEP_SECONDS)


def _trouble(follower: ClusterFollower) -> str:
    lost = dict(losses_of(follower.view)).get("connection", "")
    return follower.failure or lost or follower.trouble or follower.analyst.failure


def _worst(verdict: Verdict) -> WorstFinding | None:
    for finding in (*problems_of(verdict.findings), *verdict.findings):
        text = sentence(finding, verdict.now_ns, pending_reasons(verdict.view))
        return WorstFinding(str(finding.severity), str(finding.code), clean(text, limit=_LONGEST_TEXT))
    return None


def _print(line: MemberLine) -> None:
    os.write(1, msgspec.json.encode(line) + b"\n")
