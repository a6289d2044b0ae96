"""A model as an Excel workbook: rules to filter, and a sheet that scores the rows pasted into it.

The sheet walks the trees one level per column: each cell looks up the split of its node in the sheet of
nodes, so that no formula grows with the tree.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from io import BytesIO
from math import copysign
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from holdfast._files import replace_file
from holdfast._version import install_command
from holdfast.data.survival import survive_horizon
from holdfast.errors import EngineError, ExportError
from holdfast.exports.check import EnginePredictions, Rows, Scale, count_rows
from holdfast.exports.plain_model import PlainLeaf, PlainModel, make_plain_model, unwrap_model
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.rules import format_class_names, tree_rules

MOST_COLUMNS, MOST_ROWS = 16_384, 1_048_576  # of a sheet
APART = 2.0**-46  # of a number: what is nearer is the same number to a spreadsheet
THRESHOLD, KNOWN, SET = 1, 2, 3  # the kind of split of a node; 0: it is a leaf


def to_excel(model: Any, *, rows: int = 100) -> bytes:
    """Export as an .xlsx file with formulas for n rows, which can be filled down.

    The sheet "Score" takes the columns that the model uses, and computes the predictions; "Rules" has one
    line per leaf. Spreadsheets treat two numbers that agree in 15 digits as equal: a value that close to a
    threshold goes to the side of "at most".

    Parameters
    ----------
    model : Tree, Ensemble or fitted estimator
    rows : int
        Number of rows with formulas.

    Returns
    -------
    bytes

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["no", "no", "yes"]))
    >>> to_excel(tree, rows=10)[:2]  # doctest: +SKIP
    b'PK'
    """
    try:
        from openpyxl import Workbook
    except ImportError as error:
        raise ExportError(f"the format 'excel' needs openpyxl: {install_command('export')}.") from error
    book = Workbook()
    _Book(book, make_plain_model(model), rows).write(_list_rules(model))
    content = BytesIO()
    book.save(content)
    return content.getvalue()


class _Book:
    """A workbook being written."""

    def __init__(self, book: Any, plain: PlainModel, rows: int) -> None:
        self.book, self.plain, self.rows = book, plain, rows
        self.sets = [split for split in plain.splits if split.in_yes is not None]
        self._check_size()

    def _check_size(self) -> None:
        sheet = ScoreSheet(self.plain)
        scores = sheet.n_columns
        nodes = sum(len(tree.nodes) for tree in self.plain.trees)
        widest = max((len(split.feature.categories) for split in self.sets), default=0) + 2
        for what, size, most in (
            ("columns to walk its trees", scores, MOST_COLUMNS),
            ("nodes", nodes, MOST_ROWS - 1),
            ("categories in one column", widest, MOST_COLUMNS),
        ):
            if size > most:
                raise ExportError(
                    f"the model needs {size} {what}, and a sheet of Excel has room for {most}: prune it, or "
                    "export it to SQL or Python."
                )
        if self.rows > sheet.most_rows:
            fewer = f"rows={sheet.most_rows} or fewer" if sheet.most_rows else "a model of fewer trees"
            raise ExportError(
                f"a row takes {scores - sheet.n_inputs:,} formulas to walk {len(self.plain.trees):,} trees, "
                f"and {self.rows:,} rows of them are more than a spreadsheet computes while a person waits: "
                f"take {fewer}, or export the model to SQL or Python."
            )

    def write(self, rules: list[list[Any]]) -> None:
        """Write all sheets."""
        self.book.active.title = "Score"
        self.book.active.freeze_panes = "A2"
        score = ScoreSheet(self.plain)
        for column, title in enumerate(score.titles, 1):
            write_cell(self.book.active, 1, column, title)
        first = len(self.plain.columns) + 1
        for row in range(2, self.rows + 2):
            for column, formula in enumerate(score.formulas(row), first):
                self.book.active.cell(row, column, formula)
        self._add_sheet("Rules", rules, is_filtered=True)
        self._add_sheet("Nodes", list(self._list_nodes()))
        if self.plain.notes:
            self._add_sheet("Notes", [[name, note] for name, note in self.plain.notes.items()])
        if self.plain.target.is_classes:
            self._add_sheet("Classes", [[label] for label in self.plain.target.classes])
        if self.sets:
            self._add_sheet("Sets", [self._list_flags(split) for split in self.sets])
            self._add_categories()

    def _add_sheet(self, title: str, rows: list[list[Any]], *, is_filtered: bool = False) -> None:
        sheet = self.book.create_sheet(title)
        for place, row in enumerate(rows, 1):
            for column, value in enumerate(row, 1):
                write_cell(sheet, place, column, value)
        if is_filtered:
            sheet.auto_filter.ref = sheet.dimensions
            sheet.freeze_panes = "A2"

    def _list_nodes(self) -> Any:
        """Return one row per node of every tree: split, children, and leaf values."""
        n_values = ScoreSheet(self.plain).n_values
        titles = ["tree", "node", "split", "column", "threshold", "set", "yes", "no", "missing goes to yes"]
        yield [*titles, "outcome", *(f"value {place + 1}" for place in range(n_values))]
        begin, n_sets = 1, 0
        for position, tree in enumerate(self.plain.trees):
            for number, node in enumerate(tree.nodes):
                if isinstance(node, PlainLeaf):
                    values = [0.0] * n_values
                    values[tree.output : tree.output + len(node.values)] = node.values
                    classes = self.plain.target.classes
                    outcome = classes[node.outcome] if node.outcome >= 0 and classes else ""
                    yield [position, number, 0, "", "", "", "", "", "", outcome, *values]
                    continue
                column = self.plain.columns.index(node.feature) + 1
                kind = SET if node.in_yes is not None else KNOWN if node.is_known else THRESHOLD
                n_sets += kind == SET
                place = n_sets if kind == SET else ""
                threshold = "" if node.threshold is None else node.threshold
                ways = [begin + node.yes, begin + node.no, int(node.missing_yes)]
                yield [position, number, kind, column, threshold, place, *ways]
            begin += len(tree.nodes)

    def _list_flags(self, split: Any) -> list[int]:
        """Flag the categories on the yes side; the last flag is for missing values."""
        chosen = set(split.in_yes)
        return [*(int(label in chosen) for label in split.feature.categories), int(split.missing_yes)]

    def _add_categories(self) -> None:
        sheet = self.book.create_sheet("Categories")
        for column, feature in enumerate(self.plain.columns, 1):
            write_cell(sheet, 1, column, feature.name)
            for row, label in enumerate(feature.categories, 2):
                write_cell(sheet, row, column, label)


def write_cell(sheet: Any, row: int, column: int, value: Any) -> None:
    """Write a value; text stays text, even if it looks like a formula."""
    from openpyxl.utils.exceptions import IllegalCharacterError

    try:
        cell = sheet.cell(row, column, value)
    except IllegalCharacterError as error:
        raise ExportError(f"Excel has no text {value!r}: rename it.") from error
    if isinstance(value, str) and value:
        cell.data_type = "s"
        cell.quotePrefix = True


def _list_rules(model: Any) -> list[list[Any]]:
    """Return one row per leaf of every tree: conditions by column, and the prediction."""
    from holdfast.tree.rules_text import condition_text

    found = unwrap_model(model)
    trees = list(found.trees) if isinstance(found, Ensemble) else [found]
    plain = make_plain_model(model)
    names, target = [feature.name for feature in plain.columns], plain.target
    titles = plain.notes or [target.name, *(f"p({name})" for name in format_class_names(target))]
    rows: list[list[Any]] = [["tree", "leaf", *names, *titles, "rows"]]
    for position, tree in enumerate(trees):
        for rule in tree_rules(tree):
            texts = {each.name: condition_text(each, missing=True) for each in rule.conditions}
            values = rule.value if target.is_classes else ()
            if target.hazard is not None:
                values = (survive_horizon(target.hazard, rule.value[0]),)
            conditions = [texts.get(name, "") for name in names]
            rows.append([position, rule.leaf, *conditions, rule.outcome, *values, rule.count])
    return rows


# -- The sheet that scores -----------------------------------------------------------------------------------

SUMMED = 40  # trees in one formula, which has room for 8,192 letters
# Of one sheet: LibreOffice computes about 6,000 a second, and holds 127,000 in 860 MB.
MOST_FORMULAS = 150_000


class ScoreSheet:
    """The columns of the sheet "Score" in order."""

    def __init__(self, plain: PlainModel) -> None:
        self.plain = plain
        self.depths = [max(tree.depth, 1) for tree in plain.trees]
        self.is_single = plain.link is None
        self.n_nodes = sum(len(tree.nodes) for tree in plain.trees)
        self.n_inputs = len(plain.columns)
        self.n_sums = 0 if self.is_single else -(-len(plain.trees) // SUMMED)
        self.set_sizes = [len(split.feature.categories) for split in plain.splits if split.in_yes is not None]

    @property
    def n_values(self) -> int:
        """Number of values that leaves add to."""
        leaf = next(iter(self.plain.trees[0].leaves.values()))
        return len(leaf.values) if self.is_single else self.plain.n_outputs

    @cached_property
    def titles(self) -> list[str]:
        """Titles of all columns."""
        names = [feature.name for feature in self.plain.columns]
        walks = [f"tree {t} level {k + 1}" for t, depth in enumerate(self.depths) for k in range(depth)]
        sums = [f"sum {s + 1} of {v + 1}" for s in range(self.n_sums) for v in range(self.n_values)]
        results = self.plain.numbers or [
            *(f"p({label})" for label in self.plain.target.classes),
            "prediction",
        ]
        return [*names, *(f"read {name}" for name in names), *walks, *sums, *results]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.titles)

    @property
    def most_rows(self) -> int:
        """Number of rows that one sheet can compute."""
        return MOST_FORMULAS // (self.n_columns - self.n_inputs)

    @property
    def first_result(self) -> int:
        """Number of the first column with a probability, or of the prediction."""
        return self.n_columns + 1 - (len(self.plain.numbers) or len(self.plain.target.classes) + 1)

    # -- formulas ---------------------------------------------------------------------------------------

    def formulas(self, row: int) -> Iterator[str]:
        """Return the formulas of a row after its inputs."""
        for place in range(self.n_inputs):
            yield f"={self._format_input(place, row)}"
        column, root, leaves = 2 * self.n_inputs + 1, 1, []
        for tree, depth in zip(self.plain.trees, self.depths, strict=True):
            before = str(root)
            for _ in range(depth):
                yield f"={self._format_step(before, row)}"
                before, column = f"${_letters(column)}{row}", column + 1
            leaves.append(before)
            root += len(tree.nodes)
        if self.is_single:
            yield from self._format_leaf(leaves[0])
            return
        scores = [repr(each) for each in self.plain.start]
        for begin in range(0, len(leaves), SUMMED):
            part = leaves[begin : begin + SUMMED]
            for place, score in enumerate(scores):
                yield "=" + "+".join([score, *(self._value(leaf, place) for leaf in part)])
            scores = [f"${_letters(column + place)}{row}" for place in range(len(scores))]
            column += len(scores)
        yield from self._format_link(scores, column, row)

    def _format_input(self, place: int, row: int) -> str:
        cell, feature = f"${_letters(place + 1)}{row}", self.plain.columns[place]
        if not feature.categories:
            return f'IF(ISNUMBER({cell}),{cell},"")'
        n = len(feature.categories)
        if all(isinstance(label, bool) for label in feature.categories):  # EXACT is for text
            places = {label: number for number, label in enumerate(feature.categories, 1)}
            yes, no = places.get(True, n + 1), places.get(False, n + 1)
            return f"IF(ISLOGICAL({cell}),IF({cell},{yes},{no}),{n + 1})"
        letters = _letters(place + 1)
        labels = f"Categories!${letters}$2:${letters}${n + 1}"
        found = f"SUMPRODUCT(EXACT({cell},{labels})*(ROW({labels})-1))"
        return f'IF({cell}="",{n + 1},IF({found}=0,{n + 1},{found}))'

    def _node(self, letter: str, at: str) -> str:
        return f"INDEX(Nodes!${letter}$2:${letter}${self.n_nodes + 1},{at})"

    def _format_step(self, at: str, row: int) -> str:
        """Return the node that follows this one; a leaf follows itself."""
        if not self.n_inputs:
            return at
        read = f"${_letters(self.n_inputs + 1)}{row}:${_letters(2 * self.n_inputs)}{row}"
        kind, x = self._node("C", at), f"INDEX({read},1,{self._node('D', at)})"
        is_less = f'IF({x}="",{self._node("I", at)}=1,IF({kind}=2,TRUE,{x}<={self._node("E", at)}))'
        answer = is_less
        if self.set_sizes:
            answer = f"IF({kind}=3,{self._set_flag(at, x)}=1,{is_less})"
        return f"IF({kind}=0,{at},IF({answer},{self._node('G', at)},{self._node('H', at)}))"

    def _set_flag(self, at: str, x: str) -> str:
        last = _letters(max(self.set_sizes) + 1)
        return f"INDEX(Sets!$A$1:${last}${len(self.set_sizes)},{self._node('F', at)},{x})"

    def _value(self, leaf: str, place: int) -> str:
        return self._node(_letters(11 + place), leaf)

    def _format_leaf(self, leaf: str) -> Iterator[str]:
        values = [self._value(leaf, place) for place in range(self.n_values)]
        yield from (f"={value}" for value in values)
        if self.plain.target.is_classes:
            yield f"={self._node('J', leaf)}"

    def _format_link(self, scores: list[str], column: int, row: int) -> Iterator[str]:
        values = self._format_values(scores)
        if self.plain.hazard_at_horizon is not None:
            power = f"{self.plain.hazard_at_horizon!r}*${_letters(column)}{row}"
            values = [values[0], f"EXP(-MIN({power},709))"]
        yield from (f"={value}" for value in values)
        if not self.plain.target.is_classes:
            return
        cells = f"${_letters(column)}{row}:${_letters(column + len(values) - 1)}{row}"
        yield f"=INDEX(Classes!$A$1:$A${len(values)},MATCH(MAX({cells}),{cells},0))"

    def _format_values(self, scores: list[str]) -> list[str]:
        first = scores[0]
        match self.plain.link:
            case "mean":
                return [f"{score}/{self.plain.total_weight!r}" for score in scores]
            case "exp":
                return [f"EXP(MIN({first},709))"]
            case "softmax":
                every = f"{first}:{scores[-1]}"
                total = f"SUMPRODUCT(EXP({every}-MAX({every})))"
                return [f"EXP({score}-MAX({every}))/{total}" for score in scores]
            case "logistic":
                return [f"1/(1+EXP(MIN({sign}{first},709)))" for sign in ("", "-")]
            case "double_logistic":
                return [f"1/(1+EXP(MIN({sign}2*{first},709)))" for sign in ("", "-")]
            case _:
                return scores


def _letters(column: int) -> str:
    """Return the letters of a column by its number from 1 on.

    >>> _letters(1), _letters(28)
    ('A', 'AB')
    """
    from openpyxl.utils import get_column_letter

    letters: str = get_column_letter(column)
    return letters


# -- running it -------------------------------------------------------------------------------------------


def scale_of(exported: bytes) -> Scale:
    """Return the scale of spreadsheets, which distinguish 15 digits."""
    return Scale(lambda number, side: copysign(max(abs(number) * APART, 1e-300), side) + number)


def compute_workbook(path: Path) -> Any:
    """Compute the workbook with the package formulas and return the sheet "Score"."""
    try:
        import formulas
    except ImportError as error:
        raise EngineError(
            "the format 'excel' is verified by the package formulas: pip install formulas."
        ) from error
    from openpyxl import load_workbook

    model = formulas.ExcelModel().loads(str(path)).finish()
    model.calculate()
    model.write(dirpath=str(path.parent / "computed"))
    found = next((path.parent / "computed").rglob("*.[xX][lL][sS][xX]"))
    book = load_workbook(found, data_only=True)
    return next(sheet for sheet in book if sheet.title.lower() == "score")


def predict_rows(
    exported: bytes,
    plain: PlainModel,
    rows: Rows,
    /,
    *,
    compute: Callable[[Path], Any] = compute_workbook,
    engine: str = "formulas",
    **options: Any,
) -> EnginePredictions:
    """Predict with the sheet "Score" of the workbook; several sheets if the rows are too many for one."""
    size, n_classes = max(ScoreSheet(plain).most_rows, 1), len(plain.target.classes)
    records: list[Any] = []
    for begin in range(0, count_rows(rows), size):
        part = {name: values[begin : begin + size] for name, values in rows.items()}
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.xlsx"
            replace_file(path, _insert_rows(exported, plain, part))
            first, last = ScoreSheet(plain).first_result, count_rows(part) + 1
            cells = compute(path).iter_rows(min_row=2, max_row=last, min_col=first, values_only=True)
            records += cells
    values = np.array([record[: n_classes or len(plain.numbers)] for record in records], np.float64)
    if not n_classes:
        return EnginePredictions(values, None, engine)
    # Spreadsheets have no integers: the equal class is meant.
    named = dict(zip(plain.target.classes, plain.target.classes, strict=True))
    outcomes = [named.get(record[n_classes], record[n_classes]) for record in records]
    return EnginePredictions(values, outcomes, engine)


def _insert_rows(exported: bytes, plain: PlainModel, rows: Rows) -> bytes:
    """Insert the rows as inputs, with formulas for all of them."""
    from openpyxl import load_workbook

    book = load_workbook(BytesIO(exported))
    sheet, score = book["Score"], ScoreSheet(plain)
    sheet.delete_rows(2, sheet.max_row)
    for row, record in enumerate(zip(*rows.values(), strict=True), 2):
        for column, value in enumerate(record, 1):
            if value is not None:
                write_cell(sheet, row, column, value)
        for column, formula in enumerate(score.formulas(row), len(record) + 1):
            sheet.cell(row, column, formula)
    content = BytesIO()
    book.save(content)
    return content.getvalue()
