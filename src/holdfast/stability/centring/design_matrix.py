"""The columns of a table as numbers for models that add them up."""

import numpy as np

from holdfast.arrays import FloatArray, KeyArray, scaled
from holdfast.data.split.row_keys import lowest
from holdfast.data.table import Table
from holdfast.random_streams import Stream
from holdfast.tree.quantile import weighted_quantile

MOST_DEVIATIONS = 3.0  # values further out are taken for as far
N_LANDMARKS = 150
WIDTH = 0.3  # of the kernel: times the squared distance, divided by the number of features


def design_matrix(table: Table) -> FloatArray:
    """The features in the order of their names: ranges standardised and clipped, one column a category.

    Where a value is missing the median stands, and a column more says so. Ordered categories count as
    numbers; answers to questions as 0 and 1.

    >>> table = Table.from_arrays([[1.0, "a"], [3.0, "b"]], ["no", "yes"])
    >>> design_matrix(table).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """
    parts: list[FloatArray] = []
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    for place in table.schema.name_order:
        feature, column = table.schema.features[place], table.columns[place]
        if feature.is_subset:
            parts += [(column == code).astype(np.float64) for code in range(len(feature.categories))]
            continue
        missing = np.isnan(column)
        if missing.all():
            continue
        middle = weighted_quantile(column[~missing], weight[~missing], 0.5) if missing.any() else 0.0
        values, _ = scaled(np.where(missing, middle, column))
        mean = np.average(values, weights=weight)
        spread = np.sqrt(np.average((values - mean) ** 2, weights=weight))
        if spread > 0:
            parts.append(np.clip((values - mean) / spread, -MOST_DEVIATIONS, MOST_DEVIATIONS))
        if missing.any():
            parts.append(missing.astype(np.float64))
    return np.column_stack(parts) if parts else np.zeros((table.n_rows, 1))


def kernel_features(matrix: FloatArray, keys: KeyArray, stream: Stream, n_features: int) -> FloatArray:
    """How alike each row is to some of the rows, the landmarks: Nystroem's features of a Gaussian kernel.

    The landmarks are drawn by the keys of the rows, so that most of them stay when others come or go.
    """
    drawn = lowest(keys, stream, min(N_LANDMARKS, max(len(keys) // 2, 1)))
    landmarks = matrix[drawn][:N_LANDMARKS]
    gamma = WIDTH / max(n_features, 1)
    values, vectors = np.linalg.eigh(_alike(landmarks, landmarks, gamma))
    kept = values > 1e-8 * values.max()
    basis = vectors[:, kept] / np.sqrt(values[kept])
    return np.asarray(_alike(matrix, landmarks, gamma) @ basis, np.float64)


def _alike(a: FloatArray, b: FloatArray, gamma: float) -> FloatArray:
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None] - 2.0 * a @ b.T
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)), np.float64)
