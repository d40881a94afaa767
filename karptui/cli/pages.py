"""Help below the flags: examples, columns and codes, exit statuses, environment variables and files."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias


class Entry(NamedTuple):
    """A term and its meaning."""

    term: str
    meaning: str


_WIDEST_TERM: Final = 20
"""Width of the longest term whose meaning is in the same line."""
_NARROWEST_MEANING: Final = 30
Section: TypeAlias = tuple[str, Sequence[Entry]]
"""A title, and the terms below it."""

_DONE: Final = Entry("0", "done")
_PARTLY: Final = Entry("1", "done, but something was found or is missing; standard error has the details")
_UNUSABLE: Final = Entry("2", "the command line, a file, the configuration or the cluster's address cannot be used")
_INTERRUPTED: Final = Entry("130", "interrupted")
STATUSES: Final = (_DONE, _PARTLY, _UNUSABLE, _INTERRUPTED)
"""Default exit statuses."""

OWN_STATUSES: Final[Mapping[str, Sequence[Entry]]] = MappingProxyType(
    {
        "": (_DONE, Entry("1", "the app ended with an error"), _UNUSABLE, _INTERRUPTED),
        "simulate": (*STATUSES[:3], Entry("3", "a condition of --fail-on is met"), _INTERRUPTED),
        "drill": (*STATUSES[:3], Entry("3", "a pod becomes unschedulable, with --fail-on pending"), _INTERRUPTED),
        "plan": (*STATUSES[:3], Entry("3", "a condition of --fail-on is met"), _INTERRUPTED),
        "rollout": (
            Entry("0", "rolled out: every node is current"),
            Entry("1", "not yet, or not known, or something is missing; with --wait: not within --timeout"),
            _UNUSABLE,
            Entry("3", "stalled, with --fail-on stalled"),
            _INTERRUPTED,
        ),
        "timeouts": (*STATUSES[:3], Entry("3", "a removable node is never evaluated"), _INTERRUPTED),
        "rehearse": (*STATUSES[:3], Entry("3", "a condition of --fail-on is met"), _INTERRUPTED),
        "headroom": (*STATUSES[:3], Entry("3", "fewer pods fit than --at-least requires"), _INTERRUPTED),
        "solve": (
            Entry("0", "the goal is reached, by the named change or without a change"),
            Entry("1", "the same, but something is missing from the cluster; standard error has the details"),
            _UNUSABLE,
            Entry("3", "no change that was tried reaches the goal"),
            _INTERRUPTED,
        ),
        "do": (
            Entry("0", "the server would accept the change; with --yes it is done"),
            Entry("1", "the server refuses it, a permission is missing, or the outcome is not known"),
            Entry("2", "as for other commands, or actions are not allowed, or a confirmation is missing"),
            _INTERRUPTED,
        ),
        "watch": (
            Entry("0", "ended by SIGINT or SIGTERM; everything is written"),
            Entry("1", "the history can no longer be recorded"),
            Entry("2", "as for other commands, or another karptui records this cluster"),
        ),
        "mcp": (Entry("0", "standard input has ended"), _UNUSABLE, _INTERRUPTED),
        "verdict": (
            *STATUSES[:3],
            Entry("3", "there is a warning, with --fail-on warning"),
            Entry("4", "there is an error, with --fail-on"),
            _INTERRUPTED,
        ),
        "advice": (
            Entry("0", "no finding of the severity of --fail-on or worse"),
            Entry("1", "done, but something could not be read"),
            _UNUSABLE,
            Entry("3", "the worst finding is a warning (or an info, with --fail-on info)"),
            Entry("4", "the worst finding is an error"),
            _INTERRUPTED,
        ),
    }
)
"""Exit statuses by command, empty for the app."""

EXAMPLES: Final[Mapping[str, Sequence[Entry]]] = MappingProxyType(
    {
        "": (
            Entry("karptui", "the cluster of the kubeconfig's current context"),
            Entry("karptui --demo", "the built-in demo cluster: nothing else is needed"),
            Entry("karptui --context prod-eu-1 -l team=ci", "another context, and only nodes with a label"),
            Entry("karptui --contexts prod-eu-1,prod-us-1", "several clusters, one row each"),
            Entry("karptui --snapshot incident.json.gz", "a recording, or output of kubectl get -o json|yaml"),
            Entry(
                "kubectl get no,po,nodepools,nodeclaims,ec2nodeclasses,ds,pdb,pvc,pv,sc,csinodes,ev -A -o json"
                " | karptui --snapshot -",
                "kubectl's output by a pipe; without the AWS provider omit ec2nodeclasses, or kubectl prints nothing",
            ),
        ),
        "nodes": (
            Entry("karptui nodes --filter 'cpu<20% pool=spot*' --sort-by mem=dsc", "nodes with low utilization"),
            Entry("karptui nodes -o wide --extra-labels team,cost-center", "every column, and two labels"),
            Entry("karptui nodes --filter why=DND -o json", "nodes blocked by do-not-disrupt, for a script"),
        ),
        "verdict": (
            Entry("karptui verdict", "problems of the cluster, worst first"),
            Entry("karptui verdict --contexts all -o json", "of every context of the kubeconfig, one line each"),
            Entry("karptui verdict --at -20m", "the verdict 20 minutes before the end of the recorded history"),
            Entry(
                "karptui verdict --fail-on error -o markdown --snapshot incident.json", "of a snapshot, for a report"
            ),
        ),
        "pools": (
            Entry("karptui pools", "NodePools in order"),
            Entry("karptui pools --pool general", "details of one NodePool"),
        ),
        "pods": (
            Entry("karptui pods -n web -l app=front -o csv", "pods of a namespace with a label"),
            Entry("karptui pods --node-selector karpenter.sh/nodepool=general", "pods on the nodes of a NodePool"),
        ),
        "pending": (
            Entry("karptui pending", "pending pods, with the messages of Karpenter and kube-scheduler"),
            Entry("karptui pending -n trino -o json", "pending pods of a namespace, for a script"),
        ),
        "explain": (
            Entry("karptui explain pod trino/worker-0", "why the pod is pending, and which single changes would help"),
            Entry(
                "karptui explain node ip-10-0-71-204",
                "why the node is still here, and the nodes its pods would move to",
            ),
            Entry(
                "karptui explain node general-7rpkp --snapshot prod.karptui",
                "why a node is gone, from a recorded history",
            ),
            Entry("karptui explain pool general -o json", "its pods, and what rules out instance types"),
        ),
        "simulate": (
            Entry("karptui simulate incident.json -o json", "the provisioner's decisions, a line for each snapshot"),
            Entry("karptui simulate --disruption incident.json", "drift, emptiness and consolidation too"),
            Entry("karptui simulate --scenario change.yaml --fail-on pending incident.json", "a what-if for CI"),
            Entry(
                "karptui simulate --self-check --context prod", "number of recent NodeClaims that the model reproduces"
            ),
        ),
        "sweep": (
            Entry("karptui sweep incident.json --set NodePool/general:spec.weight=1..100/33", "values of a field"),
            Entry(
                "karptui sweep --demo --set VM_MEMORY_OVERHEAD_PERCENT=0.02..0.08/0.01", "values of a Karpenter setting"
            ),
            Entry(
                "karptui sweep fleet/*.json --set NodePool/general:spec.weight=1,50 --workers 8",
                "several clusters in 8 processes",
            ),
        ),
        "blockers": (
            Entry("karptui blockers", "all blockers of all nodes"),
            Entry("karptui blockers incident.json --node ip-10-0-71-204 -o json", "blockers of one node"),
        ),
        "remedies": (
            Entry("karptui remedies", "remedies for all blockers, the most expensive first"),
            Entry("karptui remedies --of gitlab/ci -o json", "remedies for one workload, with YAML and commands"),
            Entry(
                "karptui remedies --by pool --filter 'saves>0.5'", "by NodePool, remedies that save more than $0.50/h"
            ),
        ),
        "next": (
            Entry("karptui next", "the next command, and removable nodes, most expensive first"),
            Entry("karptui next --filter 'why=DND saves>0.5' -o csv", "cost of nodes blocked by do-not-disrupt"),
        ),
        "forward": (
            Entry("karptui forward", "Karpenter's decisions in the next six hours, and the result"),
            Entry("karptui forward incident.json --scenario change.yaml --horizon 24h", "without and with edits"),
            Entry("karptui forward incident.json --instant -o json", "every step, for a script"),
        ),
        "plan": (
            Entry("karptui plan -f nodepool.yaml", "effect of applying it to the current context, risks first"),
            Entry("karptui plan -f manifests/ --snapshot prod.json.gz -o markdown", "for a pull request"),
            Entry("karptui plan -f nodepool.yaml --fail-on pending --fail-on stall", "a check for CI"),
            Entry("karptui plan -f nodepool.yaml fleet/*.json --workers 8", "many clusters in 8 processes"),
        ),
        "drill": (
            Entry(
                "karptui drill", "each zone, capacity type and NodePool: which loss leaves pods pending, worst first"
            ),
            Entry("karptui drill --without zone=us-east-1a", "one loss: which pods stay pending, and why"),
            Entry("karptui drill --without capacity-type=spot --fail-on pending -o json", "a check for CI"),
        ),
        "headroom": (
            Entry("karptui headroom", "for every workload, the number of additional pods that fit, fewest first"),
            Entry("karptui headroom Deployment/web/front", "one workload, for each NodePool separately"),
            Entry("karptui headroom --requests cpu=2,memory=8Gi -o json", "for a hypothetical pod, for a script"),
        ),
        "solve": (
            Entry(
                "karptui solve pending",
                "the cheapest change tried that leaves nothing pending, and the runner-up",
            ),
            Entry(
                "karptui solve overhead --dearer-by 0%",
                "the highest percentage at which all pods fit and the cost does not rise",
            ),
            Entry(
                "karptui solve weight --pods 'shop/*' --nodepool spot -o scenario > spot.yaml",
                "weights that move these pods to a NodePool, as a scenario",
            ),
            Entry("karptui solve families --nodepool general -o patch", "families to add, as kubectl commands"),
            Entry(
                "karptui solve window --hours 22:00-06:00 --zone Europe/Berlin -o yaml", "budgets of a nightly window"
            ),
            Entry("karptui solve expirations --most 3", "nodes to replace early, so that few expire in any hour"),
            Entry(
                "karptui solve consolidate-after --evictions 20 --workers 8",
                "by forecasts of several days, in 8 processes",
            ),
        ),
        "rightsize": (
            Entry("karptui rightsize", "by the cluster's VerticalPodAutoscalers, else by the recorded usage"),
            Entry("karptui rightsize --percentile 90 --window 3d", "by the usage that karptui has recorded"),
            Entry("krr simple -q -f json | karptui rightsize --krr - --horizon 24h", "by KRR's recommendations"),
            Entry(
                "karptui rightsize --prometheus http://localhost:9090 --percentile 99 --window 14d",
                "by the usage that Prometheus has",
            ),
            Entry("karptui rightsize --filter web --patch > patches.yaml", "patches of some workloads"),
        ),
        "policies": (
            Entry("karptui policies", "every policy with several values of consolidateAfter, in all NodePools"),
            Entry(
                "karptui policies --pool general --policy Balanced --after 0s,10m,1h --horizon 24h",
                "one policy in one NodePool",
            ),
            Entry("karptui policies --seeds 5 --workers 8 -o json", "the range over 5 seeds, in 8 processes"),
        ),
        "pause": (
            Entry(
                "karptui pause --until 18:00Z", "commands that stop all voluntary disruption until then, and the cost"
            ),
            Entry("karptui pause --pool general --reason Drifted --until 4h -o json", "drift of one NodePool, as JSON"),
            Entry("karptui pause --release", "commands that end the active pauses, and what that releases"),
        ),
        "rollout": (
            Entry("karptui rollout", "all NodePools and NodeClasses; status 0 only if every node is current"),
            Entry("karptui rollout --nodeclass default --wait --timeout 2h --fail-on stalled", "a gate for a pipeline"),
            Entry("karptui rollout --pool general -o json", "one NodePool, for a script"),
        ),
        "timeouts": (
            Entry("karptui timeouts", "with durations from Karpenter's metrics if they are readable"),
            Entry("karptui timeouts --per-simulation 2s --fail-on timeout -o json", "a check, with a given duration"),
        ),
        "rehearse": (
            Entry("karptui rehearse", "each node group, and all of them together"),
            Entry("karptui rehearse core -f nodepools/ --fail-on pending", "one node group, after applying NodePools"),
            Entry("karptui rehearse team=batch -o json", "nodes with a label, for a script"),
        ),
        "claims": (
            Entry("karptui claims --sort-by deadline=asc", "drains without a deadline first, then by deadline"),
            Entry("karptui claims --filter 'drift=AMIDrift' -o csv", "NodeClaims that drifted by their image"),
        ),
        "capacity": (
            Entry("karptui capacity", "nodes, pods, cpu, memory and $/h by zone and capacity type"),
            Entry("karptui capacity --by pool -o json", "the same by NodePool"),
            Entry("karptui capacity --by namespace", "cost by namespace: node prices divided by requests"),
            Entry("karptui capacity --by label=team --from -7d -o csv", "average of a week, from the recorded history"),
        ),
        "packing": (
            Entry("karptui packing", "NodePools as boxes, nodes as bins, pods as blocks, by cpu"),
            Entry("karptui packing --scenario edits.yaml", "the same before and after a what-if"),
            Entry("karptui packing -o json", "capacity of each node, and requests of DaemonSets and pods"),
        ),
        "churn": (
            Entry("karptui churn", "how often nodes of each NodePool are replaced, and why"),
            Entry("karptui churn --replacements --pool general -o csv", "replacements of one NodePool"),
        ),
        "changes": (
            Entry("karptui changes", "what changed in the last 30 minutes that karptui recorded"),
            Entry("karptui changes --from 14:02 --to 14:30 --filter by=argocd", "edits of one author"),
            Entry("karptui changes --from -1d --snapshot prod.karptui -o json", "a copied history, for a script"),
        ),
        "history": (
            Entry("karptui history", "nodes, $/h, launches and removals of the last 24 hours, from the local history"),
            Entry("karptui history --from -7d --pools -o csv", "a week, for each NodePool"),
            Entry("karptui history --snapshot prod.karptui --from 14:00 --to 15:00 --step 5m", "an hour of a history"),
        ),
        "budgets": (
            Entry("karptui budgets", "allowed disruptions now and within the week"),
            Entry("karptui budgets --filter left=0", "NodePools and reasons without disruptions left"),
        ),
        "types": (
            Entry("karptui types", "number of types that each filter leaves, by NodePool"),
            Entry("karptui types --pool general -o csv", "the types of one NodePool, cheapest first"),
            Entry("karptui types --pool trino --ledger r5a.8xlarge", "breakdown of the memory of a type"),
        ),
        "events": (
            Entry("karptui events --filter kind=NodePool", "events of NodePools"),
            Entry("karptui events -o json", "everything, for a script"),
        ),
        "advice": (
            Entry("karptui advice --fail-on error", "a check for CI"),
            Entry("karptui advice --filter 'rule=pool-*' -o json", "findings about NodePools"),
            Entry("karptui advice --explain pool-wildcard-value", "the meaning of a rule"),
        ),
        "card": (
            Entry("karptui card", "the last 30 minutes of the local history, in a new folder to hand on"),
            Entry("karptui card incident --last 2h --snapshot prod.karptui", "two hours of a copied history"),
        ),
        "record": (
            Entry("karptui record incident.json.gz", "the current context into one file, without secrets"),
            Entry("karptui record --redact --context prod -", "with pseudonyms instead of names, to standard output"),
        ),
        "watch": (
            Entry("karptui watch", "record the history of the current context until ctrl-c"),
            Entry("karptui watch --metrics :9110", "also serve metrics for Prometheus on this machine"),
            Entry("karptui watch --demo -o json", "changes of the demo's verdict, one JSON object a line"),
        ),
        "mcp": (
            Entry("karptui mcp --context prod-eu-1", "what an assistant starts; answers have pseudonyms"),
            Entry("karptui mcp --snapshot incident.json.gz --no-redact", "about a recording, with its names"),
        ),
        "do": (
            Entry("karptui do cordon ip-10-0-1-7 --allow-actions", "what the server and Karpenter would do; no change"),
            Entry("karptui do cordon ip-10-0-1-7 --allow-actions --yes --reason 'kernel bug'", "carry it out"),
            Entry(
                "karptui do delete general-x7k2p --allow-actions --yes --confirm general-x7k2p --reason 'stuck'",
                "delete a NodeClaim; --confirm repeats its name",
            ),
            Entry("karptui do scale deployment/shop/web --replicas 12 --allow-actions", "a workload"),
            Entry(
                "karptui do apply -f nodepool.yaml --allow-actions", "the diff of an edited NodePool, and what follows"
            ),
        ),
        "audit": (
            Entry("karptui audit", "what karptui changed on this machine, the newest first"),
            Entry("karptui audit --filter outcome=refused -o json", "what was refused, for a script"),
        ),
        "completion": (
            Entry("source <(karptui completion bash)", "for this shell"),
            Entry("karptui completion fish > ~/.config/fish/completions/karptui.fish", "permanently"),
        ),
    }
)
"""Examples by command, empty for the app: a command line, and its meaning."""

ENVIRONMENT: Final = (
    Entry("KUBECONFIG", "kubeconfig files, separated by colons"),
    Entry("KARPTUI_CONFIG", "the configuration file instead of the usual one"),
    Entry("KARPTUI_PROMETHEUS_TOKEN", "the bearer token for rightsize --prometheus"),
    Entry("KARPTUI_<SETTING>", "a setting of the configuration file, its name in capitals: KARPTUI_THEME"),
    Entry("NO_COLOR", "if set, output has no colours"),
    Entry("AWS_PROFILE, AWS_REGION, …", "credentials and region for prices and offerings, as for other AWS tools"),
    Entry("HTTPS_PROXY, NO_PROXY", "proxies for the API server and AWS"),
)
"""Environment variables."""

FILES: Final = (
    Entry("~/.config/karptui/config.toml", "the configuration (macOS: ~/Library/Application Support/karptui)"),
    Entry("~/.cache/karptui", "prices and offerings from AWS (macOS: ~/Library/Caches/karptui)"),
    Entry(
        "~/.local/state/karptui",
        "audit file, key of record --redact (macOS: ~/Library/Application Support/karptui)",
    ),
    Entry("~/.kube/config", "the kubeconfig, unless $KUBECONFIG names another"),
)
"""Files other than those on the command line."""


def statuses_of(command: str | None) -> Sequence[Entry]:
    """Return the exit statuses of a command; None is the app."""
    return OWN_STATUSES.get(command or "", STATUSES)


def epilog_of(command: str | None, legend: Sequence[Section] = ()) -> str:
    """Return the help below the flags of a command."""
    parts = [_examples(EXAMPLES.get(command or "", ())), *(_explained(*section) for section in legend)]
    parts.append(_listed("exit status", statuses_of(command)))
    if command is None:
        parts += [_listed("environment variables", ENVIRONMENT), _listed("files", FILES)]
    else:
        parts.append("Environment variables and files: karptui --help")
    return "\n\n".join(part for part in parts if part)


def _examples(entries: Sequence[Entry]) -> str:
    lines = [f"  {entry.term}\n      {entry.meaning}" for entry in entries]
    return "\n".join(("examples:", *lines)) if lines else ""


def _listed(title: str, entries: Sequence[Entry]) -> str:
    width = max(len(entry.term) for entry in entries)
    return "\n".join((f"{title}:", *(f"  {entry.term:<{width}}  {entry.meaning}" for entry in entries)))


def _explained(title: str, entries: Sequence[Entry]) -> str:
    """Return terms with meanings wrapped to the terminal, as argparse wraps flags."""
    column = min(max(len(entry.term) for entry in entries), _WIDEST_TERM) + 4
    width = max(shutil.get_terminal_size().columns - 2, column + _NARROWEST_MEANING)
    lines = [f"{title}:"]
    for term, meaning in entries:
        broken = textwrap.wrap(meaning, width - column)
        if len(term) > column - 4:
            lines.append(f"  {term}")
        else:
            lines.append(f"  {term:<{column - 4}}  {broken.pop(0) if broken else ''}".rstrip())
        lines += [f"{'':{column}}{line}" for line in broken]
    return "\n".join(lines)
