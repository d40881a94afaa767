"""AWS on loopback: moto's server, and a scripted one for what moto lacks (pricing, pages, throttling, refusals)."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from botocore.loaders import Loader

from karptui.sources.aws.calls import Caller
from karptui.sources.aws.clients import AwsClients
from tests.fake_api_server import Call, LoopbackServer

REGION = "us-east-1"
_LEFT_OVER = (
    "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "HTTP_PROXY", "HTTPS_PROXY",
    "http_proxy", "https_proxy",
)  # fmt: skip


@pytest.fixture(autouse=True)
def aws_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Remove all AWS configuration; return the folder for a test's own."""
    for name in _LEFT_OVER:
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / ".aws"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return folder


@pytest.fixture(scope="session")
def _loader() -> Loader:
    return Loader()


@pytest.fixture(autouse=True)
def _models_read_once(_loader: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Share botocore's parsed service descriptions between sessions; parsing takes a second per test."""
    monkeypatch.setattr("botocore.session.create_loader", lambda *_: _loader)


@pytest.fixture
def logged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set AWS credentials in the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    """Return the URL of moto's server."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def moto(moto_url: str, logged_in: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsClients]:
    """Return a session that sends every request to moto."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto_url)
    session = AwsClients()
    yield session
    session.close()


class FakeAws:
    """Answers botocore's requests by action, and records them."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Callable[[Call], None]]] = {}
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def xml(self, action: str, *bodies: str) -> None:
        """Set the successive answers of an EC2 or STS action; the last one repeats."""
        self.answers.setdefault(action, []).extend(self._xml_of(action, body) for body in bodies)

    def json(self, action: str, *documents: Any) -> None:
        """Set the successive answers of a Pricing API action; the last one repeats."""

        def saying(document: Any) -> Callable[[Call], None]:
            return lambda call: call.text(json.dumps(document), Content_Type="application/x-amz-json-1.1")

        self.answers.setdefault(action, []).extend(map(saying, documents))

    def fault(self, action: str, code: str, status: int = 400, times: int = 1, message: str = "no") -> None:
        """Make an action fail."""
        xml = f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors></Response>"
        if action == "GetCallerIdentity":
            xml = f"<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
        if action == "GetProducts":
            xml = json.dumps({"__type": code, "message": message})
        self.answers.setdefault(action, []).extend([lambda call: call.text(xml, status)] * times)

    def count(self, action: str) -> int:
        """Return the number of requests for an action."""
        return sum(name == action for name, _ in self.requests)

    def __call__(self, call: Call) -> None:
        target = call.headers.get("X-Amz-Target") or ""
        if target:
            action, parameters = target.rpartition(".")[2], json.loads(call.body)
        else:
            parameters = {name: values[0] for name, values in parse_qs(call.body.decode()).items()}
            action = parameters["Action"]
        self.requests.append((action, parameters))
        left = self.answers.get(action)
        if not left:
            call.text(f"<html>{action} is not scripted</html>", 400)
        else:
            (left.pop(0) if len(left) > 1 else left[0])(call)

    @staticmethod
    def _xml_of(action: str, body: str) -> Callable[[Call], None]:
        text = f"<{action}Response>{body}</{action}Response>"
        return lambda call: call.text(text, Content_Type="text/xml")


@pytest.fixture
def fake() -> FakeAws:
    """Return the scripted AWS."""
    fake = FakeAws()
    fake.xml("GetCallerIdentity", f"<GetCallerIdentityResult>{ME}</GetCallerIdentityResult>")
    return fake


ME = "<Account>123456789012</Account><Arn>arn:aws:iam::123456789012:user/me</Arn><UserId>u</UserId>"


@pytest.fixture
def session(fake: FakeAws, logged_in: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsClients]:
    with LoopbackServer(fake) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        session = AwsClients()
        yield session
        session.close()


class Pauses:
    """Replaces sleeping: records the pauses and returns at once."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.interrupted = False

    def __call__(self, seconds: float, /) -> bool:
        self.seconds.append(seconds)
        return self.interrupted


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def caller(pauses: Pauses) -> Caller:
    """Return a caller that records the longest possible pauses instead of sleeping."""
    return Caller(wait=pauses, jitter=lambda: 1.0)
