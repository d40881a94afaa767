"""Write deploy/alerts.yaml: an alert for each cause of the verdict, with its description."""

from __future__ import annotations

import ast
import inspect
import json
from itertools import pairwise
from pathlib import Path

from karptui.session.watch import NOT_PROBLEMS
from karptui.verdict import finding
from karptui.verdict.finding import FindingCode

TARGET = Path(__file__).resolve().parents[1] / "deploy" / "alerts.yaml"
HEAD = """\
# Made by tools/make_alerts.py. Without the Prometheus operator, use the content of spec as a rule file.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: karptui
  namespace: karptui
spec:
  groups:
  - name: karptui
    rules:
    - alert: KarptuiDataOutdated
      expr: max without (kind) (karptui_data_age_seconds) > 300
      for: 5m
      labels: {severity: warning}
      annotations: {summary: karptui has had no data from the API server for five minutes.}
    - alert: KarptuiHistoryNotRecorded
      expr: karptui_history_recording == 0
      for: 5m
      labels: {severity: warning}
      annotations: {summary: karptui records no history.}
    - alert: KarpenterNotLeading
      expr: karptui_karpenter_has_leader == 0
      for: 5m
      labels: {severity: critical}
      annotations: {summary: No replica of Karpenter holds the leader lease.}
"""


def described() -> dict[str, str]:
    """Return the description of each cause, which is the docstring below its declaration."""
    tree = ast.parse(inspect.getsource(finding))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "FindingCode").body
    texts = {}
    for node, after in pairwise(body):
        match node, after:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(words))):
                texts[name] = " ".join(words.split())
    return texts


def text() -> str:
    """Return the rules."""
    texts, lines = described(), [HEAD]
    for code in FindingCode:
        if code in NOT_PROBLEMS:
            continue
        name = "".join(word.capitalize() for word in code.value.split("_"))
        summary = json.dumps(f"{texts[code.value]} karptui verdict has the details.")
        for severity, label in (("error", "critical"), ("warning", "warning")):
            lines.append(
                f"    - alert: Karptui{name}{severity.capitalize()}\n"
                f'      expr: karptui_findings{{cause="{code}", severity="{severity}"}} > 0\n'
                f"      for: 5m\n"
                f"      labels: {{severity: {label}}}\n"
                f"      annotations: {{summary: {summary}}}\n"
            )
    return "".join(lines)


if __name__ == "__main__":
    TARGET.write_text(text())
