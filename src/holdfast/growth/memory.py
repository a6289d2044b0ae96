"""What growing a tree takes of memory: what its rows need, and what every leaf adds."""

from holdfast.errors import ParameterError
from holdfast.kernels.growth.criteria import Plan
from holdfast.kernels.growth.histogram import Coded
from holdfast.kernels.growth.nodes import N_FIELDS

NUMBER = 8  # bytes of one number
FINISHED = 80  # bytes of a node in a tree, apart from its values


def bytes_of_rows(coded: Coded, plan: Plan, n_rows: int) -> int:
    """Memory for the rows, one histogram, and the search for one split."""
    n_numbers = 1 if plan.n_classes else 3  # weight, and the sums of the target and its square
    of_row = NUMBER * n_numbers + 4 + 4 * 3 + NUMBER  # repetitions; row numbers, twice, and sides; sort keys
    n_features = len(coded.ranks)
    search = n_features * (256 + 9) * NUMBER + 17 * _widest(coded)
    return n_rows * of_row + search + bytes_of_histogram(coded, plan)


def bytes_of_histogram(coded: Coded, plan: Plan) -> int:
    """Memory for the statistics of every bin of every feature."""
    return int(coded.start[-1]) * plan.n_stats * NUMBER


def bytes_of_leaf(coded: Coded, plan: Plan) -> int:
    """Memory for one more leaf and inner node, while growing and in the tree."""
    of_node = 2 * (N_FIELDS + plan.n_stats + 1) * NUMBER + FINISHED + plan.n_stats * NUMBER
    return 2 * of_node + 2 * _widest(coded)


def count_leaves_in_memory(memory_limit: int, coded: Coded, plan: Plan, n_rows: int) -> int:
    """Count the leaves that fit in this many bytes; a ParameterError if too few do."""
    needed = bytes_of_rows(coded, plan, n_rows)
    n_leaves = (memory_limit - needed) // bytes_of_leaf(coded, plan)
    if n_leaves < 2:
        least = needed + 2 * bytes_of_leaf(coded, plan)
        raise ParameterError(
            f"memory_limit={memory_limit} is too small: {n_rows} rows of {len(coded.ranks)} features need "
            f"{least} bytes to be split once. Raise it, or grow on fewer rows or columns."
        )
    return n_leaves


def _widest(coded: Coded) -> int:
    """Return the greatest number of categories of a feature."""
    return int(coded.n_codes[coded.is_subset > 0].max(initial=0))
