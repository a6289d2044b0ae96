"""How often each row is in a bootstrap sample."""

from typing import Any

from holdfast._arrays import IntArray
from holdfast.data.resampling import draw_sample


def draw_counts(*args: Any, **settings: Any) -> IntArray:
    """Draw a bootstrap sample, and return the counts of the rows."""
    return draw_sample(*args, **settings).counts
