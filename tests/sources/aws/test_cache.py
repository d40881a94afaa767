from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.region import AccountReservation, AccountSubnet, Dated, FactKind
from karptui.sources.aws.facts import RULES, FactCache
from karptui.sources.aws.source import cache_name

NOW = 1_795_259_891_000_000_000
TYPES = {name: instance_type_facts()[name] for name in ("m5.large", "p5.48xlarge", "inf2.xlarge", "dl2q.24xlarge")}


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
def test_keeps_every_kind_of_fact(cache: FactCache, kind: FactKind) -> None:
    name = cache_name(kind, "us-east-1", "")
    assert cache.load(name, RULES[kind].shape) is None
    cache.store(name, Dated(VALUES[kind], NOW))
    assert cache.load(name, RULES[kind].shape) == Dated(VALUES[kind], NOW)


@pytest.mark.parametrize("content", [
    b"", b"\xff\xfe", b"{}", b'{"format":0,"as_of_ns":1,"value":{"m5.large":0.1}}',
    b'{"format":1,"as_of_ns":"x","value":{}}', b'{"format":1,"as_of_ns":1,"value":{"m5.large":"dear"}}',
    b'{"format":1,"as_of_ns":1,"val',
])  # fmt: skip
def test_what_cannot_be_read_is_as_good_as_nothing(cache: FactCache, tmp_path: Path, content: bytes) -> None:
    cache.store("a/b", Dated({"m5.large": 0.1}, NOW))
    assert cache.load("a/b", dict[str, float]) is not None
    (tmp_path / "cache" / "a" / "b.json").write_bytes(content)
    assert cache.load("a/b", dict[str, float]) is None


def test_writing_replaces_whole_files_and_leaves_nothing_else(cache: FactCache, tmp_path: Path) -> None:
    for price in (0.1, 0.2):
        cache.store("a/b", Dated({"m5.large": price}, NOW))
    assert [path.name for path in (tmp_path / "cache" / "a").iterdir()] == ["b.json"]
    assert (tmp_path / "cache" / "a").stat().st_mode & 0o077 == 0
    assert (tmp_path / "cache" / "a" / "b.json").stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = FactCache(tmp_path / "file")
    cache.store("a", Dated({}, NOW))
    assert cache.load("a", dict[str, float]) is None


def test_a_full_disk_leaves_the_older_file(cache: FactCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store("a", Dated({"m5.large": 0.1}, NOW))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    cache.store("a", Dated({"m5.large": 0.2}, NOW + 1))
    assert cache.load("a", dict[str, float]) == Dated({"m5.large": 0.1}, NOW)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["a.json"]


def test_facts_of_an_account_are_kept_by_credentials_and_others_by_region(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {cache_name(FactKind.SUBNETS, "us-east-1", profile) for profile in ("", "dev")}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    names.add(cache_name(FactKind.SUBNETS, "us-east-1", ""))
    assert len(names) == 3
    assert not any("AKIA" in name for name in names)
    assert cache_name(FactKind.SPOT_PRICES, "us-east-1", "dev") == "aws/us-east-1/spot-prices"
