"""Replications: the same settings on other splits of the data, next to baselines."""

from holdfast.show.replications import replication_rows, trade_off_lines
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section


def replications_section(fitted: Fitted) -> Section | None:
    """The table of means and deviations; None if none were given."""
    found = fitted.replications
    if found is None:
        return None
    heads, *rows = replication_rows(found)
    facts = {
        "n": found.n_replications,
        "headings": list(heads),
        "rows": [list(row) for row in rows],
        "trade_offs": trade_off_lines(found, found.metric.title, 10_000),
    }
    title = "Replications and baselines"
    return Section("replications", title, "data scientist", "replications.html", facts)
