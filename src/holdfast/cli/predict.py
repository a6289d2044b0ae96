"""`holdfast predict`: add the predictions of a model to the rows of a file."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Sequence
from itertools import chain, count
from math import inf, isinf
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from holdfast._text import number_text
from holdfast.cli.console import plain_warnings
from holdfast.cli.errors import check_exists
from holdfast.cli.options import RAW, Text, cell_options
from holdfast.errors import DataError, ParameterError
from holdfast.runs.folder import check_output, model_file

if TYPE_CHECKING:
    from holdfast.data.frame import Frame
    from holdfast.data.read_options import ReadingOptions
    from holdfast.tree.ensemble import Ensemble
    from holdfast.tree.tree import Tree

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")


def parse_times(text: str) -> list[float]:
    """Parse times above 0 between commas.

    >>> parse_times("365, 730")
    [365.0, 730.0]
    """
    try:
        times = [float(part) for part in text.split(",")]
    except ValueError:
        times = []
    if not times or not all(0 < time < inf for time in times):
        raise ValueError(f"{text!r} must be times above 0, separated by commas, such as 365,730.")
    return list(dict.fromkeys(times))


@click.command("predict")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    help="File to write to (.csv, .parquet); without it, or with -, CSV is written to the terminal.",
)
@cell_options
@click.option(
    "--firmness",
    is_flag=True,
    help="Add how firm each prediction of a stable tree is: the share of trees trained on resampled data "
    "that agree with it, and the interval of their estimates, low to high.",
)
@click.option(
    "--survival-at",
    metavar="TIMES",
    type=Text(parse_times),
    help="For times to an event: times to survive, between commas, such as 365,730.  [default: the horizon "
    "of the model]",
)
@click.option("--raw", is_flag=True, help=RAW)
def command(
    model: Path,
    data: Path,
    output: Path | None,
    firmness: bool,
    survival_at: Any,
    raw: bool,
    **cells: Any,
) -> None:
    """Add the predictions of MODEL, a model file or a run folder, to the rows of DATA.

    Columns are matched by name, and stay as they are; only those that the model uses are needed. Text that a
    spreadsheet would take for a formula gets an apostrophe in front, unless you use --raw. Classifiers also
    add a column p(class) for each class, with the predicted probability. For a tree it may differ from the
    fraction of the class among the training rows of the leaf: leaf values may come from a teacher, be shrunk
    towards the parent nodes, or be weighted. Of times to an event the columns are relative_risk, where 2 is
    twice the hazard of all training rows, survival(time), the probability to survive that time without the
    event, and median_time, until which half have the event, empty where it is beyond the observed times.
    """
    check_exists(model, data)
    from holdfast.data.read import open_source
    from holdfast.data.read_options import is_parquet
    from holdfast.data.write import write_csv, write_file
    from holdfast.io.model_file import load, open_model
    from holdfast.runs.new_rows import is_text, read_features
    from holdfast.runs.settings import CellSettings
    from holdfast.tree.ensemble import Ensemble

    reading = CellSettings(**cells).reading_options
    if output == Path("-"):
        output = None
    if output is not None:
        is_parquet(output)  # raises for an unknown ending before any work
        check_output(output, model, data)
    with plain_warnings():
        path = model_file(model)
        stored = open_model(path)
        fitted, references = stored.model, stored.references_ if firmness else None
        if firmness and references is None:
            raise DataError(
                f"--firmness needs the reference trees of a stable tree, and '{model}' has none: fit it with "
                "holdfast fit, and save it with references=True."
            )
        with open_source(data, reading.encoding) as source:
            names = source.names
            features = read_features(source, fitted, reading, () if references is None else references.used)
        is_typed = output is not None and is_parquet(output)
        texts = [feature.name for feature in fitted.schema.columns if is_text(feature)] if is_typed else None
        threshold = None
        if isinstance(fitted, Ensemble) and fitted.votes:  # no other file is read twice
            threshold = getattr(load(path), "vote_threshold", None)
        if survival_at and not fitted.schema.target.is_survival:
            raise ParameterError(
                f"--survival-at is for times to an event, and '{model}' predicts "
                f"{fitted.schema.target.name!r}: leave it out."
            )
        added = predictions(fitted, features, threshold, survival_at)
        if references is not None:
            columns_of = references.firmness(cast("Tree", fitted), features).columns()
            hazard = fitted.schema.target.hazard  # the interval is that of survival to the horizon
            ahead = "" if hazard is None else f"survival({number_text(hazard.horizon)}) "
            added |= {
                f"{ahead if name in ('low', 'high') else ''}{name}": values.tolist()
                for name, values in columns_of.items()
                if name != "estimate"
            }
        columns = _read_cells(data, reading, texts)
        columns |= _rename(added, names)
    if output is not None:
        write_file(columns, output, raw=raw)
    else:
        write_csv(sys.stdout, columns, raw=raw)


def predictions(
    model: Tree | Ensemble,
    features: Frame,
    threshold: float | None = None,
    survival_at: Sequence[float] | None = None,
) -> dict[str, list[Any]]:
    """Return the prediction of each row and, of classes, the probability of each class.

    Of times to an event they are the relative risk, survival to the horizon or other times, and the median.
    """
    from holdfast.data.survival import median_times, survival_function
    from holdfast.ensembles.bagging import set_vote_threshold
    from holdfast.tree.rules import format_class_names
    from holdfast.tree.tree import Tree

    target = model.schema.target
    if isinstance(model, Tree):
        leaves = model.apply(features)
        values, classes = model.value[leaves], model.outcome[leaves]
    else:
        values = model.values(features)
        voting = model if threshold is None else set_vote_threshold(model, threshold)
        classes = voting.predict_indices(voting.values(features))
    if target.hazard is not None:
        risks, times = values[:, 0], survival_at or [target.hazard.horizon]
        survival = survival_function(target.hazard, risks, times)
        medians = [None if isinf(each) else each for each in median_times(target.hazard, risks).tolist()]
        return {
            "relative_risk": risks.tolist(),
            **{f"survival({number_text(time)})": survival[:, n].tolist() for n, time in enumerate(times)},
            "median_time": medians,
        }
    if not target.is_classes:
        return {"prediction": values[:, 0].tolist()}
    return {
        "prediction": [target.classes[index] for index in classes.tolist()],
        **{f"p({name})": values[:, index].tolist() for index, name in enumerate(format_class_names(target))},
    }


# -- columns ---------------------------------------------------------------------------------------------


def _read_cells(path: Path, reading: ReadingOptions, texts: Collection[str] | None) -> dict[str, list[Any]]:
    """Read all columns as they are written; or, if the columns of `texts` are known, in their types."""
    from holdfast.data.parquet import has_typed_columns, read_parquet_columns
    from holdfast.data.read import read_csv_records

    if has_typed_columns(path):
        frame = read_parquet_columns(path)
        return {name: column.to_list() for name, column in zip(frame.names, frame.columns, strict=True)}
    names, *rows = read_csv_records(path, reading.encoding)
    written = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    if texts is None:
        return written
    return {
        name: _typed_cells(name, cells, reading, is_text=name in texts) for name, cells in written.items()
    }


def _typed_cells(name: str, texts: list[str], reading: ReadingOptions, *, is_text: bool) -> list[Any]:
    """Return the cells of a column as numbers if all are, else as text, without loss of digits."""
    import numpy as np

    from holdfast.data.cells import MOST_DIGITS, Cells

    cells = Cells(name, reading)
    cells.extend(tuple(texts))
    if is_text:
        return list(cells.as_text())
    try:
        values = cells.as_column(None)
    except DataError:  # dates, infinity, numbers and words: the output has what is written
        return list(texts)
    whole = [text.strip() for text in texts if not reading.is_missing(text)]
    if (isinstance(values, np.ndarray) and values.dtype == object) or not all(
        map(_WHOLE_NUMBER.fullmatch, whole)
    ):
        return cast("list[Any]", values.tolist())
    if any(len(text) > MOST_DIGITS for text in whole):
        return list(texts)
    return [None if value != value else int(value) for value in values.tolist()]


def _rename(columns: dict[str, list[Any]], names: tuple[str, ...]) -> dict[str, list[Any]]:
    """Rename columns whose names are used already: prediction_2 beside a column prediction."""
    used, renamed = set(names), {}
    for name, values in columns.items():
        free = next(each for each in chain([name], (f"{name}_{n}" for n in count(2))) if each not in used)
        used.add(free)
        renamed[free] = values
    return renamed
