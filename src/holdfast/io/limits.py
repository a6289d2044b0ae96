"""What a model file may ask for: memory in proportion to its bytes, known before it is taken."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import asdict

from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.io.document import (
    FORMS,
    Document,
    EnsembleDocument,
    MemberPart,
    NodesPart,
    TreeDocument,
    TreePart,
    holds_text,
    n_entries,
    pieces,
)

# A model may take so many bytes, and so many more for every byte of its file. Few letters can ask for a lot:
# a text of one letter takes 64 bytes, and a tree of one leaf 4,096.
LEAST, FACTOR = 64 * 2**20, 8
TEXT, LABEL, TREE, ENTRY = 64, 128, 4096, 64
FLAGS_FACTOR = 4  # the same for the flags of sets of categories, of which prediction makes a second copy


def check_texts(data: bytes) -> None:
    """Raise a ModelFileError if the file holds more texts, keys included, than its size allows."""
    _raise_for_excess(len(data), data.count(b'"') // 2, TEXT, "texts")


def check_estimator(part: msgspec.Raw | msgspec.UnsetType) -> None:
    """Raise a ModelFileError if the part of the estimator has more entries than its size allows."""
    if part is not msgspec.UNSET:
        text = bytes(part)
        _raise_for_excess(len(text), text.count(b",") + text.count(b"["), ENTRY, "entries of an estimator")


def check_document(document: Document, n_bytes: int) -> None:
    """Raise a ModelFileError unless the document is worth reading on: its arrays are still unread.

    It must have no more trees and labels than its size allows, and one entry per node in every array.
    """
    n_trees = 1 if isinstance(document, TreeDocument) else len(document.trees)
    _raise_for_excess(n_bytes, n_trees, TREE, "trees")
    _raise_for_excess(n_bytes, _n_labels(document), LABEL, "categories and classes")
    for place, nodes in nodes_of(document):
        _check_lengths(nodes, place)
    if isinstance(document, EnsembleDocument):
        _check_numbers_of_trees(document)


def nodes_of(document: Document) -> Iterator[tuple[str, NodesPart]]:
    """The nodes of every tree, and where they stand."""
    if isinstance(document, TreeDocument):
        yield "nodes", document.nodes
        return
    trees: Sequence[TreePart | MemberPart] = document.trees
    for position, tree in enumerate(trees):
        yield f"trees[{position}].nodes", tree.nodes


def max_flags(n_bytes: int) -> int:
    """Number of flags that the sets of categories of a file of this size may have in all."""
    return LEAST + FLAGS_FACTOR * n_bytes


def check_flags(n_flags: int, n_bytes: int) -> None:
    """Raise a BrokenTreeError if a model has more flags than a file of its size may."""
    if n_flags > max_flags(n_bytes):
        raise BrokenTreeError(
            f"the sets of categories need {n_flags} flags, and a file of {n_bytes} bytes may have "
            f"{max_flags(n_bytes)}: columns with fewer categories, or smaller trees, need fewer."
        )


def _raise_for_excess(n_bytes: int, number: int, each: int, what: str) -> None:
    limit = LEAST + FACTOR * n_bytes
    if number * each > limit:
        raise ModelFileError(
            f"it holds {number} {what}, too many for its {n_bytes} bytes: they would take {number * each} "
            f"bytes of memory, and the limit is {limit}."
        )


def _n_labels(document: Document) -> int:
    schema = document.schema
    number = sum(len(feature.categories) for feature in schema.features) + len(schema.target.classes)
    number += _n_edited_labels(document)
    if isinstance(document, EnsembleDocument):
        number += sum(len(tree.target.classes) for tree in document.trees if tree.target)
    return number


def _n_edited_labels(document: Document) -> int:
    """Categories, classes and fractions that edits speak of."""
    of_trees = [document.edits] if isinstance(document, TreeDocument) else [t.edits for t in document.trees]
    nodes = [
        node
        for edits in of_trees
        if edits is not msgspec.UNSET
        for edit in edits
        for node in (edit.before, edit.after)
    ]
    return sum(len(node.categories or ()) + len(node.classes) + len(node.value) for node in nodes)


def _check_numbers_of_trees(document: EnsembleDocument) -> None:
    for name in ("weights", "outputs"):
        if (length := n_entries(getattr(document, name), FORMS[name])) != len(document.trees):
            raise ModelFileError(f"{name} has {length} numbers: there are {len(document.trees)} trees.")


def _check_lengths(nodes: NodesPart, place: str) -> None:
    n_nodes = n_entries(nodes.feature, FORMS["feature"])
    for name, array in asdict(nodes).items():
        if array is msgspec.UNSET:
            continue
        if holds_text(array):
            for _ in pieces(array, FORMS[name], f"{place}.{name}"):
                pass  # it says which entry is text
        # Rows that lack values are listed by leaf and feature, of which there may be any number.
        if name != "not_recorded" and (length := n_entries(array, FORMS[name])) != n_nodes:
            raise ModelFileError(f"at {place}: {name} has {length} nodes and feature has {n_nodes}.")
