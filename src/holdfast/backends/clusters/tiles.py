"""The process that calls: it cuts tiles of the items, and takes in their results as they come."""

import pickle
from collections import deque
from collections.abc import Callable, Generator, Hashable, Sequence
from math import ceil
from typing import Any, TypeVar
from uuid import uuid4

from holdfast.backends.clusters.cluster import Cluster, LostError
from holdfast.backends.clusters.tile import TileReply, make_order
from holdfast.errors import ClusterError

TILE_SECONDS = 0.05  # the least that a tile should take: sending one costs some milliseconds
SECONDS_A_SLOT = 0.002  # of work in a tile for every slot, so that this process keeps up with all of them
AHEAD = 2  # tiles per slot that are on their way, so that no worker waits for the next
MOST_LOSSES = 3  # in a row, before the cluster counts as lost

_T = TypeVar("_T")
_R = TypeVar("_R")


def run_tiles(
    cluster: Cluster, task: Callable[[_T], _R], items: Sequence[_T], n_jobs: int | None
) -> Generator[tuple[int, _R], None, None]:
    """Iterate over places and results as they arrive.

    The task, and what it shares with others, is sent once. Its items go out in tiles whose length follows
    from how long the last ones took. A tile that gets lost with a worker is sent again.
    """
    run, n_slots = uuid4().hex, n_jobs if n_jobs is not None and n_jobs > 0 else cluster.n_slots()
    waiting, under_way, size, losses = deque(range(len(items))), dict[Hashable, tuple[list[int], int]](), 1, 0
    try:
        while waiting or under_way:
            while waiting and len(under_way) < AHEAD * n_slots:
                places = [waiting.popleft() for _ in range(min(size, len(waiting)))]
                future = _submitted(cluster, run, task, [items[place] for place in places])
                under_way[future] = places, cluster.sent.times_lost
            future = cluster.next_done()
            places, times_lost = under_way.pop(future)
            try:
                reply = _reply(cluster, future)
            except LostError as error:
                waiting.extendleft(reversed(places))
                if times_lost == cluster.sent.times_lost:  # or else all has been sent again already
                    losses += 1
                    _check_losses(losses, error)
                    cluster.sent.forget()
                continue
            losses, size = 0, _tile_size(reply.seconds / len(places), len(waiting), n_slots)
            yield from zip(places, reply.results, strict=True)
    finally:
        if under_way:
            cluster.stop(run, list(under_way))


def _submitted(cluster: Cluster, run: str, task: Any, items: Sequence[Any]) -> Hashable:
    parts = cluster.sent.part(task, cluster.put).flat()
    return cluster.submit(make_order(run, list(parts), items), list(parts.values()))


def _reply(cluster: Cluster, future: Any) -> TileReply:
    """Return the reply of a tile; raise the error of its task."""
    reply: TileReply = pickle.loads(cluster.reply(future))
    if reply.error is not None:
        raise reply.error
    return reply


def _check_losses(losses: int, error: LostError) -> None:
    if losses > MOST_LOSSES:
        raise ClusterError(
            f"The cluster lost what it was sent {losses} times in a row: its workers die at once ({error})."
        ) from error


def _tile_size(seconds: float, n_waiting: int, n_slots: int) -> int:
    """Choose the number of items of the next tile: worth its cost, but no worker runs idle.

    >>> _tile_size(0.01, 1000, 2), _tile_size(0.01, 1000, 100), _tile_size(3.0, 1000, 2)
    (5, 5, 1)
    >>> _tile_size(0.01, 100_000, 100)
    20
    """
    seconds = max(seconds, 1e-6)
    least, wanted = ceil(TILE_SECONDS / seconds), ceil(SECONDS_A_SLOT * n_slots / seconds)
    return max(least, min(wanted, n_waiting // (AHEAD * n_slots)))
