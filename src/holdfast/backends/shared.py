"""What many tasks need in one run after another."""


class Shared:
    """A value that never changes and that many tasks need: a cluster is sent it once, not with every task."""

    __slots__ = ()
