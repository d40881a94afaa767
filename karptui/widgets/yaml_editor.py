"""The text of the documents that are edited."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple, TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.strip import Strip
from textual.widgets import OptionList
from textual.widgets.option_list import Option
from textual.widgets.text_area import Selection, TextAreaTheme

from karptui.kube.hidden_text import HIDDEN
from karptui.views.row import Tone
from karptui.views.sanitize import REPLACEMENT, clean
from karptui.widgets.sentences import Beside
from karptui.widgets.textual_compat.text_area import Look, SparingTextArea

INDENT: Final = 2
LIGHT: Final = "css-light"
GLYPHS: Final[Mapping[Tone, str]] = {Tone.FAULT: "✘", Tone.WARNING: "▲", Tone.MUTED: "←"}
"""Signs before notes, so that their kind is visible without colour."""

OWN_ACTIONS: Final = frozenset({"complete", "leave", "note(1)"})
"""Actions whose keys the screen may have given to something else."""

Complete: TypeAlias = "Callable[[str, int, int], Completions]"
"""Returns the completions for a text, line and column."""


class LineNote(NamedTuple):
    """A note about a line, shown behind its text."""

    text: str
    tone: Tone = Tone.FAULT
    start: int = 0
    """First column of the underlined part."""
    end: int = 0
    """Column after the underlined part; nothing is underlined if it is not after `start`."""


class YamlEditor(SparingTextArea):
    """Edits YAML: two blanks a level, notes at line ends, completion."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+@,ctrl+space", "complete", "Complete", key_display="^space", id="editor.complete"),
        Binding("ctrl+home", "edge(0)", "Start of the text", show=False, id="editor.start"),
        Binding("ctrl+end", "edge(-1)", "End of the text", show=False, id="editor.end"),
        Binding("shift+tab", "dedent", "Less indented", show=False, id="editor.dedent"),
        Binding("escape", "leave", "Leave the text", id="editor.leave"),
        Binding("ctrl+n", "note(1)", "Next problem", id="editor.next-note"),
    ]
    BINDING_GROUP_TITLE = "Editor"

    COMPONENT_CLASSES: ClassVar[set[str]] = {"yaml-editor--fault", "yaml-editor--warning", "yaml-editor--muted"}
    DEFAULT_CSS = """
    YamlEditor {
        & .yaml-editor--fault { color: $karp-fault; text-style: not bold; }
        & .yaml-editor--warning { color: $karp-warning; }
        & .yaml-editor--muted { color: $karp-muted; text-style: italic; }
    }
    """

    shows_only_own_keys: ClassVar[bool] = True
    """Tells the footer that other keys are text here."""

    notes: reactive[Mapping[int, LineNote]] = reactive(dict, init=False, repaint=False)

    def __init__(self, complete: Complete, leave: Callable[[], None]) -> None:
        super().__init__(indent_width=INDENT)
        self._complete = complete
        self._leave = leave
        if "yaml" in self.available_languages:
            self.language = "yaml"

    def on_mount(self) -> None:
        """Follow the app's theme: colours of YAML that are read on dark ground are not on light."""
        if (light := TextAreaTheme.get_builtin_theme("github_light")) is not None:
            self.register_theme(TextAreaTheme(LIGHT, syntax_styles=light.syntax_styles))
            self.watch(self.app, "theme", self._take_theme)

    def _take_theme(self) -> None:
        self.theme = "css" if self.app.current_theme.dark else LIGHT

    @property
    def completions(self) -> CompletionList:
        return self.screen.query_one(CompletionList)

    def watch_notes(self) -> None:
        self.forget_lines()

    def get_line(self, line_index: int) -> Text:
        """Return a line, with its faults underlined and a mark for each character that a terminal would act on."""
        line = super().get_line(line_index)
        if HIDDEN.search(line.plain):
            line.plain = HIDDEN.sub(REPLACEMENT, line.plain)
        note = self.notes.get(line_index)
        if note is not None and note.end > note.start and note.tone is not Tone.MUTED:
            line.stylize(self._style_of(note.tone) + Style(underline=True), note.start, note.end)
        return line

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        line_index = y + self.scroll_offset.y
        note = self.notes.get(line_index)
        if note is None or line_index >= self.document.line_count:
            return strip
        text = f"   {GLYPHS.get(note.tone, '·')} {clean(note.text)}"
        x = max(
            self.gutter_width, self.gutter_width + cell_len(self.document.get_line(line_index)) - self.scroll_offset.x
        )
        room = min(strip.cell_length, self.scrollable_content_region.width) - x - 1
        if room <= 0:
            return strip
        cut = text if cell_len(text) <= room else f"{set_cell_size(text, room - 1)}…"
        ground = next((part.style for part in reversed(list(strip)) if part.style is not None), Style())
        note_strip = Strip([Segment(cut, ground + self._style_of(note.tone))])
        rest = strip.crop(x + 1 + note_strip.cell_length, strip.cell_length)
        return Strip.join([strip.crop(0, x + 1), note_strip, rest])

    def plain_look(self, row: int) -> Look:
        return (*super().plain_look(row), self.notes.get(row))

    def _style_of(self, tone: Tone) -> Style:
        style = self.get_component_rich_style(f"yaml-editor--{_class_of(tone)}", partial=True)
        return Style(color=style.color, italic=style.italic)  # on the line's own ground

    def put_text(self, text: str) -> None:
        """Replace the whole text as one step that can be undone; the cursor stays on its line."""
        if text == self.text:
            return
        row, column = self.cursor_location
        before = self.document.lines
        first, last, lines = changed_lines(before, text.split("\n"))
        with self.holding_still():
            self.replace("\n".join(lines), (first, 0), (last, len(before[last])), maintain_selection_offset=False)
            row = min(row, self.document.line_count - 1)
            self.selection = Selection.cursor((row, min(column, len(self.document.get_line(row)))))
        self.completions.close()

    def show_place(self, line: int, column: int = 0) -> None:
        self.move_cursor((min(line, self.document.line_count - 1), column), center=True)

    # Keys

    async def take_key(self, event: events.Key) -> None:
        shown = self.completions
        if shown.is_open and event.key in ("up", "down", "tab", "enter", "escape"):
            event.stop()
            event.prevent_default()
            if event.key in ("up", "down"):
                shown.move(1 if event.key == "down" else -1)
            else:
                if event.key != "escape":
                    self._take()
                shown.close()
            return
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self._break_line()
            return
        if event.key == "escape":
            event.stop()
            event.prevent_default()
            self.action_leave()
            return
        if await self._move_now(event):
            return
        await super().take_key(event)
        if event.is_printable or event.key == "backspace":
            self.call_after_refresh(self.offer, is_asked=False)

    async def _move_now(self, event: events.Key) -> bool:
        """Run a cursor key of the text area at once: text typed right after it must not overtake it."""
        action = "" if event.is_printable else self.action_of(event.key)
        if not action or action in OWN_ACTIONS:
            return False
        event.stop()
        event.prevent_default()
        await self.run_action(action)
        return True

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Return the keys that are text or belong to the list of completions."""
        completion_keys = ("up", "down", "tab", "enter", "escape")
        return (self.completions.is_open and key in completion_keys) or super().check_consume_key(key, character)

    def _break_line(self) -> None:
        """Begin a line as far in as this one, one level deeper after a colon."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        indent = len(before) - len(before.lstrip(" "))
        if before.rstrip().endswith(":"):
            indent += INDENT
            if before.lstrip().startswith("- "):
                indent += INDENT
        start, end = self.selection
        self.replace("\n" + " " * indent, start, end, maintain_selection_offset=False)

    def action_dedent(self) -> None:
        row, _ = self.cursor_location
        line = self.document.get_line(row)
        if blanks := min(INDENT, len(line) - len(line.lstrip(" "))):
            self.delete((row, 0), (row, blanks))

    def action_edge(self, line: int) -> None:
        """Go to the start of the text, or to its end."""
        self.move_cursor(self.document.end if line else self.document.start)

    def action_leave(self) -> None:
        self.completions.close()
        self._leave()

    def action_note(self, step: int) -> None:
        lines = sorted(line for line, note in self.notes.items() if note.tone is not Tone.MUTED)
        if lines:
            row = self.cursor_location[0]
            after = [line for line in lines if (line > row if step > 0 else line < row)]
            line = (after or lines)[0 if step > 0 else -1]
            self.show_place(line, self.notes[line].start)

    # Completion

    def action_complete(self) -> None:
        self.offer(is_asked=True)

    def offer(self, *, is_asked: bool) -> None:
        """Show completions at the cursor; unless asked for, only for a begun, incomplete word."""
        row, column = self.cursor_location
        completions = self._complete(self.text, row, column)
        word = self.document.get_line(row)[completions.start_column : column]
        items = completions.items
        if not items or (not is_asked and (not word.strip() or any(item.label == word for item in items))):
            self.completions.close()
            return
        offset = self.cursor_screen_offset
        self.completions.open(items, offset.x - len(word) - 1, offset.y + 1)

    def _take(self) -> None:
        item = self.completions.chosen
        if item is None:
            return
        row, column = self.cursor_location
        start = self._complete(self.text, row, column).start_column
        self.replace(item.insert, (row, start), (row, column), maintain_selection_offset=False)
        lines = item.insert.split("\n")
        end_column = len(lines[-1]) + (start if len(lines) == 1 else 0)
        self.move_cursor((row + len(lines) - 1, end_column))

    def on_blur(self) -> None:
        self.completions.close()


def _class_of(tone: Tone) -> str:
    return tone.value if tone in (Tone.FAULT, Tone.WARNING) else "muted"


class ChangedLines(NamedTuple):
    """Replaced lines of a text; at least one line, by at least one."""

    first: int
    last: int
    lines: tuple[str, ...]


def changed_lines(before: Sequence[str], after: Sequence[str]) -> ChangedLines:
    """Return the replacement that turns one text into another; each has at least one line."""
    shorter = min(len(before), len(after))
    first = next((at for at in range(shorter) if before[at] != after[at]), shorter - 1)
    most = shorter - first - 1
    rest = next((at for at in range(most) if before[-1 - at] != after[-1 - at]), most)
    return ChangedLines(first, len(before) - 1 - rest, tuple(after[first : len(after) - rest]))


class CompletionItem(NamedTuple):
    """One thing that the word could become."""

    label: str
    insert: str
    """Text that replaces the word."""
    detail: str = ""


class Completions(NamedTuple):
    """Completions at the cursor."""

    start_column: int = 0
    """Where the word begins that is replaced."""
    items: tuple[CompletionItem, ...] = ()


class CompletionList(OptionList):
    """Shows completions; the editor keeps the keys and moves the cursor in it."""

    can_focus = False
    DEFAULT_CSS = """
    CompletionList {
        display: none; overlay: screen; constrain: inside inflect; position: absolute;
        width: auto; max-width: 64; height: auto; max-height: 8; padding: 0 1; border: none;
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0;
        &.-open { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="completions", markup=False)
        self._items: tuple[CompletionItem, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    @property
    def chosen(self) -> CompletionItem | None:
        index = self.highlighted
        return self._items[index] if index is not None and index < len(self._items) else None

    def open(self, items: Sequence[CompletionItem], x: int, y: int) -> None:
        if tuple(items) != self._items:
            self._items = tuple(items)
            width = max(len(clean(item.label)) for item in items)
            self.set_options(Option(_line(item, width)) for item in items)
        self.highlighted = 0
        self.absolute_offset = None
        self.styles.offset = (x, y)
        self.add_class("-open")

    def close(self) -> None:
        self.remove_class("-open")

    def move(self, step: int) -> None:
        """Move the cursor, from one end on to the other."""
        if self._items:
            self.highlighted = ((self.highlighted or 0) + step) % len(self._items)


def _line(item: CompletionItem, width: int) -> Beside:
    label = Content.styled(f"{clean(item.label):<{width}}", "$foreground")
    return Beside(label, Content.styled(clean(item.detail), "$karp-muted"))
