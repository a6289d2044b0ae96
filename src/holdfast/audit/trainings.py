"""Which procedure is trained on which sample, and after which other training."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Optional

from holdfast.audit.changes import Pair, Sample
from holdfast.audit.methods import Method

Key = tuple[int, str, tuple[str, ...]]


class Training(NamedTuple):
    """A procedure on a sample; one that knows the model before goes on from that of another training."""

    number: int  # of the repetition
    sample: Sample
    method: Method
    previous: Optional["Training"] = None

    @property
    def key(self) -> Key:
        """What tells trainings apart: the repetition, the procedure, and all samples up to this one."""
        before = self.previous.key[2] if self.previous else ()
        return self.number, self.method.name, (*before, self.sample.key)


class TrainedPair(NamedTuple):
    """A pair of samples, and the trainings of a procedure on both."""

    pair: Pair
    before: Training
    after: Training


def trained_pairs(pairs: Sequence[Pair], methods: Iterable[Method], number: int) -> list[TrainedPair]:
    """All pairs of a repetition with all procedures.

    A procedure that knows the model before is trained on the second sample after it was on the first. Where
    the first is the second of another pair of the same change, as with stages, it goes on from there.
    """
    found = []
    last: dict[tuple[str, str, str], Training] = {}
    for pair in pairs:
        for method in methods:
            before = Training(number, pair.before, method)
            after = Training(number, pair.after, method)
            if method.knows_previous:
                before = last.get((pair.change, method.name, pair.before.key), before)
                after = after._replace(previous=before)
                last[pair.change, method.name, pair.after.key] = after
            found.append(TrainedPair(pair, before, after))
    return found


def in_order(pairs: Sequence[TrainedPair]) -> Iterator[list[Training]]:
    """The trainings of all pairs, each once, in rounds: those of a round need only rounds before."""
    wanted = {each.key: each for trained in pairs for each in (trained.before, trained.after)}
    n_samples = 1
    while some := [each for each in wanted.values() if len(each.key[2]) == n_samples]:
        yield some
        n_samples += 1
