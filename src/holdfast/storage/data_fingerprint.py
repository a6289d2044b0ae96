"""The fingerprint of rows: which data a model was updated on, without the data."""

import json
from hashlib import sha256

import numpy as np

from holdfast.data.split.row_keys import cell_bits, codebook_of
from holdfast.data.table import Table


def data_fingerprint(table: Table) -> str:
    """SHA-256 of what the rows say: columns, target and weights, in whatever order rows and columns stand.

    Numbers count by their value and categories by their text, so that a file of another format, or a wider
    schema, changes nothing. Questions follow from the columns.

    >>> table = Table.from_arrays([[1.0, "a"], [2.0, "b"]], ["no", "yes"])
    >>> data_fingerprint(table) == data_fingerprint(table.subset(np.array([1, 0])))
    True
    """
    features = table.schema.features
    places = [place for place in table.schema.name_order if features[place].kind != "question"]
    target = table.schema.target
    columns = [(table.columns[place], features[place].categories) for place in places]
    columns.append((table.target.astype(np.float64), target.classes))
    if table.weight is not None:
        columns.append((table.weight, ()))
    cells = [cell_bits(values, codebook_of(labels)) for values, labels in columns]
    rows = np.column_stack(cells).astype("<u8")
    kinds = [(features[place].name, "categories" if features[place].categories else "") for place in places]
    header = [*kinds, (target.name, "classes" if target.is_classes else ""), table.weight is not None]
    digest = sha256(json.dumps(header).encode())
    # A hash for each row, and these in their order: no two orders of the rows differ.
    digest.update(b"".join(sorted(sha256(row.tobytes()).digest() for row in rows)))
    return f"sha256:{digest.hexdigest()}"
