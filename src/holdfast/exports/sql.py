"""A model as SQL: one query, or a view for each tree and one that combines them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any

import numpy as np

from holdfast._version import install_command
from holdfast.data.schema import Feature, Label
from holdfast.errors import EngineError, ExportError
from holdfast.exports.check import EnginePredictions, Rows, count_rows
from holdfast.exports.plain_model import PlainLeaf, PlainModel, PlainSplit, PlainTree, make_plain_model
from holdfast.tree.rules import format_class_names


def to_sql(
    model: Any,
    *,
    table: str = "rows",
    keep: Sequence[str] | None = None,
    dialect: str = "duckdb",
    view: str | None = None,
    key: str | None = None,
) -> str:
    """Export as a query that selects, for every row, the columns to keep and the prediction.

    The columns of the prediction are `prediction` and, for classes, `p(class)` for each class; of a survival
    model they are `risk` and survival to the horizon, such as `survival_365`. Missing values are NULL, not
    NaN.

    Parameters
    ----------
    model : Tree, Ensemble or fitted estimator
    table : str
        Name of the table with the rows.
    keep : sequence of str, optional
        Columns to select besides the prediction. Default: those that the model uses.
    dialect : str
        "duckdb", "postgres" and "sqlite" are written directly, any other dialect of SQL by sqlglot.
    view : str, optional
        Make a script that creates a view of this name. The view of an ensemble joins one view per tree, so
        that no statement is longer than a tree.
    key : str, optional
        Column that identifies rows; the views of an ensemble are joined by it.

    Returns
    -------
    str

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["no", "no", "yes"]))
    >>> print(to_sql(tree, table="patients", keep=["id"]).splitlines()[4])
        CASE WHEN ("x0" IS NULL OR "x0" <= 2.5e0)
    """
    if isinstance(keep, str):
        raise ExportError(f"keep={keep!r} is a text: it must be a list of columns, such as [{keep!r}].")
    plain, words = make_plain_model(model), Dialect.of(dialect)
    kept = tuple(feature.name for feature in plain.columns) if keep is None else tuple(keep)
    notes = "".join(f"-- {name}: {note}\n" for name, note in plain.notes.items())
    if view is None:
        if key is not None:
            raise ExportError(f"key={key!r} joins views: name the view that predicts, view='scored'.")
        return notes + words.translate(Query(plain, table, kept, words).text())
    statements = Views(plain, table, kept, words, view, key).statements()
    return notes + ";\n\n".join(words.translate(each).rstrip() for each in statements) + ";\n"


# -- running it -------------------------------------------------------------------------------------------


LONGEST = 1_000_000  # characters of a query that DuckDB plans in about ten seconds


def check_runs_quickly(exported: str, *, dialect: str = "duckdb", **_: Any) -> None:
    """Raise an EngineError if the database would take minutes, whatever the rows."""
    if dialect != "sqlite" and len(exported) > LONGEST:
        raise EngineError(
            f"DuckDB takes minutes to plan a query of {len(exported):,} characters. Give rows to verify "
            "it by, or take the dialect 'sqlite'."
        )


def predict_rows(
    exported: str,
    plain: PlainModel,
    rows: Rows,
    *,
    table: str = "rows",
    keep: Sequence[str] | None = None,
    **options: Any,
) -> EnginePredictions:
    """Predict with the query or view, by DuckDB or SQLite."""

    result, engine = run_query(exported, plain, rows, table=table, extra=keep or (), **options)
    n_predicted = len(plain.numbers) or len(plain.target.classes) + 1  # the last columns
    records = [record[-n_predicted:] for record in result]
    if not plain.target.is_classes:
        return EnginePredictions(np.array(records, np.float64), None, engine)
    values = np.array([record[1:] for record in records], np.float64)
    return EnginePredictions(values, [record[0] for record in records], engine)


# -- A query -------------------------------------------------------------------------------------------------

LEVELS = 12  # of a tree in one expression
TREES = 50  # in one sum
PREDICTION = "prediction"
INDENT = "\n      "  # of what belongs to a column of a step


@dataclass
class Query:
    """A query under construction, step by step."""

    model: PlainModel
    table: str
    keep: tuple[str, ...]
    dialect: Dialect
    steps: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)  # names, in lower case

    def __post_init__(self) -> None:
        read = (feature.name for feature in self.model.columns)
        self.carried = tuple(dict.fromkeys((*self.keep, *read)))  # columns of every step
        self.source = quote_identifier(self.table)  # what the next step selects from
        self._check_names()
        self.used.update(name.casefold() for name in (self.table, *self.carried))

    def text(self) -> str:
        """Return the whole query."""
        leaves = self.walk_trees()
        if self.model.link is None:
            return self.select(self._select_by_leaf(leaves[0]))
        return self.select(self.apply_link(self._sum_scores(leaves)))

    def select(self, columns: Sequence[str]) -> str:
        """Return the query so far, selecting the columns to keep and these."""
        body = ",\n  ".join([*map(quote_identifier, self.keep), *columns])
        steps = f"WITH {', '.join(self.steps)}\n" if self.steps else ""
        return f"{steps}SELECT\n  {body}\nFROM {self.source}\n"

    def _check_names(self) -> None:
        seen: dict[str, str] = {}
        for name in self.carried:
            other = seen.setdefault(name.casefold(), name)
            if other != name:
                raise ExportError(
                    f"the columns {other!r} and {name!r} are equal to SQL, which ignores capital letters: "
                    "rename one of them and grow the model again."
                )

    # -- steps --------------------------------------------------------------------------------------------

    def _find_free(self, name: str) -> str:
        """Return the name, or the first unused of name_2, name_3, ..."""
        free = next(
            each
            for each in chain([name], (f"{name}_{n}" for n in count(2)))
            if each.casefold() not in self.used
        )
        self.used.add(free.casefold())
        return free

    def add_step(self, name: str, before: Sequence[str], columns: Sequence[tuple[str, str]]) -> list[str]:
        """Add a table with the earlier columns and new ones; return the new names, quoted."""
        quoted = [quote_identifier(each) for each in self.carried]
        new = [f"{expression} AS {alias}" for alias, expression in columns]
        step = quote_identifier(self._find_free(name))
        body = ",\n    ".join([*quoted, *before, *new])
        self.steps.append(
            f"{step} AS {self.dialect.materialized}(\n  SELECT\n    {body}\n  FROM {self.source}\n)"
        )
        self.source = step
        return [alias for alias, _ in columns]

    def make_aliases(self, name: str, number: int) -> list[str]:
        """Return n unused column names, quoted."""
        names = [name] if number == 1 else [f"{name}_{place}" for place in range(number)]
        return [quote_identifier(self._find_free(each)) for each in names]

    # -- trees --------------------------------------------------------------------------------------------

    def walk_trees(self) -> list[str]:
        """Add columns with the leaf number of each tree."""
        trees = self.model.trees
        open_nodes: list[list[int]] = [[0] for _ in trees]
        names: list[str] = []
        while any(open_nodes) or not names:
            aliases = self.make_aliases("leaf", len(trees))
            columns = []
            for place, (alias, tree) in enumerate(zip(aliases, trees, strict=True)):
                before = names[place] if names else None
                text, open_nodes[place] = _walk(tree, open_nodes[place], before)
                columns.append((alias, text))
            names = self.add_step("walked", [], columns)
        return names

    def _select_by_leaf(self, leaf: str) -> list[str]:
        """Return the values of a single tree as result columns."""
        leaves, target = self.model.trees[0].leaves, self.model.target
        values = [
            _by_leaf(leaf, {node: format_number(each.values[place]) for node, each in leaves.items()})
            for place in range(len(next(iter(leaves.values())).values))
        ]
        if not target.is_classes:
            return self._name_numbers(values)
        classes = self._class_literals()
        outcome = _by_leaf(leaf, {node: classes[each.outcome] for node, each in leaves.items()})
        return self._name_classes(outcome, values)

    def _name_numbers(self, values: Sequence[str]) -> list[str]:
        names = map(self._find_free, self.model.numbers)
        return [f"{each} AS {quote_identifier(name)}" for name, each in zip(names, values, strict=True)]

    def _name_classes(self, outcome: str, values: Sequence[str]) -> list[str]:
        names = [
            self._find_free(PREDICTION),
            *(self._find_free(f"p({n})") for n in format_class_names(self.model.target)),
        ]
        return [
            f"{column} AS {quote_identifier(name)}"
            for name, column in zip(names, [outcome, *values], strict=True)
        ]

    def _class_literals(self) -> list[str]:
        classes = self.model.target.classes
        is_mixed = len({isinstance(label, str) for label in classes}) > 1
        return (
            [format_literal(name) for name in format_class_names(self.model.target)]
            if is_mixed
            else [*map(format_literal, classes)]
        )

    # -- scores and links ---------------------------------------------------------------------------------

    def _sum_scores(self, leaves: Sequence[str]) -> list[str]:
        scores = [format_number(each) for each in self.model.start]
        for begin in range(0, len(leaves), TREES):
            sums: list[list[str]] = [[each] for each in scores]
            for leaf, tree in zip(
                leaves[begin : begin + TREES], self.model.trees[begin : begin + TREES], strict=True
            ):
                for place, term in make_terms(leaf, tree):
                    sums[place].append(term)
            aliases = self.make_aliases("score", len(scores))
            columns = [(alias, " + ".join(each)) for alias, each in zip(aliases, sums, strict=True)]
            left = list(leaves[begin + TREES :])
            scores = self.add_step("summed", left, columns)
        return scores

    def apply_link(self, scores: list[str]) -> list[str]:
        """Return the result columns."""
        values = getattr(self, f"_link_{self.model.link}")(scores)
        if not self.model.target.is_classes:
            if self.model.hazard_at_horizon is not None:
                power = f"{format_number(self.model.hazard_at_horizon)} * {values[0]}"
                values = [values[0], f"EXP(-{self.dialect.least([power, format_number(709.0)])})"]
            return self._name_numbers(values)
        values = self.add_step(
            "linked", [], list(zip(self.make_aliases("value", len(values)), values, strict=True))
        )
        (best,) = self.add_step(
            "best", values, [(self.make_aliases("most", 1)[0], self.dialect.greatest(values))]
        )
        whens = [
            f"WHEN {value} = {best} THEN {label}"
            for value, label in zip(values, self._class_literals(), strict=True)
        ]
        return self._name_classes(f"CASE {' '.join(whens)} END", values)

    def _link_mean(self, scores: list[str]) -> list[str]:
        return [f"{score} / {format_number(self.model.total_weight)}" for score in scores]

    def _link_identity(self, scores: list[str]) -> list[str]:
        return scores

    def _link_exp(self, scores: list[str]) -> list[str]:
        return [f"EXP({self.dialect.least([scores[0], format_number(709.0)])})"]

    def _link_logistic(self, scores: list[str]) -> list[str]:
        both = (scores[0], f"-{scores[0]}")
        return [f"1e0 / (1e0 + EXP({self.dialect.least([each, format_number(709.0)])}))" for each in both]

    def _link_double_logistic(self, scores: list[str]) -> list[str]:
        return self._link_logistic([f"(2e0 * {scores[0]})"])

    def _link_softmax(self, scores: list[str]) -> list[str]:
        (top,) = self.add_step(
            "top", scores, [(self.make_aliases("highest", 1)[0], self.dialect.greatest(scores))]
        )
        powers = [f"EXP({score} - {top})" for score in scores]
        aliases = self.make_aliases("power", len(powers))
        powers = self.add_step("powers", [], list(zip(aliases, powers, strict=True)))
        (total,) = self.add_step("total", powers, [(self.make_aliases("sum", 1)[0], " + ".join(powers))])
        return [f"{power} / {total}" for power in powers]


# -- nodes ------------------------------------------------------------------------------------------------


def _walk(tree: PlainTree, begin: Sequence[int], before: str | None) -> tuple[str, list[int]]:
    """Return the next node of each row from its current one, and the nodes still to split."""
    left: list[int] = []
    texts = {node: _nested(tree, node, left) for node in begin}
    if before is None:
        return texts[0], left
    if not texts:
        return before, left
    whens = "".join(f"{INDENT}WHEN {node} THEN {text}" for node, text in texts.items())
    return f"CASE {before}{whens}{INDENT}ELSE {before} END", left


def _nested(tree: PlainTree, number: int, left: list[int], level: int = 0) -> str:
    node = tree.nodes[number]
    if isinstance(node, PlainLeaf):
        return str(number)
    if level == LEVELS:
        left.append(number)
        return str(number)
    yes, no = (_nested(tree, child, left, level + 1) for child in (node.yes, node.no))
    line = INDENT + "  " * level
    return f"CASE WHEN {_condition(node)}{line}THEN {yes}{line}ELSE {no} END"


def _condition(split: PlainSplit) -> str:
    """Return a condition that is true or false for every row: missing values are explicit."""
    x = quote_identifier(split.feature.name)
    known = f"{x} IS NULL OR" if split.missing_yes else f"{x} IS NOT NULL AND"
    if split.is_known:
        return "1 = 1" if split.missing_yes else f"{x} IS NOT NULL"
    if split.threshold is not None:
        return f"({known} {x} <= {format_number(split.threshold)})"
    labels, is_yes = split.listed
    if len({isinstance(label, str) for label in split.feature.categories}) > 1:
        raise ExportError(
            f"the categories of column {split.feature.name!r} are text and numbers, and a column of SQL "
            "has one type: turn all into text, and grow the model again."
        )
    if not labels:
        return "1 = 0" if is_yes else "1 = 1"
    return f"({known} {x} {'IN' if is_yes else 'NOT IN'} ({', '.join(map(format_literal, labels))}))"


def _by_leaf(leaf: str, texts: dict[int, str]) -> str:
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return f"CASE {leaf} {' '.join(f'WHEN {node} THEN {text}' for node, text in texts.items())} END"


def make_terms(leaf: str, tree: PlainTree) -> Iterator[tuple[int, str]]:
    """List the values that the tree adds, each with the index of its score."""
    leaves = tree.leaves
    for place in range(len(next(iter(leaves.values())).values)):
        yield (
            tree.output + place,
            _by_leaf(leaf, {n: format_number(each.values[place]) for n, each in leaves.items()}),
        )


# -- Names, texts and numbers, and the differences between dialects ------------------------------------------

MOST_ARGUMENTS = 50  # of one function: SQLite takes 100
SHORT = 15  # significant digits that any reader of numbers takes for the same float


def quote_identifier(name: str) -> str:
    """Quote the name of a table or column."""
    if not name or "\0" in name:
        raise ExportError(f"SQL has no name {name!r}: rename the column.")
    return '"' + name.replace('"', '""') + '"'


def format_literal(label: Label) -> str:
    """Format a category or class."""
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, int):
        return str(label)
    if isinstance(label, float):
        return format_number(label)
    if "\0" in label:
        raise ExportError(f"SQL has no text {label!r}, which holds a NUL character.")
    return "'" + label.replace("'", "''") + "'"


def format_number(value: float) -> str:
    """Format a float with 17 digits, or fewer if they are exact.

    With an exponent, as DuckDB takes a number without one for a decimal.

    >>> format_number(40.5), format_number(0.1 + 0.2)
    ('4.05e1', '3.0000000000000004e-1')
    """
    short = f"{value:.{SHORT - 1}e}"
    mantissa, exponent = (short if float(short) == value else f"{value:.16e}").split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


@dataclass(frozen=True)
class Dialect:
    """A SQL dialect with the keywords that differ."""

    name: str
    most: str = "GREATEST"
    least_word: str = "LEAST"
    materialized: str = "MATERIALIZED "  # worked out once, not wherever it is used

    @classmethod
    def of(cls, name: str) -> Dialect:
        """Return the dialect of this name; an ExportError lists the known ones."""
        if name == "sqlite":
            return cls(name, "MAX", "MIN")
        if name not in ("duckdb", "postgres"):
            _check_dialect(name)
            return cls(name, materialized="")
        return cls(name)

    def greatest(self, columns: Sequence[str]) -> str:
        """Return the greatest of the columns."""
        return _nest_function(self.most, columns)

    def least(self, columns: Sequence[str]) -> str:
        """Return the least of the columns."""
        return _nest_function(self.least_word, columns)

    def translate(self, query: str) -> str:
        """Translate the query with sqlglot if the dialect is not one of ours."""
        if self.name in ("duckdb", "postgres", "sqlite"):
            return query
        import sqlglot

        try:
            return sqlglot.transpile(query, read="postgres", write=self.name, pretty=True)[0] + "\n"
        except RecursionError as error:
            raise ExportError(
                f"the query is nested too deeply for sqlglot to turn it into {self.name}: export fewer or "
                "smaller trees, or take the dialect 'postgres'."
            ) from error


def _nest_function(function: str, columns: Sequence[str]) -> str:
    parts = list(columns)
    while len(parts) > 1:
        groups = [parts[i : i + MOST_ARGUMENTS] for i in range(0, len(parts), MOST_ARGUMENTS)]
        parts = [group[0] if len(group) == 1 else f"{function}({', '.join(group)})" for group in groups]
    return parts[0]


def _check_dialect(name: str) -> None:
    try:
        from sqlglot.dialects.dialect import Dialect as Known
    except ImportError as error:
        raise ExportError(
            f"the dialect {name!r} needs sqlglot: {install_command('export')}, or take one of duckdb, "
            "postgres, sqlite."
        ) from error
    if name not in Known.classes or not name:
        known = ", ".join(sorted(each for each in Known.classes if each))
        raise ExportError(f"There is no dialect {name!r}: choose one of {known}.")


# -- A view for each tree, and one that combines them --------------------------------------------------------

JOINED = 40  # views in one sum: SQLite joins 64 tables
BEFORE = quote_identifier("before")  # the sum of the trees before


@dataclass
class Views:
    """The CREATE VIEW statements of a model."""

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
            yield self._create_view(self.view, Query(self.model, self.table, keep, self.dialect).text())
            return
        if self.key is None:
            raise ExportError(
                "the views of an ensemble are joined by a column that identifies rows: name it, key='id'."
            )
        yield from self._join(self.key, keep)

    def _join(self, key: str, keep: tuple[str, ...]) -> Iterator[str]:
        last = Query(replace(self.model, columns=()), self.table, keep, self.dialect)
        names = _Names(
            quote_identifier(key),
            last.make_aliases("value", self.model.n_outputs),
            last.make_aliases("score", self.model.n_outputs),
        )
        for place, tree in enumerate(self.model.trees):
            yield self._create_view(self._tree_name(place), self._select_tree(key, tree, names))
        n_sums = -(-len(self.model.trees) // JOINED)
        for place in range(n_sums):
            yield self._create_view(self._sum_name(place), self._select_sum(place, names))
        yield self._create_view(self.view, self._select_prediction(last, self._sum_name(n_sums - 1), names))

    def _create_view(self, name: str, query: str) -> str:
        return f"CREATE VIEW {quote_identifier(name)} AS\n{query}"

    def _tree_name(self, place: int) -> str:
        return f"{self.view}_tree_{place}"

    def _sum_name(self, place: int) -> str:
        return f"{self.view}_sum_{place}"

    def _select_tree(self, key: str, tree: PlainTree, names: _Names) -> str:
        """Select the key of every row and the values that the tree adds to its scores."""
        used = {split.feature.name for split in tree.splits.values()}
        columns = tuple(feature for feature in self.model.columns if feature.name in used)
        query = Query(replace(self.model, trees=(tree,), columns=columns), self.table, (key,), self.dialect)
        (leaf,) = query.walk_trees()
        return query.select([f"{term} AS {names.values[place]}" for place, term in make_terms(leaf, tree)])

    def _select_sum(self, place: int, names: _Names) -> str:
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

    def _select_prediction(self, last: Query, sum_name: str, names: _Names) -> str:
        """Return the columns to keep and the link of the last sum."""
        view = quote_identifier(sum_name)
        last.source = f"{last.source}\n  JOIN {view} USING ({names.key})"
        scores = last.add_step("summed", [], [(score, f"{view}.{score}") for score in names.scores])
        return last.select(last.apply_link(scores))


@dataclass(frozen=True)
class _Names:
    """Columns of the views, quoted."""

    key: str
    values: list[str]  # values of a tree, by score
    scores: list[str]


# -- Databases -----------------------------------------------------------------------------------------------

BATCH = 500  # rows of one INSERT
Result = tuple[list[tuple[Any, ...]], str]


def run_query(
    script: str,
    plain: PlainModel,
    rows: Rows,
    *,
    table: str,
    extra: Sequence[str],
    dialect: str = "duckdb",
    view: str | None = None,
    key: str | None = None,
) -> Result:
    """Run the query; return records in row order, and the name of the database.

    With a view, the script creates it; the rows get numbers as their key.
    """
    connection, engine = _connect(dialect)
    rows = dict(rows)
    if key is not None:
        if key in rows:
            raise ExportError(
                f"key={key!r} is a column that the model uses, and rows at its edges share their values: "
                "verify the views with another key."
            )
        rows[key] = [*range(count_rows(rows))]
    _insert(connection, plain, rows, table=table, extra=extra, key=key)
    query = script
    if view is not None:
        run = getattr(
            connection, "executescript", connection.execute
        )  # SQLite executes one statement at a time
        run(script)
        query = f"SELECT * FROM {quote_identifier(view)}" + (
            f" ORDER BY {quote_identifier(key)}" if key else ""
        )
    result = connection.execute(query).fetchall()
    connection.close()
    return result, engine


def _insert(
    connection: Any, plain: PlainModel, rows: Rows, *, table: str, extra: Sequence[str], key: str | None
) -> None:
    names = list(dict.fromkeys((*rows, *extra)))
    types = {feature.name: _type(feature) for feature in plain.columns}
    if key is not None:
        types[key] = "INTEGER PRIMARY KEY"
    columns = ", ".join(f"{quote_identifier(name)} {types.get(name, 'VARCHAR')}" for name in names)
    connection.execute(f"CREATE TABLE {quote_identifier(table)} ({columns})")
    missing = [None] * count_rows(rows)
    records = list(zip(*(rows.get(name, missing) for name in names), strict=True))
    for begin in range(0, len(records), BATCH):
        cells = [
            ["NULL" if value is None else format_literal(value) for value in record]
            for record in records[begin : begin + BATCH]
        ]
        batch = ", ".join(f"({', '.join(record)})" for record in cells)
        connection.execute(f"INSERT INTO {quote_identifier(table)} VALUES {batch}")


def _connect(dialect: str) -> tuple[Any, str]:
    if dialect == "sqlite":
        import sqlite3

        return sqlite3.connect(":memory:"), f"SQLite {sqlite3.sqlite_version}"
    if dialect in ("duckdb", "postgres"):
        try:
            import duckdb
        except ImportError as error:
            raise EngineError(
                f"the dialect {dialect!r} is verified by DuckDB: pip install duckdb, or take the dialect "
                "'sqlite', which Python runs itself."
            ) from error
        connection = duckdb.connect()
        connection.execute("SET threads = 1")
        return connection, f"DuckDB {duckdb.__version__}"
    raise EngineError(
        f"There is no {dialect} here to verify the query with: take the dialect 'duckdb' or 'sqlite'."
    )


def _type(feature: Feature) -> str:
    if feature.kind == "numeric":
        return "DOUBLE"
    if all(isinstance(label, bool) for label in feature.categories):
        return "BOOLEAN"
    return "VARCHAR" if isinstance(feature.categories[0], str) else "DOUBLE"
