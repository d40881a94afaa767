"""What was edited, as YAML, as kubectl commands and as a difference; nothing is applied."""

from __future__ import annotations

from karptui.screens.dialogs import Choice, PickScreen
from karptui.screens.frame import FrameScreen
from karptui.screens.text import TextScreen
from karptui.screens.whatif.desk import Desk
from karptui.screens.whatif.documents import Documents
from karptui.screens.whatif.question import question
from karptui.views.row import Tone
from karptui.whatif.scenario_file import write_scenarios
from karptui.whatif.yaml.export import changes_of, export_commands, export_diff, export_yaml

CHOICES = (
    Choice("patch", "kubectl commands", "a patch for each object, and what else can be done by hand"),
    Choice("yaml", "YAML", "the edited objects, whole"),
    Choice("diff", "difference", "what is there now against what is edited"),
    Choice("scenario", "scenario", "for karptui simulate --scenario"),
)


class Exporting(FrameScreen):
    """Mixed into the what-if screen."""

    desk: Desk
    documents: Documents

    @question
    async def action_export(self) -> None:
        """Choose a form and show it; c copies it there."""
        if self.desk.is_untouched:
            self.say("nothing is edited yet", Tone.MUTED)
            return
        chosen = await self.app.push_screen_wait(PickScreen("Export as", CHOICES))
        if chosen is not None:
            text = self.exported(chosen)
            title = next(one.title for one in CHOICES if one.id == chosen)

            async def given() -> str:
                return text

            language = "yaml" if chosen in ("yaml", "scenario") else None
            self.app.push_screen(TextScreen(f"{title} ─ {self.desk.sheet.name}", given, language))

    def exported(self, form: str) -> str:
        """Return the scenario in front in one of the forms."""
        if form == "scenario":
            return write_scenarios([self.desk.scenario(self.documents.parsed)])
        changes = changes_of(self.documents.parsed, self.desk.originals, self.desk.opened_texts)
        if form == "yaml":
            return export_yaml(changes) or "# no document is edited\n"
        if form == "diff":
            return export_diff(changes) or "# no document is edited\n"
        commands = export_commands(changes, self.desk.sheet.edits, self.documents.schemas)
        return f"# Nothing has been applied. Check each line before you run it.\n{commands}"
