"""A model as an Excel workbook: rules to filter, and a sheet that scores the rows pasted into it.

The sheet walks the trees a level a column: each cell looks up what its node asks in the sheet of nodes, so
that no formula grows with the tree.
"""

from collections.abc import Sequence
from io import BytesIO
from math import copysign
from typing import Any

from holdfast.data.schema import Label
from holdfast.errors import ExportError
from holdfast.export.edges import Scale
from holdfast.export.excel_scores import ScoreSheet
from holdfast.export.plain_model import Leaf, PlainModel, make_plain_model, unwrap_model
from holdfast.export.scored import EnginePredictions, Rows
from holdfast.shown import shown
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.rule import tree_rules
from holdfast.tree.wording import format_class_names

MOST_COLUMNS, MOST_ROWS = 16_384, 1_048_576  # of a sheet
APART = 2.0**-46  # of a number: what is nearer is the same number to a spreadsheet
THRESHOLD, KNOWN, SET = 1, 2, 3  # what a node asks; 0: it is a leaf


def to_excel(model: Any, *, rows: int = 100) -> bytes:
    """Export as an .xlsx file with formulas for n rows, which can be filled down.

    The sheet "Score" takes the columns that the model asks about, and says what it predicts; "Rules" has one
    line for each leaf. Excel and LibreOffice take two numbers that agree in 15 digits for one: a value so
    near to a threshold goes to the side of "at most".
    """
    try:
        from openpyxl import Workbook
    except ImportError as error:
        raise ExportError("the format 'excel' needs openpyxl: pip install 'holdfast[export]'.") from error
    plain = make_plain_model(model)
    book = Workbook()
    _Book(book, plain, rows).write(_rule_rows(model))
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
            raise ExportError(
                f"a row takes {scores - sheet.n_inputs:,} formulas to walk {len(self.plain.trees):,} trees, "
                f"and {self.rows:,} rows of them are more than a spreadsheet computes while a person waits: "
                f"take {_rows(sheet.most_rows)}, or export the model to SQL or Python."
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
        self._filled("Rules", rules, is_filtered=True)
        self._filled("Nodes", list(self._node_rows()))
        if self.plain.target.is_classes:
            self._filled("Classes", [[label] for label in self.plain.target.classes])
        if self.sets:
            self._filled("Sets", [self._flags(split) for split in self.sets])
            self._categories()

    def _filled(self, title: str, rows: list[list[Any]], *, is_filtered: bool = False) -> None:
        sheet = self.book.create_sheet(title)
        for place, row in enumerate(rows, 1):
            for column, value in enumerate(row, 1):
                write_cell(sheet, place, column, value)
        if is_filtered:
            sheet.auto_filter.ref = sheet.dimensions
            sheet.freeze_panes = "A2"

    def _node_rows(self) -> Any:
        """Return one row per node of every tree: split, children, and leaf values."""
        n_values = ScoreSheet(self.plain).n_values
        titles = ["tree", "node", "asks", "column", "threshold", "set", "yes", "no", "missing goes to yes"]
        yield [*titles, "outcome", *(f"value {place + 1}" for place in range(n_values))]
        begin, n_sets = 1, 0
        for position, tree in enumerate(self.plain.trees):
            for number, node in enumerate(tree.nodes):
                if isinstance(node, Leaf):
                    values = [0.0] * n_values
                    values[tree.output : tree.output + len(node.values)] = node.values
                    classes = self.plain.target.classes
                    outcome = classes[node.outcome] if node.outcome >= 0 and classes else ""
                    yield [position, number, 0, "", "", "", "", "", "", outcome, *values]
                    continue
                column = self.plain.columns.index(node.feature) + 1
                asks = SET if node.in_yes is not None else KNOWN if node.is_known else THRESHOLD
                n_sets += asks == SET
                place = n_sets if asks == SET else ""
                threshold = "" if node.threshold is None else node.threshold
                ways = [begin + node.yes, begin + node.no, int(node.missing_yes)]
                yield [position, number, asks, column, threshold, place, *ways]
            begin += len(tree.nodes)

    def _flags(self, split: Any) -> list[int]:
        """Flag the categories on the yes side; the last flag is for missing values."""
        chosen = set(split.in_yes)
        return [*(int(label in chosen) for label in split.feature.categories), int(split.missing_yes)]

    def _categories(self) -> None:
        sheet = self.book.create_sheet("Categories")
        for column, feature in enumerate(self.plain.columns, 1):
            write_cell(sheet, 1, column, feature.name)
            for row, label in enumerate(feature.categories, 2):
                write_cell(sheet, row, column, label)


def _rows(most: int) -> str:
    return f"rows={most} or fewer" if most else "a model of fewer trees"


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


def _rule_rows(model: Any) -> list[list[Any]]:
    """Return one row per leaf of every tree: conditions by column, and the prediction."""
    found = unwrap_model(model)
    trees = list(found.trees) if isinstance(found, Ensemble) else [found]
    names = [feature.name for feature in make_plain_model(model).columns]
    target = trees[0].schema.target
    titles = [f"p({name})" for name in format_class_names(target)]
    rows: list[list[Any]] = [["tree", "leaf", *names, target.name, *titles, "rows"]]
    for position, tree in enumerate(trees):
        for rule in tree_rules(tree):
            said = {each.name: shown("condition_text", each, missing=True) for each in rule.conditions}
            values = rule.value if target.is_classes else ()
            conditions = [said.get(name, "") for name in names]
            rows.append([position, rule.leaf, *conditions, rule.outcome, *values, rule.count])
    return rows


# -- running it -------------------------------------------------------------------------------------------


def _beside(number: float, side: float) -> float:
    return copysign(max(abs(number) * APART, 1e-300), side) + number


def scale_of(exported: bytes) -> Scale:
    """Return the scale of spreadsheets, which distinguish 15 digits."""
    return Scale(_beside)


def scored(exported: bytes, plain: PlainModel, rows: Rows, /, **options: Any) -> EnginePredictions:
    """Predict with the workbook, by LibreOffice or the package formulas."""
    from holdfast.export.excel_engines import evaluate_workbook

    values, outcomes, engine = evaluate_workbook(exported, plain, rows)
    return EnginePredictions(values, _classes(plain.target.classes, outcomes), engine)


def _classes(classes: Sequence[Label], said: Sequence[Any]) -> list[Label] | None:
    """Restore classes, since spreadsheets have no integers."""
    if not classes:
        return None
    return [next((label for label in classes if label == each), each) for each in said]
