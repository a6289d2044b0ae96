"""Its presence puts `tests` on the path, where they find the slow twins: `from reference.walk import ...`."""

import os
from math import inf

import pytest
from hypothesis import HealthCheck, settings

from holdfast.backends import progress

# The same examples in every run: a check passes today if it passed yesterday. HYPOTHESIS_PROFILE=explore
# looks for new ones.
_CALM = {"deadline": None, "suppress_health_check": [HealthCheck.filter_too_much, HealthCheck.too_slow]}
settings.register_profile("repeat", derandomize=True, **_CALM)
settings.register_profile("explore", **_CALM)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


# No test shows progress, however slow the machine is: what it reads does not depend on time.
progress.INTERVAL = inf


@pytest.fixture
def eager_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show progress at every step, without waiting ten seconds."""
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
