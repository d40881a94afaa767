"""A real kube-apiserver with its etcd, started and stopped by tests."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import urllib3
import yaml

TOKEN = "end-to-end"
BINARIES = ("etcd", "kube-apiserver")
START_SECONDS = 120.0
CLIENTS = 8
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SPARING = {"GOGC": "400", "GOMAXPROCS": "1"}
"""Fewer garbage collections, on one processor: starting needs a quarter less CPU time."""


def find_assets() -> Path | None:
    """Return the folder with the binaries: KUBEBUILDER_ASSETS, or the newest build in the cache.

    Raises:
        FileNotFoundError: if the folder KUBEBUILDER_ASSETS lacks them.
    """
    named = os.environ.get("KUBEBUILDER_ASSETS")
    if named:
        if not _is_complete(Path(named)):
            raise FileNotFoundError(f"KUBEBUILDER_ASSETS={named} does not hold {' and '.join(BINARIES)}")
        return Path(named)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "karptui-e2e"
    built = [folder for folder in cache.glob("*") if _is_complete(folder)]
    return max(built, key=lambda folder: folder.stat().st_mtime, default=None)


def _is_complete(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in BINARIES)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for item in sockets:
        item.bind(("127.0.0.1", 0))
    ports = [int(element.getsockname()[1]) for element in sockets]
    for item in sockets:
        item.close()
    return ports


class ControlPlane:
    """An etcd and a kube-apiserver on loopback, without scheduler and kubelets."""

    def __init__(self, assets: Path, *arguments: str) -> None:
        """Start both and wait until they are ready.

        Args:
            assets: the folder with the binaries.
            arguments: more flags for kube-apiserver.
        """
        self._assets = assets
        self._arguments = arguments
        self._temporary = tempfile.TemporaryDirectory(prefix="karptui-e2e.")
        self.folder = Path(self._temporary.name)
        self._client, self._peer, self._port = free_ports(3)
        self.url = f"https://127.0.0.1:{self._port}"
        self._prepare()
        self._etcd = self._spawn("etcd", *self._etcd_flags())
        self.start_server()

    def _prepare(self) -> None:
        key = self.folder / "sa.key"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
        (self.folder / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n')
        cluster = {"server": self.url, "certificate-authority": "pki/apiserver.crt"}
        config = {
            "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": TOKEN}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "admin"}}],
        }
        (self.folder / "kubeconfig").write_text(yaml.safe_dump(config))

    @property
    def kubeconfig(self) -> str:
        """Path of a kubeconfig for an administrator."""
        return str(self.folder / "kubeconfig")

    def start_server(self) -> None:
        """Start kube-apiserver, on the same port and with the same certificate as before."""
        self._server = self._spawn("kube-apiserver", *self._server_flags())
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            for process in (self._etcd, self._server):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"the control plane did not come up: {self._last_words()}")
            time.sleep(0.05)

    def kill_server(self) -> None:
        """Kill kube-apiserver without warning."""
        self._server.kill()
        self._server.wait()

    def kill_etcd(self) -> None:
        """Kill etcd without warning."""
        self._etcd.kill()
        self._etcd.wait()

    def start_etcd(self) -> None:
        """Start etcd again with its data."""
        self._etcd = self._spawn("etcd", *self._etcd_flags())

    def await_server(self) -> None:
        """Wait until kube-apiserver is ready."""
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            assert time.monotonic() < deadline, self._last_words()
            time.sleep(0.05)

    def freeze(self, name: str) -> None:
        """Suspend etcd or kube-apiserver; its connections stay open."""
        self._process(name).send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Resume a suspended process."""
        self._process(name).send_signal(signal.SIGCONT)

    def _process(self, name: str) -> subprocess.Popen[bytes]:
        return {"etcd": self._etcd, "kube-apiserver": self._server}[name]

    def back_up(self, folder: Path) -> None:
        """Copy the files of the running etcd, as a crash would leave them."""
        self.freeze("etcd")
        shutil.copytree(self.folder / "etcd", folder)
        self.thaw("etcd")

    def restore(self, folder: Path) -> None:
        """Replace the files of etcd with a copy; etcd must not run."""
        shutil.rmtree(self.folder / "etcd")
        shutil.copytree(folder, self.folder / "etcd")

    def compact(self) -> None:
        """Write a new revision to etcd and compact all earlier ones."""
        url = f"http://127.0.0.1:{self._client}/v3/kv"
        with urllib3.PoolManager() as pool:
            written = pool.request("POST", f"{url}/put", body=json.dumps({"key": "AA==", "value": "AA=="})).json()
            compaction = {"revision": written["header"]["revision"], "physical": True}
            assert pool.request("POST", f"{url}/compaction", body=json.dumps(compaction)).status == 200

    @property
    def port(self) -> int:
        """Port of kube-apiserver."""
        return self._port

    def stop(self) -> None:
        """Stop both processes and remove their files."""
        for process in (self._server, self._etcd):
            process.kill()
            process.wait()
        self._temporary.cleanup()

    def _spawn(self, name: str, *flags: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            command = [str(self._assets / name), *flags]
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **SPARING}
            )

    def _etcd_flags(self) -> Iterable[str]:
        client, peer = f"http://127.0.0.1:{self._client}", f"http://127.0.0.1:{self._peer}"
        yield from ("--data-dir", str(self.folder / "etcd"), "--name", "default", "--unsafe-no-fsync")
        yield from ("--listen-client-urls", client, "--advertise-client-urls", client)
        yield from ("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer)
        yield from ("--initial-cluster", f"default={peer}")

    def _server_flags(self) -> Iterable[str]:
        key = str(self.folder / "sa.key")
        yield from ("--etcd-servers", f"http://127.0.0.1:{self._client}")
        yield from ("--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", str(self._port))
        yield from ("--cert-dir", str(self.folder / "pki"), "--token-auth-file", str(self.folder / "tokens.csv"))
        yield from ("--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24", "--allow-privileged")
        yield from ("--service-account-issuer", "https://kubernetes.default.svc")
        yield from ("--service-account-key-file", key, "--service-account-signing-key-file", key)
        yield from (
            "--endpoint-reconciler-type",
            "none",
            "--disable-admission-plugins=ServiceAccount",
            "--profiling=false",
        )
        yield from self._arguments

    def _is_ready(self) -> bool:
        if not (self.folder / "pki" / "apiserver.crt").exists():
            return False
        try:
            return bool(Client(self).request("GET", "/readyz", expect=None) == "ok")
        except (OSError, urllib3.exceptions.HTTPError):
            return False

    def _last_words(self) -> str:
        logs = [(self.folder / f"{name}.log").read_text(errors="replace") for name in BINARIES]
        return "\n".join(log[-1500:] for log in logs)


class Client:
    """Requests of the test itself to the API server, as an administrator and without karptui's code."""

    def __init__(self, plane: ControlPlane) -> None:
        context = ssl.create_default_context(cafile=str(plane.folder / "pki" / "apiserver.crt"))
        self._url = plane.url
        self._pool = urllib3.PoolManager(ssl_context=context, maxsize=2 * CLIENTS, retries=False, timeout=30)

    def request(
        self, method: str, path: str, document: Any = None, *, patch: str = "merge", expect: int | None = 300
    ) -> Any:
        """Send a request; return the decoded answer, or its text if it is not JSON.

        Args:
            method: the HTTP method.
            path: the path with its query.
            document: the body.
            patch: kind of patch, for a PATCH.
            expect: fail unless the status is lower; None accepts any status.
        """
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        if method == "PATCH":
            headers["Content-Type"] = f"application/{patch}-patch+json"
        body = None if document is None else json.dumps(document)
        response = self._pool.request(method, self._url + path, body=body, headers=headers)
        text = response.data.decode()
        assert expect is None or response.status < expect, f"{method} {path}: {response.status} {text[:500]}"
        return json.loads(text) if text.startswith("{") else text

    def watch(self, path: str) -> Iterator[bytes]:
        """Yield the objects of a collection and then their changes as JSON lines, until the server ends."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        response = self._pool.request(
            "GET", f"{self._url}{path}?watch=true", headers=headers, preload_content=False, timeout=None
        )
        try:
            yield from response
        except urllib3.exceptions.HTTPError:
            response.release_conn()

    def create(self, path: str, documents: Iterable[Any]) -> None:
        """Create objects; skip those that exist."""
        with ThreadPoolExecutor(CLIENTS) as pool:
            for answer in pool.map(lambda document: self.request("POST", path, document, expect=None), documents):
                assert answer.get("reason") in (None, "AlreadyExists"), answer

    def allow(self, name: str, rules: list[dict[str, Any]], *, kind: str = "User", namespace: str = "") -> None:
        """Create a ClusterRole with these rules and bind it to a user, group or service account of the same name."""
        self.request("POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        self._bind("ClusterRole", name, {"kind": kind, "name": name, **({"namespace": namespace} if namespace else {})})

    def allow_in(self, namespace: str, user: str, rules: list[dict[str, Any]]) -> None:
        """Create a Role with these rules in a namespace and bind it to a user of the same name."""
        role = {"metadata": {"name": user}, "rules": rules}
        self.request("POST", f"{RBAC}/namespaces/{namespace}/roles", role)
        self._bind("Role", user, {"kind": "User", "name": user}, f"/namespaces/{namespace}")

    def _bind(self, kind: str, name: str, subject: dict[str, str], place: str = "") -> None:
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
        self.request("POST", f"{RBAC}{place}/{kind.lower()}bindings", binding)

    def keys(self, path: str) -> set[str]:
        """Return the keys of the objects in a collection."""
        items = self.request("GET", path)["items"]
        return {"/".join(filter(None, (x["metadata"].get("namespace"), x["metadata"]["name"]))) for x in items}
