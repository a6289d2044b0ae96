"""Chance keyed by the row: what is drawn for a row follows from the row itself, and from the seed.

The key of a row is a hash of what it says: its columns in the order of their names, and the digits of a
number to predict. Rows that stay keep what was drawn for them when others come or go, and neither the order
of the rows, nor that of the columns, nor the names of the classes matter. Rows with one key are drawn
together: those of a group have the key of its label.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, KeyArray, LongArray, freeze
from holdfast._random import Stream, stream_key, stream_keys
from holdfast.data.row_order import make_target_key
from holdfast.data.schema import Label
from holdfast.data.table import Table
from holdfast.data.target import are_repetitions

STEP = np.uint64(0x9E3779B97F4A7C15)  # between the keys of one copy of a row and the next
CLASS_STEP = np.uint64(0xD1342543DE82EF95)  # between those of rows that differ in nothing but their class
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # of splitmix64
_MISSING = np.uint64(0x7FF8000000000000)  # one NaN for all
_ALL_BITS = 2**64 - 1
MOST_SKETCHED = 1024  # hashes of rows, that a model remembers
LEADING_BITS = 12  # of a random number: so many beginnings are a table that fits in the cache
_BLOCK = 2**13  # rows hashed at a time, which stay in the processor's cache


def mix_bits(values: KeyArray) -> KeyArray:
    """Each number as another one, one to one, every bit of which depends on all: the end of splitmix64.

    >>> mix_bits(np.arange(3, dtype=np.uint64))
    array([                   0,  6238072747940578789, 15839785061582574730],
          dtype=uint64)
    """
    mixed = values ^ (values >> np.uint64(30))
    mixed *= _FACTORS[0]
    mixed ^= mixed >> np.uint64(27)
    mixed *= _FACTORS[1]
    mixed ^= mixed >> np.uint64(31)
    return mixed


# -- keys ----------------------------------------------------------------------------------------------------


def row_keys(table: Table) -> KeyArray:
    """The key of every row, a number of its own.

    Of rows that say the same, the first has their hash, and each copy more is a step further on; a row of the
    weight 2 takes two steps, as two rows do. Which of them comes first goes by the weight, then by the place.
    Rows that differ in their class alone have copies of their own, those of the most frequent class first.

    >>> table = Table.from_arrays([[1.0], [2.0], [1.0]], ["no", "yes", "no"])
    >>> keys, others = row_keys(table), row_keys(table.subset(np.array([1, 2])))
    >>> (keys[2:] - keys[:1] == STEP).all(), (others[::-1] == keys[:2]).all()
    (np.True_, np.True_)
    """
    if table.known_keys is not None:
        return table.known_keys
    hashes = row_hashes(table)
    shared = _shared(hashes)
    if len(shared) == 0:
        return hashes
    target = make_target_key(table) if table.schema.target.is_classes else np.zeros(table.n_rows)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    order = shared[np.lexsort((weight[shared], target[shared], hashes[shared]))]
    says_more = np.append(True, np.diff(hashes[order]) != 0)
    is_new = says_more | np.append(True, np.diff(target[order]) != 0)
    repeats = _repeats(table.weight, table.n_rows)[order]
    keys = hashes.copy()
    keys[order] += _since(np.cumsum(repeats) - repeats, is_new) * STEP
    keys[order] += _since(np.cumsum(is_new), says_more) * CLASS_STEP
    return keys


def _shared(hashes: KeyArray) -> LongArray:
    """The rows that have their hash in common with others."""
    in_order = np.sort(hashes)
    repeated = in_order[1:][in_order[1:] == in_order[:-1]]
    if len(repeated) == 0:
        return np.empty(0, np.int64)
    place = np.searchsorted(repeated, hashes).clip(max=len(repeated) - 1)
    return np.flatnonzero(repeated[place] == hashes)


def _since(counts: LongArray, is_start: BoolArray) -> KeyArray:
    """What was counted since the last start."""
    return np.asarray(counts - counts[is_start][np.cumsum(is_start) - 1], np.uint64)


def unit_keys(table: Table, groups: LongArray | None) -> KeyArray:
    """The key of every row's group or, without groups, of the row itself."""
    return row_keys(table) if groups is None else np.asarray(groups, np.int64).view(np.uint64)


def group_copies(table: Table, copies: LongArray | None) -> LongArray | None:
    """Copies of a row as a group, whose number is the key of the first; None if no row is a copy.

    `copies` are numbers from 0 that copies share, none left out, of rows in a fixed order.
    """
    if copies is None:
        return None
    first = np.full(int(copies.max()) + 1, len(copies))
    np.minimum.at(first, copies, np.arange(len(copies)))
    keys: KeyArray = row_keys(table)[first]
    return keys[copies].view(np.int64)


def label_keys(labels: Sequence[Label]) -> KeyArray:
    """The key of every label, of a group or a category, whatever other labels there are.

    An integer is its own key; of anything else the text is hashed.

    >>> bool(label_keys(["ann", "bob"])[1] == label_keys(["bob"])[0])
    True
    """
    keys = [_label_hash(label) for label in labels]
    return np.array(keys, np.uint64)


def _label_hash(label: Label) -> int:
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    if isinstance(label, int) and not isinstance(label, bool) and -(2**63) <= label < 2**64:
        return label & _ALL_BITS
    return int.from_bytes(blake2b(str(label).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def row_hashes(table: Table) -> KeyArray:
    """A hash of what every row says, the same for equal rows; or the identity that the table was given.

    Numbers count by their value, categories by their text. Questions follow from the columns. Of the target a
    number counts, but for the power of two that it is scaled by; classes are left out, since their names
    should decide nothing.
    """
    if table.identity is not None:
        return table.identity
    features = table.schema.features
    asked = [place for place in table.schema.name_order if features[place].kind != "question"]
    cells = [(table.columns[place], make_codebook(features[place].categories)) for place in asked]
    if not table.schema.target.is_classes:
        cells.append((np.frexp(table.target)[0], None))
    hashes = np.zeros(table.n_rows, np.uint64)
    for start in range(0, table.n_rows, _BLOCK):
        part = hashes[start : start + _BLOCK]
        for values, codebook in cells:
            part ^= cell_bits(np.asarray(values[start : start + _BLOCK], np.float64), codebook)
            part[:] = mix_bits(part) + STEP
    return hashes


def make_codebook(labels: Sequence[Label]) -> KeyArray | None:
    """The hashes of the categories, and that of a missing one last; None for numbers."""
    return np.append(label_keys(labels), _MISSING) if labels else None


def cell_bits(values: FloatArray, codebook: KeyArray | None) -> KeyArray:
    """The values of a column as 64 bits each: of numbers their own, of categories those of the codebook."""
    missing = np.isnan(values)
    if codebook is not None:
        return codebook[np.where(missing, -1.0, values).astype(np.int64)]
    bits = (values + 0.0).view(np.uint64)  # -0.0 is 0.0
    bits[missing] = _MISSING
    return bits


def _repeats(weight: FloatArray | None, n_rows: int) -> LongArray:
    if weight is None:
        return np.ones(n_rows, np.int64)
    return (weight if are_repetitions(weight) else weight > 0).astype(np.int64)


# -- what is drawn -------------------------------------------------------------------------------------------


def draw_bits(keys: KeyArray, stream: Stream) -> KeyArray:
    """A random number of 64 bits for every key, another one in every stream; of other keys, another one."""
    return mix_bits(keys ^ np.uint64(stream_key(*stream)))


def draw_uniforms(keys: KeyArray, stream: Stream) -> FloatArray:
    """A random number from 0 to 1, 1 excluded, for every key, another one in every stream.

    >>> draw_uniforms(np.array([7, 8, 7], np.uint64), (0, 1)).round(3)
    array([0.263, 0.695, 0.263])
    """
    return to_uniforms(draw_bits(keys, stream))


def to_uniforms(bits: KeyArray) -> FloatArray:
    """Random bits as numbers from 0 to 1, 1 excluded."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw_poisson_counts(keys: KeyArray, stream: Stream, rate: float = 1.0) -> IntArray:
    """How often each row is drawn if all are drawn apart from each other, `rate` times on average.

    That is a bootstrap sample whose size is left to chance. Where none would be drawn, the rows with the
    greatest random number are, once.

    >>> draw_poisson_counts(np.arange(8, dtype=np.uint64), (0, 1))
    array([1, 0, 0, 2, 3, 1, 1, 0], dtype=int32)
    """
    counts: IntArray = draw_poisson_samples(keys, [stream], rate)[0]
    return counts


def draw_poisson_samples(keys: KeyArray, streams: Sequence[Stream], rate: float = 1.0) -> IntArray:
    """The counts of `draw_poisson_counts` in every stream, one row for each.

    >>> draw_poisson_samples(np.arange(8, dtype=np.uint64), [(0, 1), (0, 2)])
    array([[1, 0, 0, 2, 3, 1, 1, 0],
           [0, 1, 1, 0, 2, 0, 0, 1]], dtype=int32)
    """
    bits = mix_bits(keys ^ stream_keys(streams)[:, None])
    counts = _poisson_of(bits.ravel(), rate).reshape(bits.shape)
    for own, own_bits in zip(counts, bits, strict=True):
        if not own.any():
            drawn = to_uniforms(own_bits)
            own[drawn == drawn.max(initial=0.0)] = 1
    return counts


def _poisson_of(bits: KeyArray, rate: float) -> IntArray:
    """The counts that random bits stand for; the leading ones almost always tell, which is soon looked up."""
    leading = (bits >> np.uint64(64 - LEADING_BITS)).view(np.int64)
    counts: IntArray = _poisson_by_leading_bits(rate).take(leading)
    untold = np.flatnonzero(counts < 0)
    counts[untold] = np.searchsorted(_poisson_cdf(rate), to_uniforms(bits[untold]), side="right")
    return counts


@lru_cache(64)
def _poisson_by_leading_bits(rate: float) -> IntArray:
    """The count for all random numbers that begin with the same bits; -1 where they have several."""
    n_beginnings = 2**LEADING_BITS
    lowest = np.arange(n_beginnings) / n_beginnings
    highest = lowest + (1 / n_beginnings - 2.0**-53)
    counts, others = (np.searchsorted(_poisson_cdf(rate), ends, side="right") for ends in (lowest, highest))
    return freeze(np.where(counts == others, counts, -1).astype(np.int32))


@lru_cache(64)
def _poisson_cdf(rate: float) -> FloatArray:
    """The chances of at most 0, 1, 2, ... draws, as far as a random number can tell them from 1."""
    chance, total = math.exp(-rate), 0.0
    chances: list[float] = []
    while (total := total + chance) < 1.0 - 2.0**-53 and len(chances) < rate + 40 * math.sqrt(rate + 1):
        chances.append(total)
        chance *= rate / len(chances)
    return freeze(np.array(chances))


def select_lowest(keys: KeyArray, stream: Stream, n_units: int) -> BoolArray:
    """True for so many rows, or groups of rows with one key: those with the lowest random numbers.

    When other rows come or go, only rows at the border change sides.

    >>> select_lowest(np.arange(6, dtype=np.uint64), (0, 1), 2)
    array([False,  True,  True, False, False, False])
    """
    drawn = draw_bits(keys, stream)
    in_order = np.sort(drawn)
    border = np.flatnonzero(np.append(True, np.diff(in_order) != 0))
    if n_units >= len(border):
        return np.ones(len(keys), np.bool_)
    return np.asarray(drawn < in_order[border[n_units]], np.bool_)


def permute_rows(keys: KeyArray, stream: Stream) -> LongArray:
    """For every row the row whose place it takes: the one before it in the order of their random numbers.

    The first takes that of the last. When other rows come or go, only their neighbours in this order change.

    >>> permute_rows(np.arange(4, dtype=np.uint64), (0, 1))
    array([2, 3, 1, 0])
    """
    order = np.argsort(draw_bits(keys, stream), kind="stable")
    taken = np.empty(len(keys), np.int64)
    taken[order] = np.roll(order, 1)
    return taken


def unique_hashes(table: Table) -> KeyArray:
    """Hashes of the rows, target included, that no other row equals; none if most rows have an equal.

    Where rows are often alike, as in a table of few categories, an equal row need not be the same one.
    """
    found, counts = np.unique(labelled_hashes(table), return_counts=True)
    alone = found[counts == 1]
    return alone if len(alone) > table.n_rows / 2 else np.zeros(0, np.uint64)


def labelled_hashes(table: Table) -> KeyArray:
    """A hash of what every row says, target included: the same for equal rows, whatever their order."""
    hashes = row_hashes(table)
    if table.schema.target.is_classes:
        hashes = mix_bits(hashes + label_keys(table.schema.target.classes)[table.target])
    return hashes


def make_sketch(hashes: KeyArray) -> KeyArray:
    """The least of the hashes: as good as drawn at random, and the same ones whatever else is there.

    They tell which fraction of rows is given again, and take the same room for any number of rows.
    """
    return np.unique(hashes)[:MOST_SKETCHED]


def estimate_sketch_share(hashes: KeyArray, sketch: KeyArray) -> float | None:
    """The fraction of the hashes that are among those that a sketch was made of, about; None if none tells.

    >>> sketch = make_sketch(np.arange(0, 10000, 2, dtype=np.uint64))
    >>> estimate_sketch_share(np.arange(1000, dtype=np.uint64), sketch)
    0.5
    """
    last = sketch[-1] if len(sketch) == MOST_SKETCHED else _ALL_BITS
    known = hashes[hashes <= last]
    return float(np.isin(known, sketch).mean()) if len(known) and len(sketch) else None
