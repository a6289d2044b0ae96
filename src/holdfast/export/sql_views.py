"""A view for each tree, and one that combines them: forests for which one query would be too long.

The views of the trees have the key of a row and what the tree says of it. Sums join some of them at a time
and add them up in the order of the trees, so that not even the last bit differs; the last view is the link.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from holdfast.errors import ExportError
from holdfast.export.plain_model import PlainModel, PlainTree
from holdfast.export.sql_query import Query, make_terms
from holdfast.export.sql_text import Dialect, format_number, quote_identifier

JOINED = 40  # views in one sum: SQLite joins 64 tables
BEFORE = quote_identifier("before")  # the sum of the trees before


@dataclass
class Views:
    """CREATE VIEW statements being written."""

    model: PlainModel
    table: str
    keep: tuple[str, ...]
    dialect: Dialect
    view: str
    key: str | None

    def statements(self) -> Iterator[str]:
        """Return the statements: views of the trees, their sums, and the prediction."""
        if self.view.casefold() == self.table.casefold():
            raise ExportError(f"view={self.view!r} is the name of the table: take another one.")
        keep = self.keep if self.key is None else tuple(dict.fromkeys((self.key, *self.keep)))
        if self.model.link is None:
            yield self._created(self.view, Query(self.model, self.table, keep, self.dialect).text())
            return
        if self.key is None:
            raise ExportError(
                "the views of an ensemble are joined by a column that no two rows share: name it, key='id'."
            )
        yield from self._joined(self.key, keep)

    def _joined(self, key: str, keep: tuple[str, ...]) -> Iterator[str]:
        last = Query(replace(self.model, columns=()), self.table, keep, self.dialect)
        names = _Names(
            quote_identifier(key),
            last.aliases("value", self.model.n_outputs),
            last.aliases("score", self.model.n_outputs),
        )
        for place, tree in enumerate(self.model.trees):
            yield self._created(self._tree_name(place), self._said(key, tree, names))
        n_sums = -(-len(self.model.trees) // JOINED)
        for place in range(n_sums):
            yield self._created(self._sum_name(place), self._sum(place, names))
        yield self._created(self.view, self._predicted(last, self._sum_name(n_sums - 1), names))

    def _created(self, name: str, query: str) -> str:
        return f"CREATE VIEW {quote_identifier(name)} AS\n{query}"

    def _tree_name(self, place: int) -> str:
        return f"{self.view}_tree_{place}"

    def _sum_name(self, place: int) -> str:
        return f"{self.view}_sum_{place}"

    def _said(self, key: str, tree: PlainTree, names: "_Names") -> str:
        """Return the key of every row and what the tree adds to its scores."""
        asked = {split.feature.name for split in tree.splits.values()}
        columns = tuple(feature for feature in self.model.columns if feature.name in asked)
        query = Query(replace(self.model, trees=(tree,), columns=columns), self.table, (key,), self.dialect)
        (leaf,) = query.walked()
        return query.selected([f"{term} AS {names.values[place]}" for place, term in make_terms(leaf, tree)])

    def _sum(self, place: int, names: "_Names") -> str:
        """Add some trees to the scores of the last sum, or to the start."""
        begin = place * JOINED
        trees = self.model.trees[begin : begin + JOINED]
        views = [quote_identifier(self._tree_name(begin + number)) for number in range(len(trees))]
        sums = [
            [f"{BEFORE}.{score}" if place else format_number(start)]
            for score, start in zip(names.scores, self.model.start, strict=True)
        ]
        for view, tree in zip(views, trees, strict=True):
            for output, _ in make_terms("", tree):
                sums[output].append(f"{view}.{names.values[output]}")
        before = ""
        if place:
            source = quote_identifier(self._sum_name(place - 1))
            before = f"WITH {BEFORE} AS {self.dialect.materialized}(\n  SELECT * FROM {source}\n)\n"
            views = [BEFORE, *views]
        columns = [f"{' + '.join(parts)} AS {score}" for parts, score in zip(sums, names.scores, strict=True)]
        body = ",\n  ".join([f"{views[0]}.{names.key}", *columns])
        joins = "".join(f"\n  JOIN {view} USING ({names.key})" for view in views[1:])
        return f"{before}SELECT\n  {body}\nFROM {views[0]}{joins}\n"

    def _predicted(self, last: Query, sum_name: str, names: "_Names") -> str:
        """Return the columns to keep and the link of the last sum."""
        view = quote_identifier(sum_name)
        last.source = f"{last.source}\n  JOIN {view} USING ({names.key})"
        scores = last.step("summed", [], [(score, f"{view}.{score}") for score in names.scores])
        return last.selected(last.linked(scores))


@dataclass(frozen=True)
class _Names:
    """Columns of the views, quoted."""

    key: str
    values: list[str]  # what a tree says, by the score that it adds to
    scores: list[str]
