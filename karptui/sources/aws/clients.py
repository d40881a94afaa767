"""Clients of boto3: profile, region, SSO and roles as the AWS CLI reads them, but nothing that asks at the terminal.

Importing boto3 takes more than a tenth of a second: only a thread of karptui.sources.aws.source imports this module.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any, ClassVar, Final

import boto3.session
import botocore.session
from botocore import awsrequest, credentials
from botocore.config import Config

from karptui import __version__
from karptui.sources.aws.calls import aws_error
from karptui.sources.aws.trouble import AwsError, Trouble
from karptui.sources.cluster.body import charged
from karptui.sources.cluster.connection_pool import TimedResponse, TooMuchError

CONNECT_SECONDS: Final = 4
READ_SECONDS: Final = 20
ANSWER_SECONDS: Final = 60.0
"""Maximum time from an answer's headers to its last byte: read_timeout restarts with every byte."""
ANSWER_BYTES: Final = 64 << 20
"""Of one answer; a page of instance types has less than one MiB."""
PROCESS_SECONDS: Final = 60
"""Timeout of a ``credential_process``, in seconds."""


class _Response(TimedResponse):
    """An answer of AWS, or of what gives credentials for it."""

    answer_seconds: ClassVar[float] = ANSWER_SECONDS
    most_bytes: ClassVar[float] = ANSWER_BYTES

    @staticmethod
    def received(part: bytes) -> None:
        """Count a part in the budget that all answers share.

        Raises:
            TooMuchError: if it is used up.
        """
        if not charged(part, part.count(b"{") + part.count(b"[") + part.count(b"<")):
            raise TooMuchError


# Also for the clients and fetchers that botocore makes itself where credentials come from SSO, roles or metadata.
for _connection in (awsrequest.AWSHTTPConnection, awsrequest.AWSHTTPSConnection):
    _connection.response_class = _Response


class AwsClients:
    """Makes clients."""

    def __init__(self, profile: str = "", *, asks_instance: bool = False) -> None:
        """Prepare a session.

        Args:
            asks_instance: Whether the EC2 instance's metadata service (IMDS) may provide credentials.
        """
        self._asks_instance = asks_instance
        self.profile: Final = profile or os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or ""
        self._chosen = profile
        self._lock = threading.Lock()
        self._session: Any = None
        self._clients: dict[tuple[str, str], Any] = {}

    def region(self) -> str:
        """Return the configured region, empty for none.

        Raises:
            AwsError: when the configuration cannot be used.
        """
        try:
            with self._lock:
                return str(os.environ.get("AWS_REGION") or self._open_session().region_name or "")
        except Exception as error:
            raise aws_error(error, action="reading the AWS configuration", profile=self.profile) from error

    def client(self, service: str, region: str) -> Any:
        """Return a client; the same one each time, to be used from several threads.

        Raises:
            AwsError: when there are no credentials, or the configuration cannot be used.
        """
        try:
            with self._lock:
                key = (service, region)
                if key not in self._clients:
                    self._clients[key] = self._new_client(service, region)
                return self._clients[key]
        except Exception as error:
            raise aws_error(error, action=f"preparing {service}", profile=self.profile) from error

    def close(self) -> None:
        """Close all clients; a running request still finishes."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    def _new_client(self, service: str, region: str) -> Any:
        session = self._open_session()
        if session.get_credentials() is None:
            hint = "" if self._asks_instance else "; aws_instance_metadata = true asks the EC2 instance for its role's"
            raise AwsError(Trouble.NO_CREDENTIALS, f"no AWS credentials were found{hint}")
        return session.client(
            service,
            region_name=region,
            config=Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=READ_SECONDS,
                max_pool_connections=4,
                # sources.aws.calls backs off itself, and can be interrupted.
                retries={"total_max_attempts": 1, "mode": "standard"},
                user_agent_extra=f"karptui/{__version__}",
            ),
        )

    def _open_session(self) -> Any:
        if self._session is None:
            session = botocore.session.Session(profile=self._chosen or None)
            _keep_off_the_terminal(session)
            if not self._asks_instance:
                session.get_component("credential_provider").remove(credentials.InstanceMetadataProvider.METHOD)
            self._session = boto3.session.Session(botocore_session=session)
        return self._session


def _keep_off_the_terminal(session: Any) -> None:
    """Replace what would prompt, or hand the keyboard to another program, while the screen is up.

    botocore has no public place for these; tests notice when their names change.
    """
    for provider in session.get_component("credential_provider").providers:
        if provider.METHOD == credentials.ProcessProvider.METHOD:
            provider._popen = _Process  # noqa: SLF001  see above
        elif provider.METHOD == credentials.AssumeRoleProvider.METHOD:
            provider._prompter = _refuse_to_prompt  # noqa: SLF001
            provider._profile_provider_builder = _ProfileProviders(session)  # noqa: SLF001
            if (cli_cache := Path.home() / ".aws" / "cli" / "cache").is_dir():
                # Roles that the AWS CLI has assumed, with an MFA code perhaps, are good here as well.
                provider.cache = credentials.JSONFileCache(str(cli_cache))


def _refuse_to_prompt(_prompt: str) -> str:
    raise AwsError(
        Trouble.NO_CREDENTIALS,
        "the AWS profile asks for an MFA code, which karptui does not; "
        "export temporary credentials first (aws configure export-credentials)",
    )


class _Process(subprocess.Popen[bytes]):
    """A ``credential_process`` without a keyboard and with an end."""

    def __init__(self, command: list[str], **options: Any) -> None:
        super().__init__(command, stdin=subprocess.DEVNULL, start_new_session=True, **options)

    def communicate(self, input: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:  # noqa: A002  Popen's name
        try:
            return super().communicate(input, PROCESS_SECONDS if timeout is None else timeout)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                # A process outside the group may hold the pipes for ever.
                super().communicate(timeout=1)
            raise AwsError(
                Trouble.NO_CREDENTIALS, f"the credential_process did not finish within {PROCESS_SECONDS} s"
            ) from None


class _ProfileProviders(credentials.ProfileProviderBuilder):  # type: ignore[misc]  # botocore has no types
    """Builds the providers of the profiles that a role is assumed from."""

    def _create_process_provider(self, profile_name: str) -> Any:
        return credentials.ProcessProvider(
            profile_name=profile_name, load_config=lambda: self._session.full_config, popen=_Process
        )
