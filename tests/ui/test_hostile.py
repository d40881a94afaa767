"""Names with markup, escape sequences, direction overrides and wide characters on every screen."""

from __future__ import annotations

import unicodedata

import pytest

from karptui.decode.kinds import Kind
from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.objects import Condition, Event, Node, OwnerReference
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.taints import Taint
from karptui.sources.source import Phase
from tests.ui.conftest import MakeApp
from tests.ui.fleet import NOW_NS, Fleet, FleetSource, amounts, lines_of, status
from tests.ui.stage import press, running

HOSTILE = (
    "[bold red]x[/] [@click=app.quit]q %s{}${}$karp-fault",
    "[/]",
    "a\nb\r\tc\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp.exe\u2066",
    "節點節點節點節點e" + "\u0301" * 60,
    "\ud800",
    "x" * 20_000,
)
"""Hostile texts; those of one kind are joined, because the fault of any of them fails the test."""


def hostile_fleet(text: str) -> Fleet:
    """Return a cluster with this text in every text field."""
    fleet = Fleet()
    labels = {
        karpenter_labels.NODEPOOL: text, karpenter_labels.INSTANCE_TYPE: text, karpenter_labels.ZONE: text, text: text,
    }  # fmt: skip
    pair = (Condition("Ready", "False", text, text, NOW_NS), Condition(text, text, text, text))
    fleet.add(Kind.NODE,
              Node(name=text, labels=labels, taints=(Taint(text, text, text),), conditions=pair,
                   allocatable=amounts(cpu="4", memory="8Gi", pods="58"),
                   capacity=amounts(cpu="4", memory="8Gi", pods="58"), kubelet_version=text, os_image=text,
                   provider_id=text))  # fmt: skip
    fleet.add(
        Kind.NODECLAIM,
        NodeClaim(
            name=text, labels=labels, conditions=(Condition("Launched", "Unknown", text, text), *pair), image_id=text
        ),
    )
    template = PodTemplate(namespace=text, labels=labels, annotations={karpenter_labels.DO_NOT_DISRUPT: text},
                           owners=(OwnerReference(text, text, text, controller=True),), images=(text,),
                           priority_class_name=text)  # fmt: skip
    fleet.add(
        Kind.POD,
        Pod(name=text, template=template, node_name=text, waiting_reason=text, scheduled_message=text, phase=text),
    )
    fleet.add(
        Kind.EVENT,
        Event(name=text, involved_kind="Node", involved_name=text, reason=text, message=text, source=text, type=text),
    )
    return fleet


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_text_from_the_cluster_is_shown_without_control_characters(make_app: MakeApp, text: str) -> None:
    source = FleetSource(hostile_fleet(text), title=text)
    async with running(make_app(source=source), (120, 30)) as (app, pilot):
        assert source.mailbox is not None
        frames = [lines_of(app)]
        source.mailbox.report(status(Kind.POD, Phase.STALE, last_error=text))
        app.poll_now()
        for keys in (
            ("enter",),
            ("d",),
            ("q", "enter"),
            ("q", "q", "down", "enter"),
            ("q", "4"),
            ("d",),
            ("q", "ctrl+w"),
            ("question_mark",),
            ("escape", "slash", *"zzz", "enter"),
        ):
            await press(pilot, *keys)
            frames.append(lines_of(app))
        app.run_command("sources")
        await pilot.pause()
        frames.append(lines_of(app))
    for frame in frames:
        for line in frame:
            line.encode()
            assert not [char for char in line if unicodedata.category(char) in ("Cc", "Cf", "Cs")], line
