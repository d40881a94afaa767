"""Live usage beside requests: never instead of them, as requests alone decide what fits and what goes."""

from __future__ import annotations

from collections.abc import Callable

from karptui.kube.live_usage import LiveUsage, Used
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, count_text, duration_text, percent_text
from karptui.views.row import NOT_AVAILABLE, Cell, Pieces, Tone
from karptui.views.sanitize import clean

REQUESTS_DECIDE = "requests decide what fits, not usage"


def used_cell(used: Used | None, amount: Callable[[Used], int], text: Callable[[int], str], whole: int) -> Cell:
    """Return what is used and how many percent that is; n/a where it is not known.

    Args:
        used: The measurements.
        amount: The one resource of them.
        text: Writes it in its unit.
        whole: What percent are of; 0 leaves them out.
    """
    if used is None:
        return NOT_AVAILABLE
    share = f" {percent_text(amount(used), whole):>4}" if whole > 0 else ""
    return Cell(f"{text(amount(used))}{share}", short=text(amount(used)))


def latest_cpu(used: Used) -> int:
    """Return the cpu of the latest measurement, in millicores."""
    return used.latest.cpu_millis


def latest_memory(used: Used) -> int:
    """Return the memory of the latest measurement, in bytes."""
    return used.latest.memory_bytes


def samples_text(used: Used) -> str:
    """Return how much the most of all measurements can say: ``one sample``, ``the most of 12 samples over 3m``."""
    if used.samples == 1:
        return "one sample"
    seconds = (used.latest.at_ns - used.first_ns) // NS_PER_SECOND
    return f"the most of {count_text(used.samples)} samples over {duration_text(seconds)}"


def usage_note(live: LiveUsage, now_ns: int) -> Pieces:
    """Return who says what is used, how old it is and what it does not say; or why it is not known."""
    if not live.is_asked:
        return (("live usage is only known of a live cluster with metrics-server", Tone.MUTED),)
    if live.sentence:
        age = f" (figures are {age_text(live.read_at_ns, now_ns)} old)" if live.read_at_ns else ""
        return ((f"{clean(live.sentence)}{age}", Tone.WARNING if live.read_at_ns else Tone.MUTED),)
    if not live.read_at_ns:
        return (("metrics-server is being asked for live usage…", Tone.ACTIVE),)
    window = f", over {duration_text(live.window_ns // NS_PER_SECOND)}" if live.window_ns else ""
    measured = f"measured by metrics-server {age_text(live.read_at_ns, now_ns)} ago{window}"
    return ((f"{measured}; {REQUESTS_DECIDE}", Tone.MUTED),)
