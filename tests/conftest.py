"""What holds for every test: no network but loopback, the longest files first."""

from __future__ import annotations

import gc
import os
import re
import socket
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from karptui import crash
from karptui.cli import loading
from tests.event_loop import SteppedLoop

TESTS_ROOT = Path(__file__).resolve().parent
LONGEST_FIRST = ("ui/test_pictures.py", "ui/whatif", "e2e", "terminal", "ui", "cli", "sources", "whatif", "hygiene")
"""Files and folders by how long they take: what is long and comes last keeps one processor busy and the others idle."""
LONGEST_ID = 100
"""Characters of a value that still name a test: ids go from process to process several times with every test."""
LITTERED = 30_000
"""So many more objects than after the last search are worth another one."""

# The same examples in every run, so that a run says something about the change and not about luck; the thorough
# profile (--hypothesis-profile=thorough) looks further with every run.
# No test fails because the machine was slow or stood still: neither a deadline nor the check of how long drawing takes.
UNTIMED: Final[dict[str, Any]] = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("steady", max_examples=50, derandomize=True, database=None, **UNTIMED)
hypothesis.settings.register_profile("thorough", max_examples=2000, **UNTIMED)
hypothesis.settings.load_profile("steady")
# Examples otherwise also hold constants of the modules that happen to be imported, so they would differ from run to
# run; and each process would parse all of karptui for them.
providers._get_local_constants = Constants  # noqa: SLF001 -- there is no setting for it


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for pictures."""
    parser.addoption("--no-pictures", action="store_true", help="leave out tests that compare pictures")
    parser.addoption("--update-pictures", action="store_true", help="write the pictures instead of comparing them")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Look for no garbage while everything is imported, and let each process begin with a share of the files.

    What pytest makes of a file of tests takes longer than to run most of them. It is kept beside the file, so that
    several processes in a folder that nobody has run tests in make a share each.
    """
    gc.disable()
    try:
        count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        if count > 1:
            folders = [session.config.invocation_params.dir / arg.partition("::")[0] for arg in session.config.args]
            _import_share(folders, int(os.environ["PYTEST_XDIST_WORKER"][2:]), count)
        return (yield)
    finally:
        gc.enable()


def _import_share(paths: Iterable[Path], number: int, count: int) -> None:
    """Import one file of so many, under the names that pytest gives them; faults are for it to tell."""
    for file in [file for path in paths for file in sorted(path.rglob("test_*.py"))][number::count]:
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(("tests", *file.relative_to(TESTS_ROOT).with_suffix("").parts)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the folders that take longest first, and leave the order within them."""
    if config.getoption("no_pictures"):
        pictures = {item for item in items if _compares_pictures(item)}
        config.hook.pytest_deselected(items=[*pictures])
        items[:] = [item for item in items if item not in pictures]

    items.sort(key=lambda item: _rank(item.path))


def _compares_pictures(item: pytest.Item) -> bool:
    return "changed_pictures" in getattr(item, "fixturenames", ())


@cache
def _rank(path: Path) -> int:
    name = path.relative_to(TESTS_ROOT).as_posix()
    return next((place for place, first in enumerate(LONGEST_FIRST) if name.startswith(first)), len(LONGEST_FIRST))


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a test that is given a long text by its beginning."""
    if isinstance(val, str | bytes) and len(val) > LONGEST_ID:
        return f"{ascii(val[:20])[1:-1]}... of {len(val)}"
    return None


def pytest_collection_finish() -> None:
    """Keep the garbage collector from scanning all modules and tests again and again: a fifth of the run."""
    gc.freeze()
    gc.set_threshold(300_000, 10, 10)


def pytest_sessionfinish() -> None:
    """Look for what the last tests left once: pytest does it five times."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logfinish() -> None:
    """Look for garbage once its test is over, when all of it is: during the test most of it is still in use."""
    if gc.get_count()[0] > LITTERED:
        gc.collect(1)


def pytest_asyncio_loop_factories() -> dict[str, type[SteppedLoop]]:
    """Let no test wait for a clock."""
    return {"stepped": SteppedLoop}


@pytest.fixture(scope="session", autouse=True)
def _at_home() -> Iterator[None]:
    """Fail a test that connects to another machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to connect to {address[0]}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(scope="session", autouse=True)
def _few_collections() -> Iterator[None]:
    """Collect the garbage of clusters more rarely than commands do: each time, all modules and tests are scanned."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(loading, "_COLLECTED_EVERY", 200)
        yield


_FOLDERS: Final[Counter[str]] = Counter()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of the test's own, named after it: pytest looks at all others to number one."""
    stem = re.sub(r"\W", "_", request.node.name)[:30].lower()  # two that differ by case are one folder to some
    _FOLDERS[stem] += 1
    return tmp_path_factory.mktemp(f"{stem}-{_FOLDERS[stem]}", numbered=False)


@pytest.fixture(autouse=True)
def _state_of_its_own(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Give a test a state folder of its own, and fail it if a boundary catches a fault inside karptui.

    The folder is made only if something is written. Tests of faults are marked ``crashes``.
    """
    name = f"karptui-state-{os.getpid()}-{hash(request.node.nodeid) & 0xFFFFFFFF:x}"
    state_folder = tmp_path_factory.getbasetemp() / name
    monkeypatch.setenv("XDG_STATE_HOME", str(state_folder))
    caught: list[tuple[str, BaseException]] = []
    if request.node.get_closest_marker("crashes") is not None:
        folder = tmp_path_factory.mktemp("state")
        monkeypatch.setattr(crash, "state_dir", lambda: folder)
    else:
        monkeypatch.setattr(crash, "record", lambda error, during: caught.append((during, error)))
    yield state_folder
    if caught:
        during, error = caught[0]
        raise AssertionError(f"a fault inside while {during}") from error


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the local time zone to Europe/Berlin."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
