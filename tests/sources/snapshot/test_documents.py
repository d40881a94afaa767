from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from karptui.sources.snapshot.documents import documents
from karptui.sources.snapshot.text import SnapshotError

VALUE = {"kind": "Pod", "metadata": {"name": "é"}}


def packed(data: bytes) -> bytes:
    """Return data as reproducible gzip."""
    return gzip.compress(data, mtime=0)


JSON = json.dumps(VALUE, ensure_ascii=False).encode()
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
YAML = "kind: Pod\nmetadata: {name: é}\n".encode()


@pytest.mark.parametrize(("name", "data"), [
    ("a.json", JSON),
    ("a.json", b"\xef\xbb\xbf" + JSON),
    *(("a.json", JSON.decode().encode(encoding)) for encoding in WIDE),
    *(("a.yaml", YAML.decode().encode(encoding)) for encoding in WIDE),
    ("a.json.gz", packed(JSON.decode().encode("utf-16"))),
    ("a.yaml", "\ufeff".encode("utf-16-be") + YAML.decode().encode("utf-16-be")),
    ("a.json", b"\n\n  " + JSON + b"\n"),
    ("a.json.gz", packed(JSON)),
    ("no-suffix", packed(JSON)),
    ("no-suffix", JSON),
    ("no-suffix", YAML),
    ("a.yaml", YAML),
    ("a.yaml.gz", packed(YAML)),
    ("a.yml", JSON),
    ("a.yaml", b"{kind: Pod, metadata: {name: \xc3\xa9}}"),
])  # fmt: skip
def test_reads_every_form(tmp_path: Path, name: str, data: bytes) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    (document,) = documents([file])
    assert document.value == VALUE
    assert document.where == str(file)
    assert document.folder == tmp_path


@pytest.mark.parametrize(("escaped", "text"), [
    (r"\ud800", "\ufffd"),
    (r"a\uDFFFb", "a\ufffdb"),
    (r"\udc00\ud83d", "\ufffd\ufffd"),
    (r"\ud83d\ude00", "\U0001f600"),
    (r"\ud83d\ud83d\uDE00", "\ufffd\U0001f600"),
    (r"\\ud800", r"\ud800"),
    (r"\\\ud800\n", "\\\ufffd\n"),
])  # fmt: skip
def test_lone_surrogates_become_replacement_characters(tmp_path: Path, escaped: str, text: str) -> None:
    file = tmp_path / "a.json"
    for times in (1, 2):
        file.write_text(f'{{"name": "{escaped}"}}' * times)
        assert [document.value for document in documents([file])] == [{"name": text}] * times


def test_reads_several_texts_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(JSON + b"\n" + JSON + b"[1]\n")
    (tmp_path / "b.yaml").write_bytes(b"---\n" + YAML + b"---\n" + YAML)
    result = list(documents([tmp_path / "a.json", str(tmp_path / "b.yaml")]))
    assert [document.value for document in result] == [VALUE, VALUE, [1], VALUE, VALUE]
    assert result[1].where == f"{tmp_path / 'a.json'}, document 2"


def test_files_of_a_directory_are_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.json", "sub/c.json", "notes.txt", ".hidden.json", ".git/d.json"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(JSON if name.endswith("json") else YAML)
    assert [Path(document.where).name for document in documents([tmp_path])] == ["a.json", "b.yaml", "c.json"]


@pytest.mark.parametrize(("name", "data", "problem"), [
    ("a.json", b"", "is empty"),
    ("a.yaml", b"# nothing\n---\n", "is empty"),
    ("a.json", JSON[:20], "is cut off: the JSON ends early"),
    ("a.json", b'{"a": 1,}', "is not JSON: line 1: "),
    ("a.json", b'{"a": 1,\n "b" 2}', "is not JSON: line 2: expected ':'"),
    ("a.json", b'{"a": ' + b"9" * 5000 + b"}", "is not JSON: Integer value out of range"),
    ("a.json", JSON + b"rubbish", "is not JSON: "),
    ("a.json", b'{"a":\n "\xff"}', "is not UTF-8: line 2 holds the byte 0xff; save it as UTF-8"),
    ("a.json", b"[" * 100_000, "is nested too deeply"),
    ("a.json.gz", packed(JSON * 100)[:60], "is cut off: the gzip stream ends early"),
    ("a.json.gz", b"\x1f\x8bnonsense", "is damaged: "),
    ("a.bin", b"\x7fELF\x00\x01", "is binary, not JSON or YAML"),
    ("a.bin", b"a\x00\x01\x00b\x00", "is binary, not JSON or YAML"),
    ("a.bin", b"a\x00\x00\x00b\x00", "is binary, not JSON or YAML"),
    ("a.bin", b"kind: Pod\n" * 10 + b"\x00", "is binary, not JSON or YAML"),
    ("a.bin", b"\xff\xfe\x00\xd8", "is binary, not JSON or YAML"),
    ("a.yaml", b"\x80\x81", "is not UTF-8: line 1 holds the byte 0x80"),
    ("a.yaml", b"a: [", "is not YAML: line 1, column 5: a value is missing here"),
])  # fmt: skip
def test_errors_name_the_file_and_the_problem(tmp_path: Path, name: str, data: bytes, problem: str) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(SnapshotError) as caught:
        list(documents([file]))
    assert str(caught.value).startswith(f"{file}: {problem}")
    assert "\n" not in str(caught.value)


def test_empty_input_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="cannot be read: No such file or directory"):
        list(documents([tmp_path / "none.json"]))
    for name in ("", "  "):
        with pytest.raises(SnapshotError, match="the name of a snapshot is empty"):
            list(documents([name]))
    with pytest.raises(SnapshotError, match=r"no file in it ends in \.json"):
        list(documents([tmp_path]))


def test_a_packed_file_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.sources.snapshot.documents.MAX_BYTES", 1 << 10)
    (tmp_path / "bomb.gz").write_bytes(packed(b" " * 10_000))
    with pytest.raises(SnapshotError, match="is larger than"):
        list(documents([tmp_path / "bomb.gz"]))


def test_an_implausibly_compressed_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.json.gz").write_bytes(packed(b" " * (80 << 20)))
    with pytest.raises(SnapshotError, match="unpacks to more than 200 times its size; it is no snapshot"):
        list(documents([tmp_path / "bomb.json.gz"]))


class Endless(io.RawIOBase):
    """An endless stream that counts the bytes read."""

    def __init__(self, text: bytes) -> None:
        self.text, self.read_bytes = text, 0

    def readable(self) -> bool:
        return True

    def readinto(self, space: Any) -> int:
        count = len(space)
        space[:] = (self.text * (count // len(self.text) + 1))[:count]
        self.read_bytes += count
        return count


def test_a_file_above_the_limit_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.sources.snapshot.documents.MAX_BYTES", 1 << 20)
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate((1 << 20) + 1)
    with pytest.raises(SnapshotError, match="cannot be read: it is larger than 1 MiB"):
        list(documents([tmp_path / "a.json"]))
    endless = Endless(b"a: b\n")
    with pytest.raises(SnapshotError, match="standard input: it is larger than 1 MiB"):
        list(documents(["-"], stdin=io.BufferedReader(endless)))
    assert endless.read_bytes < 2 << 20


@pytest.mark.parametrize(
    ("text", "sentence"), [(b"\0", "is binary"), (b"y\n", "is neither JSON nor YAML"), (b"PK\x03\x04\0\0", "is binary")]
)
def test_only_the_beginning_of_an_endless_non_snapshot_is_read(text: bytes, sentence: str) -> None:
    endless = Endless(text)
    with pytest.raises(SnapshotError, match=f"standard input: {sentence}"):
        list(documents(["-"], stdin=io.BufferedReader(endless)))
    assert endless.read_bytes <= 1 << 17


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_an_endless_device_is_not_read(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.sources.snapshot.documents._look", lambda begin, where: None)
    with pytest.raises(SnapshotError, match="cannot be read: it is no regular file"):
        list(documents([device]))
    with pytest.raises(SnapshotError, match="/dev/null: is empty"):
        list(documents(["/dev/null"]))


@pytest.mark.parametrize("data", [JSON * 300, YAML * 300, b"[" + b",".join([JSON] * 9000) + b"]", packed(JSON)])
def test_a_file_that_takes_too_much_memory_is_refused(
    tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("karptui.sources.snapshot.text.FREE_BYTES", -(1 << 40))
    file = tmp_path / "a"
    file.write_bytes(data)
    with pytest.raises(SnapshotError, match=r"of memory, more than a snapshot of .* needs"):
        list(documents([file]))
