"""One SQL query that is being written: a CASE for each tree, and arithmetic for the rest.

The query is a chain of common table expressions. The first ones walk the trees, a dozen levels at a time, as
SQLite takes no deeper nesting, and leave the number of the leaf; the next ones add up what the leaves say,
some trees at a time; the last ones are the link.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count

from holdfast.errors import ExportError
from holdfast.export.plain_model import Leaf, PlainModel, PlainTree, Split
from holdfast.export.sql_text import Dialect, format_literal, format_number, quote_identifier
from holdfast.tree.wording import format_class_names

LEVELS = 12  # of a tree in one expression
TREES = 50  # in one sum
PREDICTION = "prediction"
INDENT = "\n      "  # of what belongs to a column of a step


@dataclass
class Query:
    """A query being written, step by step."""

    model: PlainModel
    table: str
    keep: tuple[str, ...]
    dialect: Dialect
    steps: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)  # names, without their capital letters

    def __post_init__(self) -> None:
        read = (feature.name for feature in self.model.columns)
        self.carried = tuple(dict.fromkeys((*self.keep, *read)))  # columns of every step
        self.source = quote_identifier(self.table)  # what the next step selects from
        self._check_names()
        self.taken.update(name.casefold() for name in (self.table, *self.carried))

    def text(self) -> str:
        """Return the whole query."""
        leaves = self.walked()
        if self.model.link is None:
            return self.selected(self._said_by_leaf(leaves[0]))
        return self.selected(self.linked(self._summed(leaves)))

    def selected(self, columns: Sequence[str]) -> str:
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
                    f"the columns {other!r} and {name!r} are one to SQL, which does not tell capital letters "
                    "apart: rename one of them and grow the model again."
                )

    # -- steps --------------------------------------------------------------------------------------------

    def _free(self, name: str) -> str:
        """Return the name, or the first unused of name_2, name_3, ..."""
        free = next(
            each
            for each in chain([name], (f"{name}_{n}" for n in count(2)))
            if each.casefold() not in self.taken
        )
        self.taken.add(free.casefold())
        return free

    def step(self, name: str, before: Sequence[str], columns: Sequence[tuple[str, str]]) -> list[str]:
        """Add a table with the earlier columns and new ones; return the new names, quoted."""
        quoted = [quote_identifier(each) for each in self.carried]
        new = [f"{expression} AS {alias}" for alias, expression in columns]
        step = quote_identifier(self._free(name))
        body = ",\n    ".join([*quoted, *before, *new])
        self.steps.append(
            f"{step} AS {self.dialect.materialized}(\n  SELECT\n    {body}\n  FROM {self.source}\n)"
        )
        self.source = step
        return [alias for alias, _ in columns]

    def aliases(self, name: str, number: int) -> list[str]:
        """Return n unused column names, quoted."""
        names = [name] if number == 1 else [f"{name}_{place}" for place in range(number)]
        return [quote_identifier(self._free(each)) for each in names]

    # -- trees --------------------------------------------------------------------------------------------

    def walked(self) -> list[str]:
        """Add columns with the leaf number of each tree."""
        trees = self.model.trees
        open_nodes: list[list[int]] = [[0] for _ in trees]
        names: list[str] = []
        while any(open_nodes) or not names:
            aliases = self.aliases("leaf", len(trees))
            columns = []
            for place, (alias, tree) in enumerate(zip(aliases, trees, strict=True)):
                before = names[place] if names else None
                text, open_nodes[place] = _walk(tree, open_nodes[place], before)
                columns.append((alias, text))
            names = self.step("walked", [], columns)
        return names

    def _said_by_leaf(self, leaf: str) -> list[str]:
        """Return the values of a single tree as result columns."""
        leaves, target = self.model.trees[0].leaves, self.model.target
        values = [
            _by_leaf(leaf, {node: format_number(each.values[place]) for node, each in leaves.items()})
            for place in range(len(next(iter(leaves.values())).values))
        ]
        if not target.is_classes:
            return [f"{values[0]} AS {quote_identifier(self._free(PREDICTION))}"]
        classes = self._class_literals()
        outcome = _by_leaf(leaf, {node: classes[each.outcome] for node, each in leaves.items()})
        return self._classes(outcome, values)

    def _classes(self, outcome: str, values: Sequence[str]) -> list[str]:
        names = [
            self._free(PREDICTION),
            *(self._free(f"p({n})") for n in format_class_names(self.model.target)),
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

    def _summed(self, leaves: Sequence[str]) -> list[str]:
        scores = [format_number(each) for each in self.model.start]
        for begin in range(0, len(leaves), TREES):
            sums: list[list[str]] = [[each] for each in scores]
            for leaf, tree in zip(
                leaves[begin : begin + TREES], self.model.trees[begin : begin + TREES], strict=True
            ):
                for place, term in make_terms(leaf, tree):
                    sums[place].append(term)
            aliases = self.aliases("score", len(scores))
            columns = [(alias, " + ".join(each)) for alias, each in zip(aliases, sums, strict=True)]
            left = list(leaves[begin + TREES :])
            scores = self.step("summed", left, columns)
        return scores

    def linked(self, scores: list[str]) -> list[str]:
        """Return the result columns."""
        values = getattr(self, f"_link_{self.model.link}")(scores)
        if not self.model.target.is_classes:
            return [f"{values[0]} AS {quote_identifier(self._free(PREDICTION))}"]
        values = self.step("linked", [], list(zip(self.aliases("value", len(values)), values, strict=True)))
        (best,) = self.step("best", values, [(self.aliases("most", 1)[0], self.dialect.greatest(values))])
        whens = [
            f"WHEN {value} = {best} THEN {label}"
            for value, label in zip(values, self._class_literals(), strict=True)
        ]
        return self._classes(f"CASE {' '.join(whens)} END", values)

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
        (top,) = self.step("top", scores, [(self.aliases("highest", 1)[0], self.dialect.greatest(scores))])
        powers = [f"EXP({score} - {top})" for score in scores]
        aliases = self.aliases("power", len(powers))
        powers = self.step("powers", [], list(zip(aliases, powers, strict=True)))
        (total,) = self.step("total", powers, [(self.aliases("sum", 1)[0], " + ".join(powers))])
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
    if isinstance(node, Leaf):
        return str(number)
    if level == LEVELS:
        left.append(number)
        return str(number)
    yes, no = (_nested(tree, child, left, level + 1) for child in (node.yes, node.no))
    line = INDENT + "  " * level
    return f"CASE WHEN {_condition(node)}{line}THEN {yes}{line}ELSE {no} END"


def _condition(split: Split) -> str:
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
            "holds one of them: turn all into text, and grow the model again."
        )
    if not labels:
        return "1 = 0" if is_yes else "1 = 1"
    return f"({known} {x} {'IN' if is_yes else 'NOT IN'} ({', '.join(map(format_literal, labels))}))"


def _by_leaf(leaf: str, said: dict[int, str]) -> str:
    if len(set(said.values())) == 1:
        return next(iter(said.values()))
    return f"CASE {leaf} {' '.join(f'WHEN {node} THEN {text}' for node, text in said.items())} END"


def make_terms(leaf: str, tree: PlainTree) -> Iterator[tuple[int, str]]:
    """List what the tree adds, with the score that it adds to."""
    leaves = tree.leaves
    for place in range(len(next(iter(leaves.values())).values)):
        yield (
            tree.output + place,
            _by_leaf(leaf, {n: format_number(each.values[place]) for n, each in leaves.items()}),
        )
