from __future__ import annotations

import functools
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from karptui import __version__
from karptui.aws.catalogue import instance_type_facts
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.region import AccountReservation, AccountSubnet, Dated, FactKind
from karptui.sources.aws import clients, questions
from karptui.sources.aws.calls import Caller
from karptui.sources.aws.clients import AwsClients
from karptui.sources.aws.facts import RULES, FactCache
from karptui.sources.aws.source import cache_name
from karptui.sources.aws.trouble import AwsError, Trouble
from tests.builders.files import written
from tests.fake_api_server import LoopbackServer
from tests.terminal.program import ready_of

from .conftest import REGION, FakeAws

NOW = 1_795_259_891_000_000_000
TYPES = {name: instance_type_facts()[name] for name in ("m5.large", "p5.48xlarge", "inf2.xlarge", "dl2q.24xlarge")}


def account(session: AwsClients) -> str:
    return questions.account(Caller(profile=session.profile), session.client("sts", REGION))


def credential_process(folder: Path, body: str) -> Path:
    script = written(folder / "process", f"#!{sys.executable}\nimport sys, json, time\n{body}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


CREDENTIALS = {"Version": 1, "AccessKeyId": "AKIAIOSFODNN7EXAMPLE", "SecretAccessKey": "s"}


class TestRegion:
    def test_is_that_of_the_profile(self, aws_home: Path) -> None:
        (aws_home / "config").write_text("[default]\nregion = us-west-2\n[profile dev]\nregion = eu-west-1\n")
        assert (AwsClients().region(), AwsClients("dev").region()) == ("us-west-2", "eu-west-1")

    @pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
    def test_the_environment_overrides_the_profile(
        self, aws_home: Path, monkeypatch: pytest.MonkeyPatch, variable: str
    ) -> None:
        (aws_home / "config").write_text("[default]\nregion = us-west-2\n")
        monkeypatch.setenv(variable, "eu-west-1")
        assert AwsClients().region() == "eu-west-1"

    @pytest.mark.parametrize(("config", "profile", "sentence"), [
        ("", "nowhere", "profile nowhere is not in the AWS configuration"),
        ("no section\n", "", "the AWS configuration cannot be used"),
    ], ids=["no such profile", "unreadable"])  # fmt: skip
    def test_an_unusable_configuration_is_an_error(
        self, aws_home: Path, config: str, profile: str, sentence: str
    ) -> None:
        (aws_home / "config").write_text(config)
        with pytest.raises(AwsError, match=sentence) as caught:
            AwsClients(profile).region()
        assert caught.value.trouble is Trouble.NO_PROFILE


class TestClients:
    def test_no_credentials(self) -> None:
        with pytest.raises(AwsError, match="no AWS credentials were found") as caught:
            AwsClients().client("ec2", REGION)
        assert caught.value.trouble is Trouble.NO_CREDENTIALS

    def test_the_instance_is_asked_for_credentials_only_if_the_user_allows_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with LoopbackServer(lambda call: call.error(404, "no role")) as server:
            monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "false")
            monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url)
            with pytest.raises(AwsError, match="aws_instance_metadata = true asks the EC2 instance"):
                AwsClients().client("ec2", REGION)
            assert server.calls == []
            with pytest.raises(AwsError, match=r"no AWS credentials were found$"):
                AwsClients(asks_instance=True).client("ec2", REGION)
            assert [call.path for call in server.calls] == ["/latest/meta-data/iam/security-credentials/"]

    def test_botocore_does_not_retry_and_has_timeouts(self, session: AwsClients) -> None:
        config = session.client("sts", REGION).meta.config
        assert (config.retries["total_max_attempts"], config.connect_timeout, config.read_timeout) == (1, 4, 20)
        assert config.user_agent.endswith(f"karptui/{__version__}")

    def test_the_profile_argument_overrides_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_PROFILE", "dev")
        assert (AwsClients().profile, AwsClients("prod").profile) == ("dev", "prod")

    def test_the_error_for_an_expired_sso_session_names_the_login_command(
        self, session: AwsClients, aws_home: Path
    ) -> None:
        (aws_home / "config").write_text(
            "[profile sso]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = reader\n"
            f"region = {REGION}\n[sso-session corp]\nsso_region = {REGION}\nsso_start_url = https://corp.example/start\n"
        )
        with pytest.raises(AwsError, match="aws sso login --profile sso renews it") as caught:
            account(AwsClients("sso"))
        assert caught.value.trouble is Trouble.EXPIRED


class TestTheTerminal:
    """No credential provider may prompt or read the keyboard."""

    def test_a_credential_process_cannot_read_the_keyboard(self, session: AwsClients, aws_home: Path) -> None:
        body = f"assert sys.stdin.read() == ''\nprint({json.dumps(CREDENTIALS)!r})"
        script = credential_process(aws_home, body)
        (aws_home / "config").write_text(f"[profile p]\ncredential_process = {script}\n")
        with_process = AwsClients("p")
        assert account(with_process) == "123456789012"
        with_process.close()

    def test_the_message_of_a_failing_process_is_quoted(self, aws_home: Path) -> None:
        script = credential_process(aws_home, "sys.exit('vault is locked')")
        (aws_home / "config").write_text(f"[profile p]\ncredential_process = {script}\n")
        with pytest.raises(AwsError, match=r"credentials of profile p: .*vault is locked"):
            AwsClients("p").client("sts", REGION)

    def test_a_hanging_process_is_killed_with_its_children(
        self, aws_home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("karptui.sources.aws.clients.PROCESS_SECONDS", 1)
        end, child_end = os.pipe()
        os.set_inheritable(child_end, True)
        body = f"import subprocess\nsubprocess.Popen(['sleep', '60'], pass_fds=[{child_end}])\ntime.sleep(60)"
        script = credential_process(aws_home, body)
        (aws_home / "config").write_text(f"[profile p]\ncredential_process = {script}\n")
        popen = functools.partial(clients._Process, close_fds=False)
        monkeypatch.setattr("karptui.sources.aws.clients._Process", popen)
        with pytest.raises(AwsError, match=r"credential_process did not finish within 1 s"):
            AwsClients("p").client("sts", REGION)
        os.close(child_end)
        assert ready_of([end], 10), "the child process still runs"
        os.close(end)

    def test_the_process_of_a_source_profile_cannot_read_the_keyboard(
        self, session: AwsClients, aws_home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started = []
        monkeypatch.setattr(
            "karptui.sources.aws.clients.subprocess.Popen.__init__",
            lambda _, command, **options: started.append((command, options)),
        )
        (aws_home / "config").write_text(
            "[profile base]\ncredential_process = /bin/base\n"
            "[profile role]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\n"
        )
        with pytest.raises(AwsError):
            AwsClients("role").client("sts", REGION)
        assert [(command, options["stdin"]) for command, options in started] == [(["/bin/base"], subprocess.DEVNULL)]

    def test_a_profile_that_needs_an_mfa_code_is_an_error(self, session: AwsClients, aws_home: Path) -> None:
        (aws_home / "config").write_text(
            "[profile role]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\n"
            "mfa_serial = arn:aws:iam::1:mfa/me\n"
        )
        (aws_home / "credentials").write_text("[base]\naws_access_key_id = AKIA1\naws_secret_access_key = s\n")
        with pytest.raises(AwsError, match="asks for an MFA code") as caught:
            account(AwsClients("role"))
        assert caught.value.trouble is Trouble.NO_CREDENTIALS

    def test_credentials_of_an_assumed_role_are_cached_as_by_the_aws_cli(
        self, session: AwsClients, fake: FakeAws, aws_home: Path
    ) -> None:
        (aws_home / "cli" / "cache").mkdir(parents=True)
        (aws_home / "config").write_text(
            "[profile role]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\nregion = us-east-1\n"
        )
        (aws_home / "credentials").write_text("[base]\naws_access_key_id = AKIA1\naws_secret_access_key = s\n")
        keys = "<AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
        given = f"<Credentials>{keys}<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>"
        fake.xml("AssumeRole", f"<AssumeRoleResult>{given}</AssumeRoleResult>")
        for _ in range(2):
            with_role = AwsClients("role")
            assert account(with_role) == "123456789012"
            with_role.close()
        assert fake.count("AssumeRole") == 1
        assert len(list((aws_home / "cli" / "cache").iterdir())) == 1


@pytest.fixture
def cache(tmp_path: Path) -> FactCache:
    return FactCache(tmp_path / "cache")


VALUES: dict[FactKind, Any] = {
    FactKind.INSTANCE_TYPES: TYPES,
    FactKind.OFFERINGS: {"m5.large": ("use1-az1", "use1-az4")},
    FactKind.ON_DEMAND_PRICES: {"m5.large": 0.096},
    FactKind.SPOT_PRICES: {"m5.large": {"use1-az1": 0.0412}},
    FactKind.ZONES: (SubnetZone("us-east-1a", "use1-az4"),),
    FactKind.SUBNETS: (AccountSubnet("subnet-1", "us-east-1a", "use1-az4", 250),),
    FactKind.RESERVATIONS: (AccountReservation("cr-1", "m5.large", "us-east-1a", "active", 4, 1),),
}


@pytest.mark.parametrize("kind", FactKind)
def test_every_kind_of_fact_can_be_stored_and_loaded(cache: FactCache, kind: FactKind) -> None:
    name = cache_name(kind, "us-east-1", "")
    assert cache.load(name, RULES[kind].shape) is None
    cache.store(name, Dated(VALUES[kind], NOW))
    assert cache.load(name, RULES[kind].shape) == Dated(VALUES[kind], NOW)


@pytest.mark.parametrize("content", [
    b"", b"\xff\xfe", b"{}", b'{"format":0,"as_of_ns":1,"value":{"m5.large":0.1}}',
    b'{"format":1,"as_of_ns":"x","value":{}}', b'{"format":1,"as_of_ns":1,"value":{"m5.large":"dear"}}',
    b'{"format":1,"as_of_ns":1,"val',
])  # fmt: skip
def test_an_unreadable_file_counts_as_missing(cache: FactCache, tmp_path: Path, content: bytes) -> None:
    cache.store("a/b", Dated({"m5.large": 0.1}, NOW))
    assert cache.load("a/b", dict[str, float]) is not None
    (tmp_path / "cache" / "a" / "b.json").write_bytes(content)
    assert cache.load("a/b", dict[str, float]) is None


def test_storing_replaces_the_file_and_only_the_owner_may_read_it(cache: FactCache, tmp_path: Path) -> None:
    for price in (0.1, 0.2):
        cache.store("a/b", Dated({"m5.large": price}, NOW))
    assert [path.name for path in (tmp_path / "cache" / "a").iterdir()] == ["b.json"]
    assert (tmp_path / "cache" / "a").stat().st_mode & 0o077 == 0
    assert (tmp_path / "cache" / "a" / "b.json").stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_written_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = FactCache(tmp_path / "file")
    cache.store("a", Dated({}, NOW))
    assert cache.load("a", dict[str, float]) is None


def test_a_full_disk_keeps_the_older_file(cache: FactCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store("a", Dated({"m5.large": 0.1}, NOW))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    cache.store("a", Dated({"m5.large": 0.2}, NOW + 1))
    assert cache.load("a", dict[str, float]) == Dated({"m5.large": 0.1}, NOW)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["a.json"]


def test_facts_of_an_account_are_cached_by_credentials_and_others_by_region(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {cache_name(FactKind.SUBNETS, "us-east-1", profile) for profile in ("", "dev")}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    names.add(cache_name(FactKind.SUBNETS, "us-east-1", ""))
    assert len(names) == 3
    assert not any("AKIA" in name for name in names)
    assert cache_name(FactKind.SPOT_PRICES, "us-east-1", "dev") == "aws/us-east-1/spot-prices"
