"""Feed malformed input to every reader: ``python tools/fuzz.py [--count 50000] [--seed 1] [--only NAME]``.

The input is snapshots, catalogues, kubeconfigs, configuration, scenarios (also saved ones), documents of the editor,
filters, metrics, watch lines, answers of an API server about Karpenter, its kinds and usage, answers of credential
plugins and of AWS, cached prices, and snapshots and manifests for commands that run an engine. Bytes and values are
replaced, removed, repeated, nested and swapped at random. The same seed makes the same input.

Within five seconds, each input must be read, or refused with an error that its reader may raise. The process must stay
within 300 MB. Failures are printed with the number of the input; ``--at NUMBER`` repeats one input and shows the
traceback.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import copy
import gzip
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import yaml

from karptui.errors import RequestError

MOST_SECONDS: Final = 5.0
"""Limit per input in processor time, so that other programs do not matter."""
LONGEST_SECONDS: Final = 60.0
"""Limit per input in elapsed time, for readers that only wait."""
MOST_MEGABYTES: Final = 300
NASTY: Final = (
    b"\x00", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\\ud800", b"\xef\xbb\xbf", b"\x1f\x8b", b"\x1b[2J", b"\r\n",
    b"NaN", b"Infinity", b"-0", b"1e999", b"9" * 400, b"0x7fffffff", b"null", b"true", b"{}", b"[]", b'""', b"''",
    b"&a [*a,*a]", b"*a", b"!!python/object:os.system", b"<<: *a", b"? !", b"--- ", b"...", b"%YAML 9.9\n", b"|", b">",
    b"[" * 2_000, b"{" * 2_000, b'{"a":' * 1_000, b"(" * 500, b"-l", b"!", b">=", b"~", b"in (", b'"', b"\\", b"=",
)  # fmt: skip
VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 2**64, 10**400, 1e308, -1.5, "", " ", "x", "x" * 70_000,
    "\ud800", "\u202e", "[red]", "1e9999999", "9" * 500, "1" * 80 + "Ei", "-5", "100m", "1Ki", "0.000000000000000001",
    "2026-13-45T99:99:99Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "720h", "Never", "0 0 31 2 *", "* * * * *",
    "99999999999999h", [], {}, [[]], [None], {"": None}, {"a": {}}, ["a"] * 300, "(" * 300, "https://[::1", "a/b/c",
)  # fmt: skip
ROOT: Final = Path(__file__).resolve().parent.parent


class Target(NamedTuple):
    """A reader to test."""

    name: str
    read: Callable[[bytes], object]
    allowed: tuple[type[Exception], ...]
    """Errors that it may raise to refuse input."""
    seeds: tuple[bytes, ...]


class Slow(BaseException):
    """Raised if an input takes too long; not an Exception, so that no reader catches it."""


# Input


def _folder() -> Path:
    """Return a new folder, which is removed at exit."""
    folder = tempfile.mkdtemp(prefix="karptui-fuzz.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def malformed(target: Target, number: int, seed: int) -> bytes:
    """Return the malformed input with this number."""
    chance = random.Random(f"{seed}/{target.name}/{number}")
    text = chance.choice(target.seeds)
    if chance.random() < 0.6:
        text = _changed_value(text, chance)
    for _ in range(chance.choice((0, 1, 1, 2, 4, 8))):
        text = _changed_bytes(text, chance, target.seeds)
    if target.name == "snapshots" and chance.random() < 0.1:
        packed = gzip.compress(text * chance.choice((1, 1, 1, 30)), 1, mtime=0)
        text = _changed_bytes(packed, chance, target.seeds) if chance.random() < 0.5 else packed
    return text


def _changed_value(text: bytes, chance: random.Random) -> bytes:
    """Change values of the text if it is a JSON or YAML document."""
    try:
        document = json.loads(text)
        write: Callable[[Any], bytes] = _as_json
    except ValueError:
        try:
            document, write = yaml.load(text, yaml.CSafeLoader), _as_yaml
        except (yaml.YAMLError, ValueError):
            return text
    for _ in range(chance.randrange(1, 4)):
        places = list(_places(document))
        if not places:
            break
        holder, key = chance.choice(places)
        if chance.random() < 0.15:
            del holder[key]
        elif chance.random() < 0.15:
            with contextlib.suppress(RecursionError):
                holder[key] = copy.deepcopy(chance.choice([one[other] for one, other in places[:50]]))
        elif chance.random() < 0.05:
            holder[key] = _deep(holder[key], chance.choice((10, 200, 800)))
        else:
            holder[key] = copy.deepcopy(chance.choice(VALUES))
    return write(document)


def _as_json(document: Any) -> bytes:
    try:
        return json.dumps(document).encode()
    except (RecursionError, ValueError):
        return b"[" * 3_000


def _as_yaml(document: Any) -> bytes:
    try:
        return yaml.dump(document, Dumper=yaml.CSafeDumper).encode(errors="replace")
    except (RecursionError, yaml.YAMLError, UnicodeError):
        return b"[" * 3_000


def _deep(value: Any, depth: int) -> Any:
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    todo = [document]
    while todo:
        one = todo.pop()
        entries = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for key, value in list(entries):
            yield one, key
            todo.append(value)


def _changed_bytes(text: bytes, chance: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    place = chance.randrange(len(text) + 1)
    end = min(len(text), place + chance.choice((1, 1, 4, 30, 300)))
    match chance.randrange(6):
        case 0:
            return text[:place] + bytes([chance.randrange(256)]) + text[place + 1 :]
        case 1:
            return text[:place] + text[end:]
        case 2:
            return text[:place] + chance.choice(NASTY) + text[place:]
        case 3:
            return text[:place] + text[place:end] * chance.choice((2, 10, 300)) + text[end:]
        case 4:
            other = chance.choice(seeds)
            return text[:place] + other[chance.randrange(len(other) + 1) :]
        case _:
            return text[:place]


# Readers


def targets() -> tuple[Target, ...]:
    """Return all readers."""
    readers = (
        _snapshots(),
        _catalogue(),
        _kubeconfig(),
        _plugin_output(),
        _configuration(),
        _scenarios(),
        _saved(),
        _editor(),
        _filters(),
        _metrics(),
        _watch_lines(),
        _server_answers(),
        _aws_answers(),
        _aws_cache(),
    )
    return (*readers, *(_command(name, *words) for name, words in COMMANDS.items()))


COMMANDS: Final = {
    "drill": (),
    "remedies": (),
    "capacity": (),
    "forward": ("--horizon", "10m"),
    "plan": ("--horizon", "10m"),
    "verdict": (),
}
"""Commands to run on a malformed snapshot, with further arguments; plan gets malformed manifests instead."""


def _command(name: str, *words: str) -> Target:
    from karptui.cli.parser import build_parser, module_of

    folder = _folder()
    hostile, sound = folder / "hostile.json", folder / "sound.json"
    sound.write_bytes(_recording())
    files = ["--snapshot", str(sound), "-f", str(hostile)] if name == "plan" else ["--snapshot", str(hostile)]
    parser, run = build_parser(name), module_of(name).run
    seeds = (_recording(), *(json.dumps(one).encode() for one in json.loads(_recording())["objects"]))

    def read(text: bytes) -> object:
        hostile.write_bytes(text)
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")), contextlib.redirect_stderr(None):
            return run(parser.parse_args([*files, *words]))

    return Target(name, read, (SystemExit, RequestError), seeds if name == "plan" else seeds[:1])


def _snapshots() -> Target:
    from karptui.sources.snapshot.reader import SnapshotReader
    from karptui.sources.source import SourceError

    folder = _folder()

    def read(text: bytes) -> object:
        for name in ("one.json", "one.yaml"):
            file = folder / name
            file.write_bytes(text)
            with contextlib.suppress(SourceError):
                SnapshotReader().read([file], now_ns=1)
        return None

    return Target("snapshots", read, (SourceError,), (_recording(), yaml.safe_dump(json.loads(_recording())).encode()))


def _recording() -> bytes:
    objects = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n", "labels": {"karpenter.sh/nodepool": "p"}},
            "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}], "providerID": "aws:///z/i-1"},
            "status": {
                "capacity": {"cpu": "4", "memory": "8Gi"},
                "allocatable": {"cpu": "3900m", "memory": "7Gi"},
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "w",
                "namespace": "d",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
                ],
            },
            "spec": {
                "nodeName": "n",
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}],
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "z", "operator": "In", "values": ["a"]}]}
                            ]
                        }
                    }
                },
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "z",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": {"app": "w"}},
                    }
                ],
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
                "tolerations": [{"operator": "Exists"}],
            },
            "status": {"phase": "Running"},
        },
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": "p"},
            "spec": {
                "weight": 3,
                "limits": {"cpu": "100"},
                "disruption": {
                    "consolidateAfter": "30s",
                    "budgets": [{"nodes": "10%", "schedule": "0 9 * * 1-5", "duration": "8h", "reasons": ["Drifted"]}],
                },
                "template": {
                    "spec": {
                        "expireAfter": "720h",
                        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "d"},
                        "requirements": [
                            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"], "minValues": 1}
                        ],
                    }
                },
            },
        },
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {"name": "p-1", "labels": {"karpenter.sh/nodepool": "p"}},
            "spec": {"requirements": []},
            "status": {"nodeName": "n", "providerID": "aws:///z/i-1", "conditions": []},
        },
        {
            "apiVersion": "karpenter.k8s.aws/v1",
            "kind": "EC2NodeClass",
            "metadata": {"name": "d"},
            "spec": {
                "amiSelectorTerms": [{"alias": "al2023@latest"}],
                "kubelet": {"maxPods": 50, "kubeReserved": {"cpu": "1"}},
                "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "20Gi"}}],
            },
            "status": {},
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "d"},
            "spec": {"maxUnavailable": "10%", "selector": {"matchLabels": {"app": "w"}}},
            "status": {"disruptionsAllowed": 1},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "s", "namespace": "d"},
            "spec": {"template": {"spec": {"containers": []}}},
        },
    ]
    types = [
        {
            "name": "m5.large",
            "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
            "capacity": {"cpu": "2", "memory": "8Gi", "pods": "29"},
            "overhead": {"kubeReserved": {"cpu": "70m"}},
            "offerings": [{"price": 0.1, "available": True, "requirements": []}],
        },
    ]
    document = {
        "karptui": 1,
        "name": "fuzz",
        "capturedAt": "2026-11-20T12:00:00Z",
        "settings": {"BATCH_MAX_DURATION": "10s"},
        "instanceTypes": types,
        "objects": objects,
    }
    return json.dumps(document).encode()


def _kubeconfig() -> Target:
    from karptui.sources.cluster.connection import load_connection
    from karptui.sources.source import SourceError

    file = _folder() / "config"
    seed = b"""apiVersion: v1
kind: Config
current-context: a
clusters:
- name: a
  cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: "LS0t", proxy-url: "http://p:3128"}
- name: b
  cluster: {server: "https://b", insecure-skip-tls-verify: true, extensions: [{name: x, extension: {a: 1}}]}
users:
- name: a
  user: {token: t, as: b, as-groups: [c], as-user-extra: {k: [v]}}
- name: b
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, env: [{name: A, value: b}]}}
contexts:
- name: a
  context: {cluster: a, user: a, namespace: d}
- name: b
  context: {cluster: b, user: b}
"""

    def read(text: bytes) -> object:
        file.write_bytes(text)
        return load_connection(kubeconfig=str(file), environ={})

    return Target("kubeconfig", read, (SourceError,), (seed,))


def _catalogue() -> Target:
    from karptui.sources.snapshot.reader import SnapshotReader
    from karptui.sources.source import SourceError

    folder = _folder()
    (folder / "recording.json").write_text('{"karptui": 1, "catalog": "types.json", "objects": []}')
    types = json.dumps(json.loads(_recording())["instanceTypes"]).encode()

    def read(text: bytes) -> object:
        (folder / "types.json").write_bytes(text)
        return SnapshotReader().read([folder / "recording.json"], now_ns=1)

    seeds = (types, b'{"instanceTypes": %b}' % types, gzip.compress(types, mtime=0))
    return Target("catalogue", read, (SourceError,), seeds)


def _plugin_output() -> Target:
    from karptui.sources.cluster.connection import ExecPlugin
    from karptui.sources.cluster.exec_plugin import ExecCredentials
    from karptui.sources.source import SourceError

    version = "client.authentication.k8s.io/v1"
    plugin = ExecPlugin("aws", (), {}, version, "", demands_terminal=False, cluster_info=None, title="aws")
    status = {"token": "t", "expirationTimestamp": "2026-11-20T12:00:00Z", "clientCertificateData": "-----BEGIN"}
    seed = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    read = ExecCredentials(plugin, environ={})._parse  # noqa: SLF001  otherwise each input would start a process
    return Target("credential plugins", read, (SourceError,), (json.dumps(seed).encode(),))


def _saved() -> Target:
    from karptui.remembered import remember, remembered
    from karptui.screens.whatif.kept_scenarios import KeptScenarios
    from karptui.whatif.scenario import read_scenarios

    folder = _folder()
    kept = KeptScenarios("fuzz")
    seeds = _scenarios().seeds
    with patched_environment(XDG_STATE_HOME=str(folder)):
        kept.write(read_scenarios(seeds[0].decode(), "seed"))
    (file,) = (folder / "karptui" / "whatif").iterdir()

    def read(text: bytes) -> object:
        with patched_environment(XDG_STATE_HOME=str(folder)):
            for other in file.parent.iterdir():
                other.unlink()
            file.write_bytes(text)
            scenarios = kept.read()
            (folder / "karptui" / "remembered.json").write_bytes(text)
            remember("order", remembered("order") + "x")
            return kept.write(scenarios)

    return Target("saved scenarios", read, (), (*seeds, b'{"order": "age"}'))


@contextlib.contextmanager
def patched_environment(**values: str) -> Iterator[None]:
    """Set environment variables until the block ends."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _editor() -> Target:
    from karptui.whatif.edits.objects import read_document
    from karptui.whatif.yaml import tree

    seeds = tuple(yaml.safe_dump(one).encode() for one in json.loads(_recording())["objects"])

    def read(text: bytes) -> object:
        words = text.decode(errors="replace")
        tree.read(words)
        return read_document(words)

    return Target("editor", read, (ValueError, RequestError), seeds)


def _configuration() -> Target:
    from karptui.config import ConfigError, load_config

    file = _folder() / "config.toml"
    seed = b"""theme = "nord"
screen = "pods"
node_sort = "age=dsc"
extra_labels = ["a/b"]
price_multiplier = 0.72
node_selector = "a=b,c!=d"
resources = ["cpu"]
[karpenter_settings]
BATCH_MAX_DURATION = "10s"
[keymap]
"list.wide" = "w,ctrl+w"
[contexts."*prod*"]
banner = "danger"
label = "PROD"
"""

    def read(text: bytes) -> object:
        file.write_bytes(text)
        return load_config(file, {})

    return Target("configuration", read, (ConfigError,), (seed,))


def _scenarios() -> Target:
    from karptui.whatif.scenario import read_scenarios

    seed = b"""name: more cpu
replay: pending
edits:
- edit: set
  object: NodePool/general
  path: spec.limits.cpu
  value: "480"
- edit: setting
  name: VM_MEMORY_OVERHEAD_PERCENT
  value: "0.05"
- edit: object
  text: |
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: a}
- edit: scale
  object: Deployment/d/w
  replicas: 3
- {edit: removeNode, name: ip-10-0-0-1}
- {edit: outage, zone: a}
"""
    return Target(
        "scenarios", lambda text: read_scenarios(text.decode(errors="replace"), "f"), (RequestError,), (seed,)
    )


def _filters() -> Target:
    from karptui.views.filters import QueryError, parse_label_query, parse_query
    from karptui.views.nodes.columns import nodes_table

    subject = nodes_table(()).subject

    def read(text: bytes) -> object:
        words = text.decode(errors="replace")
        with contextlib.suppress(ValueError):
            parse_label_query(words)
        return parse_query(words, subject)

    seeds = (
        b'spot !m5.large -l a=b,c!=d "two words" cpu>50% age<3d why=DND',
        b"-l 'k in (a,b)' held>0.5 pool=gen*",
        b"pods>=10 !-l x",
    )
    return Target("filters", read, (QueryError,), seeds)


def _metrics() -> Target:
    from karptui.sources.metrics.reading import read_metrics

    seed = b"""# TYPE karpenter_build_info gauge
karpenter_build_info{version="1.14.1"} 1
karpenter_cloudprovider_instance_type_offering_price_estimate{capacity_type="spot",instance_type="m5",zone="a"} 0.04
karpenter_cloudprovider_instance_type_offering_available{capacity_type="spot",instance_type="m5.large",zone="a"} 1
karpenter_cloudprovider_instance_type_cpu_cores{instance_type="m5.large"} 2
karpenter_nodepools_usage{nodepool="general",resource_type="cpu"} 12
karpenter_nodepools_allowed_disruptions{nodepool="general",reason="Drifted"} 3
karpenter_pods_state{name="w",namespace="d",nodepool="general",phase="Running"} 1
leader_election_master_status{name="karpenter-leader-election"} 1
process_start_time_seconds 1.7952e+09
"""
    return Target("metrics", lambda text: read_metrics(text, endpoint="pod", read_at_ns=1), (), (seed,))


def _watch_lines() -> Target:
    from karptui.decode.kinds import Kind
    from karptui.decode.stream import StreamDecoder
    from karptui.sources.cluster.stream import EndlessLineError, LineBuffer

    decoders = [StreamDecoder(kind) for kind in Kind]
    objects = json.loads(_recording())["objects"]
    lines = [json.dumps({"type": "MODIFIED", "object": one}).encode() for one in objects]
    lines.append(
        b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"gone","details":{"retryAfterSeconds":1}}}'
    )
    lines.append(
        b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}}}'
    )
    lines.append(json.dumps({"metadata": {"resourceVersion": "1", "continue": "x"}, "items": objects}).encode())

    def read(text: bytes) -> object:
        for decoder in decoders:
            for decode in (decoder.line, decoder.page):
                with contextlib.suppress(ValueError):
                    decode(text)
        for is_chunked in (True, False):
            buffer = LineBuffer(1 << 12, is_chunked=is_chunked)
            with contextlib.suppress(ValueError, EndlessLineError):
                for begin in range(0, len(text), 1 << 12):
                    piece = text[begin : begin + len(buffer.space())]
                    buffer.space()[: len(piece)] = piece
                    buffer.take(len(piece))
        return None

    return Target("watch lines", read, (ValueError,), (*lines, b"5\r\nhello\r\n2\r\n\n\n\r\n0\r\n\r\n"))


class _Answering:
    """Fake ``sources.karpenter_identity.ProxyClient`` that always returns the same answer."""

    server = "https://fuzz"

    def __init__(self, body: bytes) -> None:
        self._body, self._count = body, 0

    def get(self, *_: object, **__: object) -> bytes:
        """Return the answer; after a hundred calls an empty one, so that no list is endless."""
        self._count += 1
        return self._body if self._count < 100 else b"{}"


SERVER_ANSWERS: Final = """
items:
- metadata: {name: karpenter-leader-election, namespace: k, creationTimestamp: "2026-01-01T00:00:00Z"}
  spec: {holderIdentity: karpenter-a_1, renewTime: "2026-01-01T00:00:00.000000Z"}
---
items:
- metadata: {name: karpenter}
  roleRef: {name: karpenter}
  subjects: [{kind: ServiceAccount, name: karpenter, namespace: karpenter}]
rules: [{apiGroups: [karpenter.sh], resources: [nodeclaims], verbs: ["*"]}]
---
items:
- metadata: {name: p, managedFields: [{manager: karpenter}]}
  spec: {nodeClassRef: {group: karpenter.k8s.aws}}
  source: {component: karpenter}
  involvedObject: {apiVersion: karpenter.sh/v1}
---
items:
- metadata: {name: karpenter, namespace: kube-system, labels: {app.kubernetes.io/name: karpenter}}
  spec:
    template:
      spec:
        serviceAccountName: karpenter
        containers:
        - name: controller
          image: karpenter/controller:1.14.1
          env: [{name: PREFERENCE_POLICY, value: Ignore}, {name: X, valueFrom: {secretKeyRef: {name: s}}}]
---
metadata: {continue: x}
items:
- metadata: {name: n, namespace: d}
  timestamp: "2026-01-01T00:00:00Z"
  window: 15s
  usage: {cpu: "1", memory: 1Gi}
  containers: [{usage: {cpu: 5n, memory: 1Ki}}]
---
kind: APIGroupDiscoveryList
items:
- metadata: {name: karpenter.sh}
  versions:
  - {version: v1, resources: [{resource: nodepools, responseKind: {kind: NodePool}, verbs: [list]}]}
---
groups: [{name: karpenter.sh, versions: [{groupVersion: karpenter.sh/v1, version: v1}]}]
resources: [{name: nodepools, kind: NodePool, verbs: [list]}]
"""
"""Answers of an API server about Karpenter, live usage and its kinds."""


def _server_answers() -> Target:
    from karptui.sources.cluster.discovery import discover
    from karptui.sources.controller import read_controller
    from karptui.sources.source import SourceError
    from karptui.sources.usage import read_nodes, read_pods

    seeds = [json.dumps(one).encode() for one in yaml.safe_load_all(SERVER_ANSWERS)]

    def read(text: bytes) -> object:
        for ask in (read_controller, read_nodes, read_pods, discover):
            with contextlib.suppress(SourceError):
                ask(_Answering(text))  # type: ignore[arg-type]
        return None

    return Target("server answers", read, (), tuple(seeds))


class _FixedClients:
    """Fake ``questions.Clients``: real AWS clients that get the same answer to every request, without network."""

    profile = ""

    def __init__(self) -> None:
        import boto3

        self.body = b""
        self._session = boto3.session.Session("a", "b", region_name="us-east-1")
        self._clients: dict[str, Any] = {}

    def region(self) -> str:
        return "us-east-1"

    def client(self, service: str, region: str) -> Any:  # noqa: ARG002  part of the protocol
        from botocore.config import Config

        if service not in self._clients:
            config = Config(retries={"total_max_attempts": 1, "mode": "standard"})
            client = self._clients[service] = self._session.client(service, config=config)
            client.meta.events.register("before-send", self._answer)
        return self._clients[service]

    def _answer(self, request: Any, **_: object) -> Any:
        from botocore.awsrequest import AWSResponse

        return AWSResponse(request.url, 200, {}, _Raw(self.body))

    def close(self) -> None:
        """Do nothing."""


class _Raw(io.BytesIO):
    """Fake urllib3 response body."""

    def stream(self, **_: object) -> Iterator[bytes]:
        yield self.read()


EC2_ANSWERS: Final = {
    "instanceTypeSet": """<instanceType>m5.large</instanceType><currentGeneration>true</currentGeneration><vCpuInfo>
        <defaultVCpus>2</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>8192</sizeInMiB></memoryInfo><processorInfo>
        <supportedArchitectures><item>x86_64</item></supportedArchitectures></processorInfo><networkInfo>
        <maximumNetworkInterfaces>3</maximumNetworkInterfaces><ipv4AddressesPerInterface>10</ipv4AddressesPerInterface>
        </networkInfo><supportedUsageClasses><item>spot</item></supportedUsageClasses>""",
    "instanceTypeOfferingSet": "<instanceType>m5.large</instanceType><location>use1-az1</location>",
    "availabilityZoneInfo": "<zoneName>us-east-1a</zoneName><zoneId>use1-az1</zoneId>",
    "spotPriceHistorySet": """<instanceType>m5.large</instanceType><spotPrice>0.04</spotPrice><availabilityZone>
        us-east-1a</availabilityZone><timestamp>2026-01-01T00:00:00Z</timestamp>""",
    "subnetSet": """<subnetId>subnet-1</subnetId><availabilityZone>us-east-1a</availabilityZone>
        <availableIpAddressCount>5</availableIpAddressCount>""",
    "capacityReservationSet": """<capacityReservationId>cr-1</capacityReservationId><state>active</state>
        <instanceType>m5.large</instanceType><availableInstanceCount>2</availableInstanceCount>
        <endDate>2026-01-01T00:00:00Z</endDate>""",
}
"""Items of each list in EC2 answers."""


def _aws_answers() -> Target:
    from karptui.aws.region import FactKind
    from karptui.sources.aws.calls import AwsError
    from karptui.sources.aws.questions import Questions

    clients = _FixedClients()
    questions = Questions(clients, now_ns=lambda: 1, wait=lambda _: False)
    item = {
        "product": {"attributes": {"instanceType": "m5.large"}},
        "terms": {"OnDemand": {"a": {"priceDimensions": {"b": {"pricePerUnit": {"USD": "0.096"}}}}}},
    }
    prices = json.dumps({"FormatVersion": "aws_v1", "PriceList": [json.dumps(item)]}).encode()

    def read(text: bytes) -> object:
        clients.body = text
        for kind in FactKind:
            with contextlib.suppress(AwsError):
                questions.ask(kind, "us-east-1")
        with contextlib.suppress(AwsError):
            questions.account("us-east-1")
        return None

    ec2 = (
        f"<Response><requestId>r</requestId><{name}><item>{item}</item></{name}></Response>".encode()
        for name, item in EC2_ANSWERS.items()
    )
    return Target("AWS answers", read, (), (*ec2, prices, json.dumps(item).encode()))


def _aws_cache() -> Target:
    from karptui.sources.aws.facts import RULES, FactCache

    folder = _folder()
    cache = FactCache(folder)
    values = ({"m5.large": 0.096}, {"m5.large": {"use1-az1": 0.04}}, [{"name": "us-east-1a", "zone_id": "use1-az1"}])

    def read(text: bytes) -> object:
        (folder / "fact.json").write_bytes(text)
        return [cache.load("fact", rule.shape) for rule in RULES.values()]

    seeds = (json.dumps({"format": 1, "as_of_ns": 5, "value": value}).encode() for value in values)
    return Target("cached prices", read, (), tuple(seeds))


# Runs


class Found(NamedTuple):
    """An input that is neither read nor refused correctly."""

    target: str
    number: int
    problem: str


def fuzz(
    chosen: tuple[Target, ...], numbers: range, seed: int, told: Callable[[int], None] = lambda _: None
) -> list[Found]:
    """Try numbered inputs on each reader in turn; return the failures."""
    found: list[Found] = []
    previous = {number: signal.signal(number, _too_slow) for number in (signal.SIGALRM, signal.SIGPROF)}
    try:
        for number in numbers:
            target = chosen[number % len(chosen)]
            text = malformed(target, number, seed)
            told(number)
            problem = _tried(target, text)
            if problem:
                found.append(Found(target.name, number, problem))
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return found


def _too_slow(_number: int, _frame: FrameType | None) -> None:
    raise Slow


def _tried(target: Target, text: bytes) -> str:
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_SECONDS)
    try:
        target.read(text)
    except target.allowed as error:
        if isinstance(error, SystemExit) and error.code not in (1, 2):
            return f"ends with {error.code!r}"
    except Slow:
        return f"takes more than {MOST_SECONDS:g} s"
    except Exception as error:  # noqa: BLE001  every other error is a failure
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:120]!r} at {Path(last.filename).name}:{last.lineno}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    seconds = time.process_time() - began
    return f"takes {seconds:.1f} s" if seconds > MOST_SECONDS else ""


def peak_megabytes() -> float:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def chosen_by(name: str) -> tuple[Target, ...]:
    """Return the reader with this name, or all if it is empty."""
    return tuple(target for target in targets() if name in ("", target.name))


def _watched(arguments: list[str]) -> int:
    """Run in a child process, so that a crash can be reported with its input."""
    with tempfile.NamedTemporaryFile() as file:
        done = subprocess.run([sys.executable, __file__, *arguments, "--child", file.name], check=False)
        if done.returncode < 0:
            number = Path(file.name).read_text() or "?"
            print(f"input {number}: the process died of {signal.Signals(-done.returncode).name}")
            return 1
        return done.returncode


def main() -> int:
    """Try inputs, and print the failures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--at", type=int, default=-1)
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.at >= 0:
        chosen = chosen_by(args.only)
        target = chosen[args.at % len(chosen)]
        print(target.name, malformed(target, args.at, args.seed)[:2000])
        target.read(malformed(target, args.at, args.seed))
        return 0
    if not args.child:
        return _watched(sys.argv[1:])
    began = time.monotonic()
    progress = Path(args.child).open("w")  # noqa: SIM115  stays open until the process ends

    def told(number: int) -> None:
        progress.seek(0)
        progress.write(str(number))
        progress.flush()

    found = fuzz(chosen_by(args.only), range(args.count), args.seed, told)
    for one in found:
        print(f"input {one.number} ({one.target}): {one.problem}")
    peak = peak_megabytes()
    took = time.monotonic() - began
    print(f"{args.count} inputs, seed {args.seed}: {len(found)} found, {took:.0f} s, peak {peak:.0f} MB")
    return 1 if found or peak > MOST_MEGABYTES else 0


if __name__ == "__main__":
    sys.exit(main())
