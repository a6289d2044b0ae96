"""Reference trees in a model file: little-endian arrays of all trees, compressed, as one text in base64."""

import zlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from holdfast._arrays import BoolArray, IntArray
from holdfast.data.schema import Schema
from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.explain.firmness import SPLITS, ReferenceTrees, make_bare_tree
from holdfast.io.document import ReferencesPart
from holdfast.tree.check import SetSizes, check_features, check_nodes, check_schema
from holdfast.tree.tree import LEAF

# Bytes that a part may have when decompressed, and so many more for every byte of its text: deflate makes at
# most 1,032 bytes of one, and the arrays of a tree, as Python has them, take far more than those of a file.
LEAST, FACTOR = 2**20, 32
TREE = 4096  # bytes that a tree of one leaf takes
PLACE = "references"


def pack_references(references: ReferenceTrees) -> ReferencesPart:
    """Pack the trees."""
    trees, schema = references.trees, references.schema
    feature = np.concatenate([tree.feature for tree in trees])
    inner = feature != LEAF
    threshold = np.concatenate([tree.threshold for tree in trees])
    levels, number = np.unique(threshold[~np.isnan(threshold)], return_inverse=True)
    value = np.concatenate([tree.value for tree in trees])
    if schema.target.is_classes:
        value = value[:, :-1].astype("<f4")  # the last makes up the sum
    arrays: list[NDArray[Any]] = [
        np.array([len(levels)], "<i4"),
        np.array([tree.n_nodes for tree in trees], "<i4"),
        feature.astype("<i4"),
        levels.astype("<f8"),
        number.astype("<i4"),
        np.packbits(np.concatenate([tree.missing_left for tree in trees])[inner]),
        np.packbits(np.concatenate([tree.in_set for tree in trees])),
        value.astype(value.dtype.newbyteorder("<")),
    ]
    arrays += [np.packbits(np.concatenate(flags)[inner]) for flags in references.smaller.values()]
    packed = b"".join(map(_interleave, arrays))
    text = b64encode(zlib.compress(packed, 9)).decode("ascii")
    return ReferencesPart(n_trees=len(trees), sizes=tuple(map(int, references.smaller)), packed=text)


def _interleave(array: NDArray[Any]) -> bytes:
    """Put the first bytes of all numbers before their second bytes, and so on: they compress better."""
    single = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return single.reshape(-1, array.dtype.itemsize).T.tobytes()


def unpack_references(part: ReferencesPart, schema: Schema, max_flags: int) -> ReferenceTrees:
    """Build the trees of a part on a schema, each checked in full; a ModelFileError if one is not sound."""
    try:
        check_schema(schema)
        return _unpack(part, schema, max_flags)
    except BrokenTreeError as error:
        raise ModelFileError(f"at {PLACE}: {error}") from error


def _unpack(part: ReferencesPart, schema: Schema, max_flags: int) -> ReferenceTrees:
    reader = _Reader(_decompress(part.packed))
    n_classes = len(schema.target.classes)
    if not 0 < part.n_trees <= max_flags // TREE:
        raise ModelFileError(f"at {PLACE}.n_trees: {part.n_trees} trees are too many for the file.")
    if len(set(part.sizes)) < len(part.sizes):
        raise ModelFileError(f"at {PLACE}.sizes: a size is there twice.")
    n_levels = int(reader.take(1, "<i4")[0])
    sizes = reader.take(part.n_trees, "<i4").astype(np.int64)
    if (sizes < 1).any() or sizes.sum() > reader.n_left:
        raise ModelFileError(
            f"at {PLACE}: its trees have {sizes.sum()} nodes, and {reader.n_left} bytes are left."
        )
    n_nodes = int(sizes.sum())
    if n_nodes * len(part.sizes) > max_flags:
        raise ModelFileError(f"at {PLACE}.sizes: {len(part.sizes)} sizes of {n_nodes} nodes are too many.")
    feature = reader.take(n_nodes, "<i4").astype(np.int32)
    check_features(schema, feature)
    set_sizes = SetSizes.of(schema)
    inner = feature != LEAF
    has_set, lengths = set_sizes.of_nodes(feature)
    levels = reader.take(n_levels, "<f8").astype(np.float64)
    if lengths.sum() > max_flags:
        raise BrokenTreeError(f"its sets need {lengths.sum()} flags: the limit is {max_flags}.")
    has_threshold = inner & ~has_set
    number = reader.take(int(has_threshold.sum()), "<i4")
    if ((number < 0) | (number >= len(levels))).any():
        raise ModelFileError(f"at {PLACE}: a threshold is beyond the {len(levels)} that there are.")
    threshold = np.full(n_nodes, np.nan)
    threshold[has_threshold] = levels[number]
    missing_left = reader.take_flags(inner)
    in_set = reader.take_bits(int(lengths.sum()))
    if n_classes:
        first = reader.take(n_nodes * (n_classes - 1), "<f4").astype(np.float64).reshape(n_nodes, -1)
        value = np.column_stack([first, np.maximum(1.0 - first.sum(axis=1), 0.0)])
    else:
        value = reader.take(n_nodes, "<f8").astype(np.float64)[:, None]
    smaller = {size: reader.take_flags(inner) | ~inner for size in part.sizes}
    if reader.n_left:
        raise ModelFileError(f"at {PLACE}: {reader.n_left} bytes are left over.")
    ends = np.cumsum(sizes)
    flag_ends = np.append(0, np.cumsum(lengths))
    trees = []
    for begin, end in zip((ends - sizes).tolist(), ends.tolist(), strict=True):
        own = slice(begin, end)
        left, right = _find_children(feature[own])
        set_start = np.where(has_set[own], flag_ends[begin:end] - flag_ends[begin], -1)
        flags_of = in_set[flag_ends[begin] : flag_ends[end]]
        arrays = (feature[own], threshold[own], left, right, missing_left[own], set_start, flags_of)
        splits = dict(zip(SPLITS, arrays, strict=True))
        tree = make_bare_tree(schema, splits, value[own])
        check_nodes(tree, set_sizes)
        trees.append(tree)
    flags = {size: tuple(np.split(each, ends[:-1])) for size, each in smaller.items()}
    return ReferenceTrees(tuple(trees), flags)


def _find_children(feature: IntArray) -> tuple[IntArray, IntArray]:
    """Find the children of nodes in preorder, which the splits and leaves alone determine."""
    right = np.full(len(feature), LEAF, np.int32)
    open_splits: list[int] = []
    for node, number in enumerate(feature.tolist()):
        if node and feature[node - 1] == LEAF:
            if not open_splits:
                raise BrokenTreeError(f"a tree of {len(feature)} nodes is complete after node {node - 1}.")
            right[open_splits.pop()] = node
        if number != LEAF:
            open_splits.append(node)
    if open_splits:
        raise BrokenTreeError(
            f"a tree ends after {len(feature)} nodes, and {len(open_splits)} branches are missing."
        )
    left = np.where(feature == LEAF, LEAF, np.arange(1, len(feature) + 1)).astype(np.int32)
    return left, right


def _decompress(text: str) -> bytes:
    """Decompress the text, up to a size in proportion to its own."""
    limit = LEAST + FACTOR * len(text)
    decompress = zlib.decompressobj()
    try:
        packed = decompress.decompress(b64decode(text, validate=True), limit)
    except (Base64Error, ValueError, zlib.error) as error:
        raise ModelFileError(f"at {PLACE}.packed: it cannot be unpacked ({error}).") from error
    if decompress.unconsumed_tail or not decompress.eof or decompress.unused_data:
        why = (
            f"it has more than {limit} bytes"
            if decompress.unconsumed_tail
            else "its end is missing, or more follows"
        )
        raise ModelFileError(f"at {PLACE}.packed: {why}.")
    return packed


class _Reader:
    """Takes arrays from bytes, one after the other; a ModelFileError where they end too early."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    @property
    def n_left(self) -> int:
        return len(self._data) - self._place

    def take(self, n: int, kind: DTypeLike) -> NDArray[Any]:
        """Take n numbers, whose bytes are interleaved."""
        dtype = np.dtype(kind)
        if not 0 <= n * dtype.itemsize <= self.n_left:
            raise ModelFileError(
                f"at {PLACE}.packed: {n * dtype.itemsize} bytes are needed, and {self.n_left} left."
            )
        end = self._place + n * dtype.itemsize
        planes = np.frombuffer(self._data[self._place : end], np.uint8).reshape(dtype.itemsize, n)
        self._place = end
        return np.ascontiguousarray(planes.T).reshape(-1).view(dtype)

    def take_bits(self, n: int) -> BoolArray:
        """Take n flags, eight to a byte."""
        return np.unpackbits(self.take(-(-n // 8), np.uint8), count=n).astype(np.bool_)

    def take_flags(self, nodes: BoolArray) -> BoolArray:
        """Take a flag for each of these nodes; the others have none."""
        flags = np.zeros(len(nodes), np.bool_)
        flags[nodes] = self.take_bits(int(nodes.sum()))
        return flags
