"""What a cluster has to offer, whatever its kind, and what of ours lies on it."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from uuid import uuid4
from weakref import WeakKeyDictionary

from holdfast.arrays import ByteArray
from holdfast.backends.clusters.packing import pack
from holdfast.backends.shared import Shared


class LostError(Exception):
    """The cluster lost a tile or its inputs; it has to be sent again."""


class Cluster(Protocol):
    """A run on a cluster."""

    sent: "SentValues"

    def n_slots(self) -> int:
        """Number of tiles that can run at the same time."""
        ...

    def put(self, blob: ByteArray) -> Any:
        """Send bytes to the cluster, once for all workers; return their handle."""
        ...

    def submit(self, order: bytes, handles: list[Any]) -> Hashable:
        """Submit `run_tile` with an order and handles; return a future."""
        ...

    def next_done(self) -> Hashable:
        """Wait for any of the futures."""
        ...

    def reply(self, future: Any) -> bytes:
        """Return the reply of a finished future; a LostError or ClusterError if there is none."""
        ...

    def stop(self, run: str, futures: list[Any]) -> None:
        """Cancel these futures of the run."""
        ...


class Part(NamedTuple):
    """A value on the cluster, after the values that it contains."""

    key: str
    handle: Any
    n_bytes: int
    holds: tuple["Part", ...]
    state: frozenset[str]  # what had been worked out of the value when it was sent

    def flat(self) -> dict[str, Any]:
        """Handles of all parts by key, in order of dependence."""
        return {key: handle for part in self.holds for key, handle in part.flat().items()} | {
            self.key: self.handle
        }


@dataclass(eq=False)
class SentValues:
    """Values on a cluster, for as long as they live in this process."""

    parts: WeakKeyDictionary[Any, dict[str, Part]] = field(default_factory=WeakKeyDictionary)
    n_bytes: int = 0  # in all so far
    times_lost: int = 0

    def part(self, value: Any, put: Callable[[ByteArray], Any]) -> Part:
        """Return the part of a value; send it unless it was sent unchanged before.

        Methods are known by the value that they are bound to: each look at one is a new object.
        """
        owner, name = getattr(value, "__self__", value), getattr(value, "__name__", "")
        state = frozenset(getattr(owner, "__dict__", ()))
        known = self._known(owner)
        if name not in known or known[name].state != state:
            known[name] = self._sent(value, put, state)
        return known[name]

    def _known(self, owner: Any) -> dict[str, Part]:
        try:
            return self.parts.setdefault(owner, {})
        except TypeError:  # no weak references to it, or no hash: it is sent every time
            return {}

    def _sent(self, value: Any, put: Callable[[ByteArray], Any], state: frozenset[str]) -> Part:
        holds: dict[str, Part] = {}

        def key_of(shared: Shared) -> str:
            part = self.part(shared, put)
            holds[part.key] = part
            return part.key

        blob = pack(value, key_of)
        self.n_bytes += blob.nbytes
        return Part(uuid4().hex, put(blob), blob.nbytes, tuple(holds.values()), state)

    def forget(self) -> None:
        """Forget all parts, so that they are sent again."""
        self.parts.clear()
        self.times_lost += 1
