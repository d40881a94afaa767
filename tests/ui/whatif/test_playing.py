"""The five stories played through in the pane, and what it answers."""

from __future__ import annotations

from collections import Counter

import pytest

from karptui.app import KarptuiApp
from karptui.screens.text import TextScreen
from karptui.screens.whatif.screen import WhatIfScreen
from karptui.whatif.difference import Difference
from karptui.whatif.edits import ObjectRef
from tests.ui.stage import front
from tests.ui.whatif.bench import begin, control, delta, make_app, prepare, press, shown
from tests.ui.whatif.stories import story_a, story_b, story_c, story_d, story_e, story_e_own_pool


def difference(app: KarptuiApp) -> Difference:
    """Return what the answer of the first scenario comes to."""
    answer = app.whatif.book.answers[0]
    assert answer is not None
    assert answer.difference is not None
    return answer.difference


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch)


async def test_story_a_weight_is_an_order_not_a_share() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await story_a(pilot)
        screen = front(app, WhatIfScreen)
        pools = {line.pool_name for line in difference(app).claims}
        assert pools == {"spare", "general", "overflow"}, "spare is full at 64 cores, then the others"
        first = [line for line in difference(app).claims if line.pool_name == "spare"]
        assert first
        screen.edit_pane.controls.focus()
        await control(pilot, "weight", "enter", "ctrl+u", *"40", "enter")
        claims = difference(app).claims
        fronts = Counter(line.pool_name for line in claims for pod in line.pods if pod.startswith("web/front"))
        assert fronts["general"] + fronts["overflow"] > 400 > fronts["spare"]


async def test_story_b_the_fallback_takes_over_when_flex_is_out() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await story_b(pilot)
        claims = difference(app).claims
        assert {line.pool_name for line in claims} == {"flex"}
        assert all("-flex." in option.name for line in claims for option in line.types)
        await press(pilot, "a", *"offering", "enter", *"*-flex.*", "enter")
        claims = difference(app).claims
        assert {line.pool_name for line in claims} == {"general", "overflow"}, "overflow stands before the fallback"
        assert not any("-flex." in option.name for line in claims for option in line.types)


async def test_story_c_one_more_daemonset_leaves_fewer_types() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await story_c(pilot)
        after = difference(app)
        await press(pilot, "u")
        before = difference(app)
        assert len(after.claims) >= len(before.claims)
        most, fewer = (max(len(line.types) for line in one.claims) for one in (before, after))
        assert fewer <= most
        asked = dict(after.claims[0].requests)
        assert asked != dict(before.claims[0].requests), "the new DaemonSet's pod is on every new node"


async def test_story_d_the_pods_fit_with_the_overhead_that_nodes_report() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await story_d(pilot)
        screen = front(app, WhatIfScreen)
        assert delta(screen, "pending")[2] == "-3"
        assert "Placed now: 3 pods" in shown(screen)
        await control(pilot, "VM overhead", "enter", "ctrl+u", *"0.0489", "enter")
        assert delta(screen, "pending")[2] == "0"


async def test_story_e_a_pinned_node_and_the_remedies() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await story_e(pilot)
        screen = front(app, WhatIfScreen)
        found, answer = shown(screen), app.whatif.book.answers[0]
        assert answer is not None
        assert delta(screen, "nodes")[2] == "-1"
        assert {line.code for line in answer.blockers_lost or ()} >= {"POD_DND"}
        assert "of runners  spec.template.spec.terminationGracePeriod changed  NodePoolDrifted" in found
        moved = {pod for line in difference(app).moves for pod in line.pods}
        assert "gitlab/ci-4700-7z74t" in moved
        cordoned = {line.after.node_name for line in difference(app).moves}
        assert "ip-10-0-102-46.ec2.internal" not in cordoned
        await press(pilot, "x", "enter")
        assert "kubectl cordon ip-10-0-102-46" in front(app, TextScreen).area.text


async def test_story_e_a_pool_of_its_own_for_a_protected_job() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await story_e_own_pool(pilot)
        screen, found = front(app, WhatIfScreen), difference(app)
        (claim,) = found.claims
        assert (claim.pool_name, tuple(claim.pods)) == ("ci-long", ("gitlab/ci-4700-7z74t",))
        elsewhere = {line.after.node_name for line in found.moves if "gitlab/ci-4700-7z74t" not in line.pods}
        assert elsewhere <= {"ip-10-0-102-46.ec2.internal", "ip-10-0-56-201.ec2.internal"}
        assert screen.whatif.documents.problems == ()
        assert screen.edit_pane.document is not None
        assert screen.edit_pane.document.name == "ci-long"
        await press(pilot, "x", "enter")
        said = front(app, TextScreen).area.text
        assert "ci-long" in said
        assert "kubectl patch jobs.batch ci-4700 -n gitlab" in said
        await press(pilot, "escape", "u")
        assert screen.whatif.documents.parsed.find(ObjectRef("NodePool", "ci-long")) is None


async def test_a_document_that_is_open_is_gone_to_and_not_opened_twice() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begin(pilot)
        for _ in range(2):
            await press(pilot, "a", *"open", "enter", *"Job gitlab/ci-4700", "enter")
            assert screen.edit_pane.document is not None
            assert screen.edit_pane.document.kind == "Job"
        assert [one.kind for one in screen.whatif.documents.parsed.documents] == ["NodePool", "EC2NodeClass", "Job"]
