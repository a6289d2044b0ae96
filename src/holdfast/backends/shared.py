"""What many tasks need in one run after another."""


class Shared:
    """An immutable value that many tasks need; a cluster receives it once."""

    __slots__ = ()
