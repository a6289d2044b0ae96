"""How far a run is, in lines."""

from collections.abc import Iterator

from holdfast.runs.status import RunStatus
from holdfast.text.lines import printable
from holdfast.text.numbers import counted

_STATES = {"finished": "finished", "running": "under way", "stopped": "stopped before its end"}


def run_status_text(status: RunStatus) -> str:
    """What became of the run, and a line for each thing that is known."""
    head = f"{printable(str(status.path))}: {_STATES[status.state]}"
    lines = [f"  {name:9} {printable(text)}" for name, text in _lines(status)]
    return "\n".join([head, *lines])


def _lines(status: RunStatus) -> Iterator[tuple[str, str]]:
    if status.finished is not None:
        earlier = "" if status.state == "finished" else " by an earlier run, which stays until this one ends"
        yield "written", f"{status.finished}{earlier}"
    if (kept := status.kept) is not None:
        if kept.stages:
            last = kept.stages[-1]
            yield "stage", f"{len(kept.stages)}, {last.name.lower()}: {last.done:,} of {last.total:,} tasks"
        yield "kept", f"{counted(kept.n_results, 'result')}, {size_text(kept.n_bytes)}"
        yield "last kept", kept.written
    if status.holder is not None:
        yield "process", _process(status)
    if status.state == "stopped":
        yield "go on", _way_on(status)


def _process(status: RunStatus) -> str:
    holder = status.holder
    assert holder is not None
    start = f"{holder.pid} on {holder.host}, since {holder.since}"
    if holder.is_there is None:
        return f"{start}; whether it is still there, only that machine can tell"
    return start if holder.is_there else f"{start}; it has ended"


def _way_on(status: RunStatus) -> str:
    command = "" if status.kept is None else status.kept.facts.get("command", "")
    if not status.kept:
        return "nothing is kept: the same command begins anew"
    return command or "run the same program again"


def size_text(n_bytes: int) -> str:
    """A size as people say it.

    >>> size_text(999), size_text(12_300_000)
    ('999 bytes', '12.3 MB')
    """
    if n_bytes < 1000:
        return counted(n_bytes, "byte")
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f} {unit}"
    raise AssertionError
