"""What can be added to a scenario: documents of the cluster, and edits of what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from karptui.decode.kinds import Kind
from karptui.screens.dialogs import AskScreen, ChecklistScreen, Choice, PickScreen
from karptui.screens.whatif.asking import Asking, needed
from karptui.screens.whatif.question import question
from karptui.screens.whatif.quick import QuickEditing
from karptui.sources.base import SourceError
from karptui.state.cluster import ClusterState
from karptui.state.inventory import WORKLOAD_KINDS
from karptui.views.row import Tone
from karptui.views.whatif.edit_text import edit_text
from karptui.views.whatif.opening import ref_of
from karptui.whatif.edits import ObjectRef
from karptui.whatif.quick_edits.actions import QUICK_ACTIONS, SETTING_EDITS, QuickAction
from karptui.whatif.quick_edits.pools import add_daemonset, own_pool, split_pool
from karptui.whatif.scenario import Replay
from karptui.whatif.sheet import joined
from karptui.whatif.yaml.parse import Document
from karptui.whatif.yaml.splice import EditRefusedError

MOST_PODS = 2_000
"""Pods that are offered: those without a node first, then one of each workload."""
SPLIT_KEYS = (
    ("karpenter.k8s.aws/instance-family", "instance families"),
    ("karpenter.k8s.aws/instance-category", "instance categories"),
    ("karpenter.sh/capacity-type", "capacity types"),
    ("topology.kubernetes.io/zone", "zones"),
    ("kubernetes.io/arch", "architectures"),
)
TextChange = Callable[[str], str]


class Adding(QuickEditing, Asking):
    """Mixed into the what-if screen."""

    @question
    async def action_add(self) -> None:
        """Choose what to add."""
        document = self.focused_document()
        chosen = await self.app.push_screen_wait(PickScreen("Add to the scenario", list(_offers(document))))
        if chosen is None:
            return
        sort, _, name = chosen.partition("/")
        match sort:
            case "open":
                await self._open_object()
            case "setting":
                await self._choose_setting()
            case "split" if document is not None:
                await self._split(document)
            case "own" if document is not None:
                await self._own_pool(document)
            case "daemonset":
                await self._daemonset()
            case _:
                await self._act(next(one for one in QUICK_ACTIONS if one.id == name), document)

    # Documents

    async def _open_object(self) -> None:
        chosen = await self._pick_object("Which document", _openable(self.host.view.state))
        if chosen is None or not await self._have_document(chosen):
            return
        self._show_document(chosen)

    async def _have_document(self, ref: ObjectRef) -> bool:
        """Add an object's document unless it is there already; return whether it is there then."""
        if self.documents.parsed.find(ref) is not None:
            return True
        try:
            text = await self.read_document(ref)
        except SourceError as error:
            self.say(str(error), Tone.WARNING)
            return False
        self.put_text(joined([self.desk.sheet.text, text]), f"{ref.kind} {ref.key} opened")
        return True

    def _show_document(self, ref: ObjectRef) -> None:
        """Put the cursor into a document, so that quick edits are of it."""
        document = self.documents.parsed.find(ref)
        if document is not None:
            self.show_line(document.first_line)

    async def _pick_object(self, title: str, refs: Iterator[ObjectRef]) -> ObjectRef | None:
        found = list(refs)
        choices = [Choice(str(at), f"{ref.kind} {ref.key}") for at, ref in enumerate(found)]
        if not choices:
            self.say(f"{title}: the cluster has none", Tone.MUTED)
            return None
        chosen = await self.app.push_screen_wait(PickScreen(title, choices))
        return found[int(chosen)] if chosen is not None else None

    async def _split(self, document: Document) -> None:
        """Ask what the preferred pool takes, and write the two pools."""
        choices = [Choice(key, title, key) for key, title in SPLIT_KEYS]
        key = await self.app.push_screen_wait(PickScreen("Prefer some values of", choices))
        if key is None:
            return
        values = (await self.names()).labels.get(key, ())
        chosen = await self.app.push_screen_wait(
            ChecklistScreen("What the preferred pool takes", [Choice(value, value) for value in values], ())
        )
        name = chosen and await self._ask_name("Name of the preferred pool", f"{document.name}-preferred")
        if name:
            self._write(
                lambda text: split_pool(text, document.index, name=name, key=key, values=tuple(sorted(chosen or ()))),
                f"{document.name} split",
                ObjectRef("NodePool", name),
            )

    async def _own_pool(self, document: Document) -> None:
        """Ask which pool is copied for a workload, and write pool, toleration and selector."""
        pools = sorted(self.host.view.state.nodepools)
        pool = await self.app.push_screen_wait(PickScreen("Copy which NodePool", [Choice(one, one) for one in pools]))
        name = pool and await self._ask_name("Name of its own pool", document.name)
        if not pool or not name or not await self._have_document(ObjectRef("NodePool", pool)):
            return
        own = ObjectRef("NodePool", name)
        self._write(
            lambda text: own_pool(text, ObjectRef("NodePool", pool), document.ref, name=name),
            f"own pool for {document.name}",
            own,
        )

    async def _daemonset(self) -> None:
        name = await self._ask_name("Name of the DaemonSet", "agent")
        if name:
            ref = ObjectRef("DaemonSet", name)
            self._write(lambda text: add_daemonset(text, name), f"DaemonSet {name}", ref)

    async def _ask_name(self, title: str, value: str) -> str:
        answer = await self.app.push_screen_wait(AskScreen(title, value=value, check=needed))
        return answer.strip() if answer is not None else ""

    def _write(self, change: TextChange, why: str, made: ObjectRef) -> None:
        try:
            text = change(self.desk.sheet.text)
        except EditRefusedError as error:
            self.say(str(error), Tone.WARNING)
        else:
            self.put_text(text, why)
            self._show_document(made)

    # Edits beside the documents

    async def _choose_setting(self) -> None:
        choices = [Choice(one.name, one.name, one.hint) for one in SETTING_EDITS]
        chosen = await self.app.push_screen_wait(PickScreen("Which of Karpenter's settings", choices))
        setting = next((one for one in SETTING_EDITS if one.name == chosen), None)
        if setting is not None:
            await self.ask_setting(setting)

    async def _act(self, action: QuickAction, document: Document | None) -> None:
        ref = ObjectRef("", "")
        if action.kinds:
            if document is not None and document.kind in action.kinds and document.ref in self.desk.originals:
                ref = document.ref
            else:
                picked = await self._pick_object(action.title, _of_kinds(self.host.view.state, action.kinds))
                if picked is None:
                    return
                ref = picked
        answers: dict[str, str] = {}
        for name, title in action.asks:
            answer = await self.app.push_screen_wait(AskScreen(f"{action.title}: {title}", hint=ref.key))
            if answer is None:
                return
            answers[name] = answer
        try:
            edits = action.make(ref, answers)
        except EditRefusedError as error:
            self.say(f"{action.title}: {error}", Tone.WARNING)
            return
        sheet = self.desk.sheet
        self.desk.put_edits((*sheet.edits, *(one for one in edits if one not in sheet.edits)), edit_text(edits[0]))
        if action.id == "remove-node" and sheet.replay is Replay.PENDING:
            self.desk.choose_replay(Replay.REMOVE)
        self.changed()


def _offers(document: Document | None) -> Iterator[Choice]:
    if document is not None and document.kind == "NodePool":
        yield Choice(
            "split/", f"split {document.name}", "a preferred pool and itself as fallback, with the same taints"
        )
    if document is not None and document.kind in ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"):
        yield Choice("own/", f"own pool for {document.name}", "a NodePool with a taint that only its pods tolerate")
    yield Choice("open/", "open a document", "a NodePool, NodeClass, workload, PodDisruptionBudget, …")
    yield Choice("setting/", "one of Karpenter's settings", "VM overhead, reserved ENIs, policies, feature gates")
    yield Choice("daemonset/", "a DaemonSet", "to see what one more costs on every new node")
    yield from (Choice(f"action/{one.id}", one.title) for one in QUICK_ACTIONS)


def _openable(state: ClusterState) -> Iterator[ObjectRef]:
    yield from (ObjectRef("NodePool", name) for name in sorted(state.nodepools))
    yield from (ObjectRef(one.kind, one.name) for one in sorted(state.nodeclasses.values(), key=lambda one: one.name))
    kinds = (Kind.NODEOVERLAY, Kind.DAEMONSET, Kind.PDB, *WORKLOAD_KINDS)
    yield from _of_kinds(state, [str(kind) for kind in kinds])


def _of_kinds(state: ClusterState, kinds: Sequence[str] | frozenset[str]) -> Iterator[ObjectRef]:
    for kind in kinds if isinstance(kinds, list) else sorted(kinds):
        if kind == Kind.POD:
            yield from _pods(state)
        else:
            yield from (ref_of(kind, key) for key in sorted(state.of(Kind(kind))))


def _pods(state: ClusterState) -> Iterator[ObjectRef]:
    """Yield pods without a node, then one of each workload: a copy of one is like a copy of its siblings."""
    seen: set[object] = set()
    chosen = list(state.pending_pods)[:MOST_PODS]
    for key, pod in state.pods.items():
        if len(chosen) >= MOST_PODS:
            break
        if pod.node_name and pod.template not in seen:
            seen.add(pod.template)
            chosen.append(key)
    yield from (ref_of("Pod", key) for key in chosen)
