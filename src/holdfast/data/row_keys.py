"""Random draws keyed by row: what is drawn for a row depends on its values and the seed only.

The key of a row is a hash of its columns, in the order of their names, and of the digits of a numeric target.
Draws for a row stay the same when other rows are added or removed, and do not depend on the order of rows or
columns or on the names of the classes. Rows of a group share the key of its label and are drawn together.
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
CLASS_STEP = np.uint64(0xD1342543DE82EF95)  # between the keys of rows that differ in their class only
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # of splitmix64
_MISSING = np.uint64(0x7FF8000000000000)  # one NaN for all
_ALL_BITS = 2**64 - 1
MOST_SKETCHED = 1024  # row hashes that a model stores
LEADING_BITS = 12  # of a random number: a lookup table of 2**12 entries fits in the cache
_BLOCK = 2**13  # rows hashed at a time, within the processor's cache


def mix_bits(values: KeyArray) -> KeyArray:
    """Scramble the bits of each number, one to one: the finalizer of splitmix64.

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
    """Return a distinct key for every row.

    The first of equal rows has their hash, and each further copy adds a step; a row of weight 2 takes two
    steps, as two rows do. Equal rows are ordered by weight, then by position. Rows that differ in their class
    only are numbered class by class, the most frequent class first.

    >>> table = Table.from_arrays([[1.0], [2.0], [1.0]], ["no", "yes", "no"])
    >>> keys, others = row_keys(table), row_keys(table.subset(np.array([1, 2])))
    >>> (keys[2:] - keys[:1] == STEP).all(), (others[::-1] == keys[:2]).all()
    (np.True_, np.True_)
    """
    if table.known_keys is not None:
        return table.known_keys
    hashes = hash_rows(table)
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
    """Find the rows that share their hash with others."""
    in_order = np.sort(hashes)
    repeated = in_order[1:][in_order[1:] == in_order[:-1]]
    if len(repeated) == 0:
        return np.empty(0, np.int64)
    place = np.searchsorted(repeated, hashes).clip(max=len(repeated) - 1)
    return np.flatnonzero(repeated[place] == hashes)


def _since(counts: LongArray, is_start: BoolArray) -> KeyArray:
    """Return the counts since the last start."""
    return np.asarray(counts - counts[is_start][np.cumsum(is_start) - 1], np.uint64)


def unit_keys(table: Table, groups: LongArray | None) -> KeyArray:
    """Return the key of every row's group or, without groups, of the row itself."""
    return row_keys(table) if groups is None else np.asarray(groups, np.int64).view(np.uint64)


def group_copies(table: Table, copies: LongArray | None) -> LongArray | None:
    """Return the groups made of the copies of a row, by the key of the first; None if no row is a copy.

    `copies` are consecutive numbers from 0, equal for copies, of rows in the fixed order.
    """
    if copies is None:
        return None
    first = np.full(int(copies.max()) + 1, len(copies))
    np.minimum.at(first, copies, np.arange(len(copies)))
    keys: KeyArray = row_keys(table)[first]
    return keys[copies].view(np.int64)


def label_keys(labels: Sequence[Label]) -> KeyArray:
    """Return the key of every label of a group or a category, independent of the other labels.

    An integer is its own key; other labels are hashed as text.

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


def hash_rows(table: Table) -> KeyArray:
    """Return a hash of the values of every row, equal for equal rows; or the identity of the table.

    Numbers are hashed by value, categories by text; custom features follow from the columns. The mantissa of
    a numeric target is included; classes are not, since their names must not affect results.
    """
    if table.identity is not None:
        return table.identity
    features = table.schema.features
    places = [place for place in table.schema.name_order if features[place].kind != "custom"]
    cells = [(table.columns[place], make_codebook(features[place].categories)) for place in places]
    if table.survival is not None:
        cells += [(key, None) for key in table.survival.keys]
    elif not table.schema.target.is_classes:
        cells.append((np.frexp(table.target)[0], None))
    hashes = np.zeros(table.n_rows, np.uint64)
    for start in range(0, table.n_rows, _BLOCK):
        part = hashes[start : start + _BLOCK]
        for values, codebook in cells:
            part ^= encode_cells(np.asarray(values[start : start + _BLOCK], np.float64), codebook)
            part[:] = mix_bits(part) + STEP
    return hashes


def make_codebook(labels: Sequence[Label]) -> KeyArray | None:
    """Return the hashes of the categories, and last that of a missing value; None for numbers."""
    return np.append(label_keys(labels), _MISSING) if labels else None


def encode_cells(values: FloatArray, codebook: KeyArray | None) -> KeyArray:
    """Return 64 bits per value: those of a number, or those of the category in the codebook."""
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


# -- draws ---------------------------------------------------------------------------------------------------


def draw_bits(keys: KeyArray, stream: Stream) -> KeyArray:
    """Draw a random number of 64 bits for every key and stream."""
    return mix_bits(keys ^ np.uint64(stream_key(*stream)))


def draw_uniforms(keys: KeyArray, stream: Stream) -> FloatArray:
    """Draw a random number in [0, 1) for every key and stream.

    >>> draw_uniforms(np.array([7, 8, 7], np.uint64), (0, 1)).round(3)
    array([0.263, 0.695, 0.263])
    """
    return to_uniforms(draw_bits(keys, stream))


def to_uniforms(bits: KeyArray) -> FloatArray:
    """Convert random bits to numbers in [0, 1)."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw_poisson_counts(keys: KeyArray, stream: Stream, rate: float = 1.0) -> IntArray:
    """Draw how often each row is in a Poisson bootstrap sample, `rate` times on average.

    If no row were drawn, the rows with the greatest random number are, once.

    >>> draw_poisson_counts(np.arange(8, dtype=np.uint64), (0, 1))
    array([1, 0, 0, 2, 3, 1, 1, 0], dtype=int32)
    """
    counts: IntArray = draw_poisson_samples(keys, [stream], rate)[0]
    return counts


def draw_poisson_samples(keys: KeyArray, streams: Sequence[Stream], rate: float = 1.0) -> IntArray:
    """Draw the counts of `draw_poisson_counts` for every stream, one line each.

    >>> draw_poisson_samples(np.arange(8, dtype=np.uint64), [(0, 1), (0, 2)])
    array([[1, 0, 0, 2, 3, 1, 1, 0],
           [0, 1, 1, 0, 2, 0, 0, 1]], dtype=int32)
    """
    bits = mix_bits(keys ^ stream_keys(streams)[:, None])
    counts = _to_poisson(bits.ravel(), rate).reshape(bits.shape)
    for own, own_bits in zip(counts, bits, strict=True):
        if not own.any():
            drawn = to_uniforms(own_bits)
            own[drawn == drawn.max(initial=0.0)] = 1
    return counts


def _to_poisson(bits: KeyArray, rate: float) -> IntArray:
    """Convert random bits to counts; the leading bits almost always decide, by a lookup table."""
    leading = (bits >> np.uint64(64 - LEADING_BITS)).view(np.int64)
    counts: IntArray = _poisson_by_leading_bits(rate).take(leading)
    undecided = np.flatnonzero(counts < 0)
    counts[undecided] = np.searchsorted(_poisson_cdf(rate), to_uniforms(bits[undecided]), side="right")
    return counts


@lru_cache(64)
def _poisson_by_leading_bits(rate: float) -> IntArray:
    """Return the count of all random numbers with these leading bits; -1 if it differs among them."""
    n_beginnings = 2**LEADING_BITS
    lowest = np.arange(n_beginnings) / n_beginnings
    highest = lowest + (1 / n_beginnings - 2.0**-53)
    counts, others = (np.searchsorted(_poisson_cdf(rate), ends, side="right") for ends in (lowest, highest))
    return freeze(np.where(counts == others, counts, -1).astype(np.int32))


@lru_cache(64)
def _poisson_cdf(rate: float) -> FloatArray:
    """Return the probabilities of at most 0, 1, 2, ... draws, until they equal 1 in 53 bits."""
    chance, total = math.exp(-rate), 0.0
    chances: list[float] = []
    while (total := total + chance) < 1.0 - 2.0**-53 and len(chances) < rate + 40 * math.sqrt(rate + 1):
        chances.append(total)
        chance *= rate / len(chances)
    return freeze(np.array(chances))


def select_lowest(keys: KeyArray, stream: Stream, n_units: int) -> BoolArray:
    """Flag the `n_units` rows, or groups of rows with equal keys, with the lowest random numbers.

    When other rows are added or removed, only rows near the threshold change.

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
    """Draw a permutation: each row is replaced by the one before it in the order of their random numbers.

    When other rows are added or removed, only their neighbours in this order change.

    >>> permute_rows(np.arange(4, dtype=np.uint64), (0, 1))
    array([2, 3, 1, 0])
    """
    order = np.argsort(draw_bits(keys, stream), kind="stable")
    taken = np.empty(len(keys), np.int64)
    taken[order] = np.roll(order, 1)
    return taken


def find_unique_hashes(table: Table) -> KeyArray:
    """Return the hashes, target included, of rows that no other row equals; none if most rows have an equal.

    In a table of few categories, equal rows need not be the same observation.
    """
    found, counts = np.unique(hash_labelled_rows(table), return_counts=True)
    alone = found[counts == 1]
    return alone if len(alone) > table.n_rows / 2 else np.zeros(0, np.uint64)


def hash_labelled_rows(table: Table) -> KeyArray:
    """Return a hash of the values and the target of every row, equal for equal rows."""
    hashes = hash_rows(table)
    if table.schema.target.is_classes:
        hashes = mix_bits(hashes + label_keys(table.schema.target.classes)[table.target])
    return hashes


def make_sketch(hashes: KeyArray) -> KeyArray:
    """Return the smallest hashes, a random sample of constant size (a bottom-k sketch).

    They estimate which fraction of other rows is among these.
    """
    return np.unique(hashes)[:MOST_SKETCHED]


def estimate_sketch_share(hashes: KeyArray, sketch: KeyArray) -> float | None:
    """Estimate the fraction of the hashes that are among those of a sketch; None if it cannot be estimated.

    >>> sketch = make_sketch(np.arange(0, 10000, 2, dtype=np.uint64))
    >>> estimate_sketch_share(np.arange(1000, dtype=np.uint64), sketch)
    0.5
    """
    last = sketch[-1] if len(sketch) == MOST_SKETCHED else _ALL_BITS
    known = hashes[hashes <= last]
    return float(np.isin(known, sketch).mean()) if len(known) and len(sketch) else None
