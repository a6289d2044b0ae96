"""The columns that a node draws, in plain Python: the smallest hashes of seed, path and name first."""

import hashlib
from collections.abc import Sequence

FULL = 2**32


def mixed(x: int) -> int:
    """A hash of 32 bits."""
    x = (x ^ x >> 16) * 0x2C1B3C6D % FULL
    x = (x ^ x >> 12) * 0x297A2D39 % FULL
    return x ^ x >> 15


def text_hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")


def name_hash(name: str) -> int:
    """Columns that are called by their number have one hash with an x and without."""
    number = name.removeprefix("x")
    return text_hash(number if number.isdecimal() else name)


def node_seed(seed: int, path: str) -> int:
    """The seed of the node that a path such as "LLR" leads to."""
    own = mixed(seed % FULL)
    for side in path:
        own = mixed((own + 1 + "LR".index(side)) % FULL)
    return own


def column_order(names: Sequence[str], seed: int, path: str = "") -> list[str]:
    """The columns in the order in which the node draws them."""
    own = node_seed(seed, path)
    return sorted(names, key=lambda name: (mixed(own ^ name_hash(name)), name))
