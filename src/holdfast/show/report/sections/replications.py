"""Replications: the same settings on other splits of the data, next to baselines."""

from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section


def replications_section(fitted: Fitted) -> Section | None:
    """The table of means and deviations; None if none were given."""
    found = fitted.replications
    if found is None:
        return None
    ((title, (heads, *rows)),) = found.tables()
    facts = {
        "n": found.n_replications,
        "headings": list(heads),
        "rows": [list(row) for row in rows],
        "trade_offs": list(found.sentences),
    }
    return Section("replications", title, "data scientist", "replications.html", facts)
