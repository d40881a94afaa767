"""Write docs/man/karptui.1 from the parsers: python tools/make_man.py. A test compares the page with them."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path

from argparse_manpage.manpage import Manpage

from karptui import __version__
from karptui.cli.pages import ENVIRONMENT, EXAMPLES, FILES, STATUSES, Entry, statuses_of
from karptui.cli.parser import COMMANDS, build_parser, module_of

PAGE = Path(__file__).parents[1] / "docs" / "man" / "karptui.1"
SHARED = ("which cluster", "prices and instance types")
"""Groups of flags that are documented once, with the app, because they are the same for every command."""
DESCRIPTION = (
    "karptui reads a Kubernetes cluster, or a snapshot of one, and says why nodes are still here, which NodePool takes "
    "pods and why the others do not, what an edit would change before it is applied, and why a pod does not fit a node "
    "that looks large enough. Without a command it opens the app; ? explains its screens. It only reads."
)
SEE_ALSO = (
    Entry("https://karpenter.sh/docs/", "Karpenter"),
    Entry("kubectl(1)", "kubectl karp is the same program as a plugin of kubectl"),
)


def page() -> str:
    """Return the manual page."""
    parser = build_parser(None)
    parser.description, parser.epilog = DESCRIPTION, None
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for name, line in COMMANDS.items():
        own = commands.add_parser(name, help=f"{line[:1].upper()}{line[1:]}.", add_help=False)
        module_of(name).configure(own)
        own.usage = " ".join(["karptui", name, "[OPTION ...]", *_arguments(own)])
        own._action_groups = [group for group in own._action_groups if group.title not in SHARED]  # noqa: SLF001 - as above
        own.epilog = None
        own.description = _examples(EXAMPLES.get(name, ()), _own_statuses(name))
    manual = Manpage(parser, {"version": __version__, "manual_title": "karptui"}, format="single-commands-section")
    manual.date, manual.description = "", "terminal dashboard for Karpenter"
    manual.add_section("synopsis", "=", "\\fBkarptui\\fR [OPTION ...]\n.br\n\\fBkarptui\\fR COMMAND [OPTION ...]")
    manual.add_section("examples", "=", _terms(EXAMPLES[""]))
    manual.add_section("exit status", "=", _terms(STATUSES))
    manual.add_section("environment", "=", _terms(ENVIRONMENT))
    manual.add_section("files", "=", _terms(FILES))
    manual.add_section("see also", "=", _terms(SEE_ALSO))
    return "\n".join(_spaced([line.rstrip() for line in str(manual).splitlines() if line.strip()])) + "\n"


def _spaced(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines with a paragraph break before the usage of each command and before each group of flags."""
    for before, line in zip(("", *lines), lines, strict=False):
        is_title = before == ".RE" and not line.startswith(".")
        yield from (".PP", line) if is_title or line.startswith("usage: ") else (line,)


def _arguments(parser: ArgumentParser) -> list[str]:
    """Return the positional arguments of a command in the format of usage."""
    found = []
    for action in parser._actions:  # noqa: SLF001 - argparse offers no other way to list them
        if not action.option_strings:
            word = (
                action.metavar
                if isinstance(action.metavar, str)
                else "|".join(map(str, action.choices or ("ARGUMENT",)))
            )
            found.append({"*": f"[{word} ...]", "?": f"[{word}]"}.get(str(action.nargs), word))
    return found


def _own_statuses(command: str) -> Sequence[Entry]:
    found = statuses_of(command)
    return () if found is STATUSES else found


def _examples(entries: Sequence[Entry], statuses: Sequence[Entry]) -> str:
    """Return examples and the exit statuses of this command only; the library escapes dashes itself."""
    parts = [f".TP\n{entry.term}\n{entry.meaning}" for entry in entries]
    parts += [".PP\nexit status:", *(f".TP\n{entry.term}\n{entry.meaning}" for entry in statuses)] if statuses else []
    return "\n".join([".RS 7", *parts, ".RE"])


def _terms(entries: Sequence[Entry]) -> str:
    return "\n".join(f".TP\n\\fB{_escaped(entry.term)}\\fR\n{_escaped(entry.meaning)}" for entry in entries)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("-", "\\-")


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
