"""Invalid command lines: no output, no file, a message on standard error, and exit status 2."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Final

import pytest

from karptui.session.fleet import MOST_CLUSTERS
from tests.cli.conftest import Run
from tests.cli.files import a_file
from tests.histories import record_demo
from tests.stories import STORIES

REFUSED: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "verdict --kubeconfig kubeconfig.json": (
        ("--contexts c0,nope", "there is no context nope"),
        ("--contexts ,", "--contexts names no context"),
        ("--contexts all", "41 contexts are too many"),
        ("--contexts c0 --context c0", "--context cannot be combined with --contexts"),
        ("--contexts c0 --demo", "--demo cannot be combined with --contexts"),
        ("--contexts c0 x.json", "cannot be combined with --contexts"),
    ),
    "simulate STORIES": (
        ("--scenario odd.yaml", "nam: there is no such field"),
        ("--scenario pod.yaml", "pod.yaml: is a Kubernetes object, Pod a, not a scenario"),
        ("--scenario latin.yaml", "is not text in UTF-8"),
    ),
    "plan STORIES": (
        ("-f cut.yaml", "line"),
        ("-f configmap.yaml", "no object that Karpenter's decisions depend on"),
        ("-f nameless.yaml", "needs a kind and a metadata.name"),
    ),
    "record out.json": (
        ("--snapshot none.json", "none.json: cannot be read"),
        ("", "no kubeconfig"),
    ),
    "card card --snapshot HISTORY": (
        ("--last 0s", "'0s' is not a duration such as 30m or 2h"),
        ("--last soon", "'soon' is not a duration"),
        ("--demo", "cannot be combined"),
        ("--at 2020-01-01T00:00:00Z", "nothing is recorded in that time"),
    ),
    "": (
        ("nodes --bad", "karptui nodes: unrecognized arguments: --bad; see karptui nodes --help"),
        ("--nonsense", "karptui: unrecognized arguments: --nonsense; see karptui --help"),
        ("record", "karptui record: the following arguments are required: FILE; see karptui record --help"),
        (
            "explain pod --demo",
            "karptui explain: the following arguments are required: NAME; see karptui explain --help",
        ),
        ("audit", "there is no audit file"),
        ("node", "there is no command 'node'; did you mean nodes?"),
        ("qqq", "there is no command 'qqq'; the commands are nodes, pools, pods"),
        ("--demo nods", "karptui: there is no command 'nods'; did you mean nodes?"),
        ("--theme=nord --demo nodes", "karptui nodes: --theme is for the app, which opens without a command"),
        ("--wide nodes", "karptui nodes: --wide is for the app"),
        ("nodes -n kube-system", "karptui nodes: unrecognized arguments: -n;"),
        ("nodes -o xml", "invalid choice: 'xml'"),
        ("nodes --now yesterday", "'yesterday' is not an RFC 3339 timestamp"),
        ("nodes --request-timeout soon", "'soon' is not a duration such as 10s or 1m"),
        ("nodes --request-timeout=-5s", "'-5s' is not a duration such as 10s or 1m"),
        ("nodes --demo --snapshot x", "--demo and --snapshot cannot be combined"),
        ("nodes --demo --context x", "it cannot be combined with --demo"),
        ("nodes --snapshot x --as u", "--as is about a live cluster: it cannot be combined with --snapshot"),
        ("nodes --demo --request-timeout 0", "--request-timeout is about a live cluster"),
        ("nodes --demo --now 2026-11-20T12:00:00Z", "--now needs --snapshot"),
        ("nodes --as-group g", "--as-group needs --as"),
        ("nodes", "this is not a pod in a cluster; --demo and --snapshot need none"),
        ("--demo=z", "--demo=z: there is no such demo; there are a, b, c, d, e, still, large"),
        ("'--demo=\x1b[2J'", "karptui: --demo=\u241b[2J: there is no such demo"),
        ("nodes --demo=", "karptui nodes: --demo=: there is no such demo; commands take --demo and --demo=still"),
        ("budgets --demo=z", "--demo=z: there is no such demo; commands take --demo and --demo=still"),
        ("--demo=a budgets", "karptui budgets: --demo=a is for the app; commands take --demo and --demo=still"),
        ("budgets --demo=large", "--demo=large is for the app; commands take --demo and --demo=still"),
        ("nodes --kubeconfig /none", "/none"),
        ("simulate ''", "is empty"),
        ("simulate --demo --scenario ''", "is empty"),
        ("sweep '' --set X=1", "is empty"),
        ("blockers ''", "is empty"),
        ("types ''", "is empty"),
        ("record '' --demo", "is empty"),
        ("nodes --kubeconfig ''", "is empty"),
        ("--config ''", "is empty"),
        ("nodes --as ''", "is empty"),
        ("nodes --as jane --as-group ' '", "is empty"),
    ),
    "advice": (
        ("--explain pool-weight-ti", "did you mean pool-weight-tie?"),
        ("--explain zzz", "--rules"),
        ("--rules -o json", "--rules prints text: leave -o json out"),
        ("--rules --filter x", "--filter is about findings of a cluster: it cannot be combined with --rules"),
        ("--rules --explain x", "--explain is about findings"),
        ("--explain pool-weight-tie --demo", "--demo is about findings of a cluster: it cannot be combined with --ex"),
        ("--explain pool-weight-tie --no-headers", "--no-headers is about"),
    ),
    "history-sender": (("pod.yaml", "is not a history"),),
    "nodes": (
        ("--from-watch=karptui", "is not NAMESPACE/POD"),
        ("--from-watch=karptui/", "is not NAMESPACE/POD"),
        ("--from-watch=/pod", "is not NAMESPACE/POD"),
        ("--from-watch=-n/pod", "is not NAMESPACE/POD"),
        ("--from-watch=karptui/--all", "is not NAMESPACE/POD"),
        ("--from-watch=a/b:relative", "is not NAMESPACE/POD"),
        ("--from-watch=a/b/c", "is not NAMESPACE/POD"),
        ("--from-watch a/b --demo", "cannot be combined with --from-watch"),
        ("--from-watch a/b --snapshot=x.json", "cannot be combined with --from-watch"),
    ),
    "nodes HISTORY": (
        ("--at 13:59", "nothing is recorded at 2026-11-28T13:59:00Z: it begins at 2026-11-28T14:00:00Z"),
        ("--at -20x", "argument --at: '-20x' is not a time of day in UTC (14:02, 14:02:30)"),
        ("--at -20s --now 2026-11-28T14:00:00Z", "--at and --now cannot be combined"),
    ),
    "nodes SMALL": (("--at -20m", "only a history has past moments"),),
    "blockers": (
        ("missing.json", "blockers: "),
        ("a.json --snapshot b.json", "blockers: "),
    ),
    "budgets --demo": (("--filter colour=red", "colour"),),
    "capacity --demo": (
        ("--by team", "'team' is none of zone, pool, type, namespace, owner and label=KEY"),
        ("--by label=", "'label=' is none of"),
        ("--by zone --from -1h", "--from needs --by namespace, owner or label=KEY"),
        ("--by owner --disable-pricing", "it cannot be combined with --disable-pricing"),
        ("--by owner --packing cpu", "--packing draws NodePools"),
        ("--by owner --step 1s --from -1h", "'1s' is not a duration"),
        ("--by owner --step 5m", "--step needs --from"),
        ("--packing cpu -o json", "karptui packing -o json"),
        ("--by namespace --filter ns-is-no-field=1", "ns-is-no-field"),
    ),
    "capacity HISTORY": (("--by owner --from -3m --at -1m", "--at names a moment"),),
    "changes HISTORY": (
        ("--from 14:05 --to 14:01", "nothing is recorded in that time"),
        ("--now 2026-11-28T14:00:00Z", "--now names a moment"),
        ("--at 14:00", "--at names a moment"),
        ("--from yesterday", "'yesterday' is not a time of day"),
    ),
    "changes": (
        ("--demo", "this machine has no history of it"),
        ("--snapshot gone.karptui", "gone.karptui: no such file"),
    ),
    "churn --snapshot STORIES": (("--pool nope", "there is no NodePool nope; there are "),),
    "completion": (("tcsh", "invalid choice: 'tcsh'"),),
    "do": (
        ("cordon x --demo", "actions are off: start with --allow-actions"),
        ("cordon --demo", "cordon needs an object, such as node/NAME"),
        ("cordon pod/web/a --demo --allow-actions", "cordon is for Node objects, not for Pod web/a"),
        ("evict a --demo --allow-actions", "a: name its kind as well, such as pod/a"),
        ("scale shop/web --replicas 1 --demo --allow-actions", "name its kind as well, such as deployment/shop/web"),
        ("scale deployment/shop/web --demo --allow-actions", "scale needs --replicas N"),
        ("cordon x --replicas 1 --demo --allow-actions", "--replicas is for scale"),
        ("cordon x --value 5m --demo --allow-actions", "--value is for do-not-disrupt"),
        ("do-not-disrupt web/a --value soon --demo --allow-actions", "or a duration such as 30m"),
        ("apply --demo --allow-actions", "apply takes its objects from -f FILE"),
        ("apply -f pod.yaml --demo --allow-actions", "pod.yaml: Pod a: only NodePool, EC2NodeClass, NodeOverlay are"),
        ("cordon x --yes --demo --allow-actions", "--yes needs --reason TEXT"),
        ("cordon x --yes --dry-run server --demo --allow-actions", "--yes and --dry-run cannot be combined"),
        ("cordon n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 --demo --allow-actions", "11 objects are more than 10 at once"),
    ),
    "drill --demo": (
        ("--without zone", "'zone' is not zone=NAME, capacity-type=NAME or nodepool=NAME"),
        ("--without zone=", "'zone=' is not zone=NAME"),
        ("--without rack=7", "'rack=7' is not zone=NAME"),
        ("--without zone=us-east-1x", "zone=us-east-1x: no node has it; there are us-east-1a, us-east-1b, us-east-1c"),
        ("--filter 'nosuch>1'", "nosuch"),
        ("--sort-by nosuch", "nosuch"),
    ),
    "headroom --demo": (
        ("--filter 'nosuch>1'", "nosuch"),
        ("--sort-by nosuch", "nosuch"),
        ("front", "'front' is not KIND/NAMESPACE/NAME, such as Deployment/web/front"),
        ("--requests cpu", "'cpu' is not NAME=AMOUNT, such as cpu=500m,memory=1Gi"),
        ("--most 0", "'0' is not a number from 1 to 20,000"),
        ("Deployment/web/none", "there is no Deployment web/none with pods or a template"),
        ("Deployment/web/front --requests cpu=1", "name one pod: by KIND/NAMESPACE/NAME, -f or --requests"),
        ("Deployment/web/front --most 5 --at-least 6", "--at-least asks for more than --most tries"),
        ("-f two.yaml", "has 2 objects that create pods; one is needed"),
        ("-f bad.yaml", "an object needs a kind and a metadata.name"),
        ("--toleration a", "--node-selector and --toleration are of the pod of --requests"),
        ("--requests cpu=100m --toleration a=b:Sometimes", "Sometimes"),
        ("--requests cpu=100m --node-selector a", "'a' is not LABEL=VALUE"),
        ("NodePool/none", "there is no NodePool none; there are "),
    ),
    "rehearse --demo": (
        ("--filter 'nosuch>1'", "nosuch"),
        ("--sort-by nosuch", "nosuch"),
        ("--at-once none", "'none' is not a number from 1 to 1,000"),
        ("none", "there is no node group none; there are system"),
    ),
    "policies --demo": (
        ("--filter 'nosuch>1'", "nosuch"),
        ("--sort-by nosuch", "nosuch"),
    ),
    "timeouts --demo": (
        ("--filter 'nosuch>1'", "nosuch"),
        ("--sort-by nosuch", "nosuch"),
        ("--per-simulation soon", "'soon' is not a duration such as 200ms or 1s"),
    ),
    "explain --snapshot STORIES": (
        ("pod trino/worker-9", "there is no pod trino/worker-9; did you mean trino/worker-"),
        ("pod nobody", "there is no pod nobody; there are"),
        ("node nobody", "there is no node nobody; there are "),
        ("pool trin", "there is no NodePool trin; did you mean trino?"),
        ("deployment web", "'deployment' cannot be explained; pod, node and pool can"),
        ("pod/web x", "'pod/web' cannot be explained"),
        ("nodes n1 --no-remedies", "--no-remedies is about a pod: it cannot be combined with explain node"),
        ("np trino --no-remedies", "--no-remedies is about a pod: it cannot be combined with explain pool"),
        ("pool trino -n trino", "--namespace is about a pod: it cannot be combined with explain pool"),
        ("pod trino/worker-0 -n web", "--namespace cannot be combined with trino/worker-0, which names its own"),
    ),
    "forward STORIES": (
        ("--horizon 0s", "--horizon"),
        ("--horizon 2y", "--horizon"),
        ("--horizon 999h", "--horizon"),
        ("--seed x", "--seed"),
        ("--seeds 0", "--seeds"),
    ),
    "headroom NodePool/none": (("STORIES", "NodePool none"),),
    "history HISTORY": (
        ("--from 14:05 --to 14:01", "--from is not before --to"),
        ("--step 5s", "'5s' is not a duration"),
        ("--step soon", "--step"),
        ("--pool nope", "there was no NodePool nope in that time"),
        ("--at 14:00", "--at names a moment"),
        ("--from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z", "nothing is recorded in that time"),
    ),
    "mcp": (
        ("--at -5m", "--at cannot be combined with mcp: its tools name the moment"),
        ("--snapshot -", "standard input carries the protocol"),
        ("--demo --context x", "--context is about a live cluster"),
        ("--timeout 0", "leaves no time"),
    ),
    "nodes --snapshot SMALL": (
        ("--filter 'cpu>lots'", "cpu"),
        ("-l 'a=b=c,,('", "-l: 'b=c' in 'a=b=c' cannot be the value of a label"),
        ("-l 'a~b'", "-l: 'a~b' is not a label selector"),
        ("-l ''\"'\"'a=b'\"'\"''", "-l: 'a=b' contains quotes, which a label cannot: write a=b"),
        ("-l 'a='\"'\"'b\"'\"'\"''", "-l: a='b\"' contains quotes, which a label cannot: write a=b"),
        ("--sort-by nonsense", "there is no column nonsense; there are name, why"),
        ("--sort-by name=up", "asc or dsc"),
        ("--resources cpu,nonsense", "--resources: nonsense has no column; there are cpu, memory"),
    ),
    "pause STORIES": (
        ("--pool none", "there is no NodePool none; there are "),
        ("--until soon", "'soon' is not a duration (2h, 90m)"),
        ("--until 2020-01-01T00:00:00Z", "is not in the future"),
        ("--release --until 1h", "--until is the end of a new pause: it cannot be combined with --release"),
        ("--reason Old", "invalid choice: 'Old'"),
    ),
    "pods --snapshot SMALL": (("--node-selector 'a('", "--node-selector: "),),
    "policies STORIES": (
        ("--after soon", "'soon' is not a duration such as 30s or 1h, and not Never"),
        ("--after ,", "names no value of consolidateAfter"),
        ("--pool none", "there is no NodePool none; there are "),
        ("--policy Often", "invalid choice: 'Often'"),
    ),
    "pools --demo": (("--pool nowhere", "there is no NodePool nowhere; there are runners, spare"),),
    "rehearse": (("none STORIES", "there is no node group none"),),
    "remedies --demo": (
        ("--of nobody", "--of: nothing called nobody blocks nodes; there is db/postgres"),
        ("--by namespace --of nobody", "--of: nothing called nobody blocks nodes; there is db, "),
    ),
    "rightsize STORIES": (
        ("--prometheus http://me:pass@prom", "an address with a user or password in it is not accepted"),
        ("--prometheus file:///etc/passwd", "is not an address such as http://localhost:9090"),
        ("--prometheus 'http://[::1'", "is not an address such as"),
        ("--prometheus http://p --window 0d", "'0d' is not a length such as 12h or 7d"),
        ("--prometheus http://p --krr -", "not allowed with argument --prometheus"),
        ("--krr - --percentile 90", "--percentile and --window are for --prometheus and recorded usage"),
        ("--percentile 90", "is not a history that karptui has recorded"),
    ),
    "rollout STORIES": (
        ("--wait", "--wait follows a live cluster or the demo: a recording does not go on"),
        ("--timeout 1h", "--timeout needs --wait"),
        ("--pool none", "there is no NodePool none; there are "),
        ("--nodeclass none", "there is no NodeClass none; there are "),
    ),
    "simulate": (
        ("--scenario gone.yaml", "gone.yaml: No such file"),
        ("", "name a snapshot"),
        ("x.json --replay next", "--replay and --fail-on need --scenario"),
        ("--fail-on money x.json", "'money' is not pending, drift"),
        ("--self-check --scenario x", "--self-check cannot be combined with --scenario"),
        ("x.json --demo --self-check", "name snapshots either as arguments"),
        ("x.json --self-check --replay next", "--replay needs --scenario"),
        ("--demo --scenario x --disruption", "--disruption cannot be combined with --scenario"),
        ("--demo --self-check --time 3", "--time cannot be combined with --scenario"),
        ("x.json --context x", "--context needs --scenario or --self-check"),
        ("x.json --price-multiplier 2", "--price-multiplier needs --scenario or --self-check"),
        ("x.json --self-check --no-aws", "--no-aws is about a live cluster: it cannot be combined with a snapshot"),
        ("x.json --self-check --as x", "--as is about a live cluster: it cannot be combined with a snapshot"),
        ("--time 0 x.json", "--time"),
        ("--time x x.json", "--time"),
        ("--karpenter-version newest x.json", "is not a version"),
    ),
    "solve --demo": (
        ("families", "families: nodepool is missing"),
        ("pending --nodepool general", "pending: there is no nodepool; it takes change, tries"),
        ("families --nodepool none", "NodePool 'none' does not exist; there are"),
        ("sleep", "invalid choice: 'sleep'"),
    ),
    "sweep STORIES": (
        ("--set A=1 --scenario pod.yaml", "pod.yaml: is a Kubernetes object, Pod a, not a scenario"),
        ("--set A=1 --jobs 2 --workers 2", "--jobs and --workers say the same"),
        ("--set weight", "--set: 'weight' is not PARAMETER=VALUES"),
        ("--set A=1 --jobs 0", "'0' is not a number from 1 to 256"),
        ("--set A=1 --scenario gone.yaml", "gone.yaml: No such file"),
        ("", "--set"),
    ),
    "types": (
        ("none.json", "none.json: cannot be read"),
        ("cut.json", "is cut off: the JSON ends early"),
        ("list.json", "document: must be an object, is a list"),
        ("cases.yaml", "cases.yaml: holds 2 documents; a case is one"),
    ),
    "types case.json": (
        ("--types m5.tiny", "the catalogue has no m5.tiny"),
        ("-o csv", "the types of a case are printed as JSON: leave -o csv out"),
        ("--filter nosuch=1", "--filter is about a cluster: it cannot be combined with CASE"),
        ("--pool general", "--pool is about a cluster: it cannot be combined with CASE"),
        ("--all", "--all is about a cluster"),
        ("--demo", "--demo is about a cluster"),
        ("--context x", "--context is about a cluster"),
        ("--no-aws", "--no-aws is about a cluster"),
        ("--price-multiplier 0", "--price-multiplier is about a cluster"),
    ),
    "types --snapshot STORIES": (
        ("--all", "--all needs --pool"),
        ("--types m5.large", "--types needs --pool"),
        ("--pool trino --types m9.huge", "--types: NodePool trino has no type m9.huge"),
        ("--pool trino --ledger m5.large --filter x", "--filter cannot be combined with --ledger"),
        ("--pool trino --ledger m5.large --all", "--all cannot be combined with --ledger"),
        ("--pool none", "there is no NodePool none; there are flex, small, general, trino"),
        ("--pool trino --ledger m9.huge", "NodePool trino has no type m9.huge"),
        ("--ledger m5.large", "--ledger needs --pool"),
        ("--pool trino --sort-by nothing", "there is no column nothing"),
        ("--price-multiplier -1", "is not a number from 0 up"),
        ("--node-surcharge x", "is not a number"),
        ("--karpenter-setting x", "is not NAME=VALUE"),
        ("--karpenter-setting VM_MEMORY_OVERHEAD_PERCENT=-1", "must not be negative"),
        ("--price-multiplier inf", "is not a number from 0 up"),
        ("--karpenter-setting PREFERENCE_POLICY=Sometimes", "PREFERENCE_POLICY"),
    ),
    "watch": (
        ("--snapshot x.json", "--snapshot and --at show one moment: karptui watch follows a live cluster or the demo"),
        ("--demo --metrics 9110", "'9110' is not [HOST]:PORT, such as :9110 or 0.0.0.0:9110"),
    ),
}
"""By start of the command line: its possible ends, each with a part of the message.

SMALL is a recording, STORIES a snapshot with NodePools and pending pods, HISTORY 20 seconds of the demo from 14:00.
"""
DEPLOYMENT: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: fresh, namespace: web}
spec:
  selector: {matchLabels: {app: fresh}}
  template:
    metadata: {labels: {app: fresh}}
    spec: {containers: [{name: a, image: a}]}
"""
CONTEXTS: Final = [f"c{number}" for number in range(MOST_CLUSTERS + 1)]
FILES: Final = {
    "cut.yaml": "kind: NodePool\nmetadata: {name: x\n",
    "configmap.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
    "nameless.yaml": "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {}\n",
    "odd.yaml": "nam: x",
    "latin.yaml": "name: \xe9",
    "kubeconfig.json": json.dumps(
        {
            "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in CONTEXTS],
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        }
    ),
    "two.yaml": f"{DEPLOYMENT}---\n{DEPLOYMENT}",
    "bad.yaml": "a: b\n",
    "case.json": '{"region": "us-east-1", "nodeClass": {"spec": {}}}',
    "cases.yaml": "a: 1\n---\nb: 1\n",
    "cut.json": "{",
    "list.json": "[]",
    "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the working directory of the commands."""
    folder = tmp_path_factory.mktemp("refusals")
    for name, text in FILES.items():
        (folder / name).write_bytes(text.encode("latin-1"))
    a_file(folder)
    record_demo(folder / "demo.karptui", 20)
    return folder


@pytest.mark.parametrize(
    ("line", "sentence"),
    [(f"{start} {end}".strip(), sentence) for start, rows in REFUSED.items() for end, sentence in rows],
    ids=lambda text: text,
)
def test_invalid_command_lines_are_refused(
    line: str, sentence: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    files = {"SMALL": "small.json", "STORIES": str(STORIES), "HISTORY": "demo.karptui"}
    output, error = run(*(files.get(word, word) for word in shlex.split(line)), status=2)
    assert not output
    assert sentence in error
    assert "Traceback" not in error
    there = {path.name for path in folder.iterdir() if not path.name.startswith("demo.karptui")}
    assert there == {*FILES, "small.json"}
