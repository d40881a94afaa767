from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.decode.kinds import Kind
from karptui.sources.source import Mailbox, Phase, SourceStatus


def test_waiting_changes_are_counted_once_per_object() -> None:
    mailbox = Mailbox()
    assert mailbox.waiting == 0
    mailbox.put(Kind.POD, {"a": 1, "b": 2})
    mailbox.put(Kind.POD, {"a": None})
    objects = {"n": 1}
    mailbox.replace(Kind.NODE, objects)
    mailbox.put(Kind.NODE, {"n": 2})
    assert (mailbox.waiting, objects) == (3, {"n": 1}), "the mailbox changed the caller's objects"
    mailbox.drain()
    assert mailbox.waiting == 0


def test_only_the_latest_status_of_a_kind_is_kept() -> None:
    mailbox = Mailbox()
    for phase in (Phase.CONNECTING, Phase.LIVE):
        mailbox.report(SourceStatus(kind=Kind.NODE, phase=phase, since_ns=1))
    mail = mailbox.drain()
    assert not mail.is_empty
    assert mail.statuses[Kind.NODE].phase is Phase.LIVE


PVC = frozenset({"PersistentVolumeClaim"})


@pytest.mark.parametrize(("phases", "told"), [
    ((Phase.CONNECTING, Phase.SYNCING, Phase.LIVE), [PVC, None, frozenset()]),
    ((Phase.FORBIDDEN, Phase.FORBIDDEN, Phase.LIVE), [PVC, None, frozenset()]),
    ((Phase.FORBIDDEN, Phase.DISCONNECTED, Phase.SYNCING), [PVC, None, None]),
    ((Phase.LIVE, Phase.DISCONNECTED, Phase.SYNCING, Phase.STALE), [None, None, None, None]),
    ((Phase.LIVE, Phase.FORBIDDEN), [None, PVC]),
    ((Phase.DISCONNECTED, Phase.STALE), [PVC, frozenset()]),
    ((Phase.NOT_INSTALLED, Phase.OFFLINE), [None, None]),
])  # fmt: skip
def test_a_kind_is_unread_until_its_list_is_complete(
    phases: Sequence[Phase], told: list[frozenset[str] | None]
) -> None:
    mailbox, heard = Mailbox(), []
    for phase in phases:
        mailbox.report(SourceStatus(kind=Kind.PVC, phase=phase, since_ns=0))
        heard.append(mailbox.drain().batch.unread)
    assert heard == told


def test_a_changed_phase_is_news_until_the_mailbox_is_drained() -> None:
    mailbox = Mailbox()
    assert not mailbox.has_news
    for phase, is_news in ((Phase.SYNCING, True), (Phase.SYNCING, False), (Phase.LIVE, True), (Phase.LIVE, False)):
        mailbox.put(Kind.NODE, {"n": 1})
        mailbox.report(SourceStatus(kind=Kind.NODE, phase=phase, since_ns=0))
        assert mailbox.has_news is is_news, phase
        mailbox.drain()
        assert not mailbox.has_news


def test_waiting_for_news_ends_with_a_new_phase_but_not_with_changes() -> None:
    mailbox, has_waited = Mailbox(), threading.Event()

    def wait() -> None:
        mailbox.wait_for_news(60)
        assert mailbox.has_news
        has_waited.set()

    waiter = threading.Thread(target=wait)
    waiter.start()
    mailbox.put(Kind.NODE, {"n": 1})
    assert not mailbox.has_news
    assert not has_waited.is_set()
    mailbox.report(SourceStatus(kind=Kind.NODE, phase=Phase.LIVE, since_ns=0))
    waiter.join()
    assert has_waited.is_set()


def test_nothing_is_lost_between_threads() -> None:
    mailbox = Mailbox()
    held: dict[str, int] = {}
    done = threading.Event()

    def write(writer: int) -> None:
        for i in range(500):
            mailbox.put(Kind.NODE, {f"{writer}-{i}": i})

    def read() -> None:
        while not done.is_set():
            for delta in mailbox.drain().batch.deltas.values():
                held.update(delta.objects)

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    for delta in mailbox.drain().batch.deltas.values():
        held.update(delta.objects)
    assert len(held) == 2000


CHANGES = st.dictionaries(st.sampled_from("abcd"), st.one_of(st.none(), st.integers(0, 3)))
STEPS = st.lists(
    st.one_of(st.tuples(st.just("put"), CHANGES), st.tuples(st.sampled_from(["replace", "drain"]), CHANGES))
)


def applied(held: dict[str, int], objects: dict[str, int | None], *, replaces: bool) -> dict[str, int]:
    after = {} if replaces else dict(held)
    for key, item in objects.items():
        if item is None:
            after.pop(key, None)
        else:
            after[key] = item
    return after


@given(STEPS)
def test_merged_changes_have_the_same_result(steps: list[tuple[str, dict[str, int | None]]]) -> None:
    mailbox = Mailbox()
    direct: dict[str, int] = {}
    drained: dict[str, int] = {}

    def drain() -> None:
        nonlocal drained
        for delta in mailbox.drain().batch.deltas.values():
            drained = applied(drained, dict(delta.objects), replaces=delta.replaces)

    for step, changes in steps:
        if step == "put":
            mailbox.put(Kind.NODE, changes)
            direct = applied(direct, changes, replaces=False)
        elif step == "replace":
            present = {key: item for key, item in changes.items() if item is not None}
            mailbox.replace(Kind.NODE, present)
            direct = applied(direct, changes, replaces=True)
        else:
            drain()
    drain()
    assert drained == direct
