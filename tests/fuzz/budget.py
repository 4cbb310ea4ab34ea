"""How long the properties are tried: some examples in each test run, or for a stated time.

`FINEVAL_FUZZ_SECONDS=600 pytest tests/fuzz` spreads ten minutes over the properties, each tried
with new examples until its share is used.
"""

import os
import time
from collections.abc import Callable
from functools import wraps

from hypothesis import HealthCheck, settings

SECONDS = float(os.environ.get("FINEVAL_FUZZ_SECONDS", "0"))
PROPERTIES = 9
"""Among how many properties the time is shared."""

_BATCH = 400


def tried(examples: int) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Run a Hypothesis property with so many examples, or with batches of them for its time."""

    def decorate(prop: Callable[[], None]) -> Callable[[], None]:
        once = settings(
            max_examples=_BATCH if SECONDS else examples,
            deadline=None,  # time is measured in benchmarks/, a busy machine fails no test here
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
            # a long run tries new examples each time, on a build server too
            **({"derandomize": False} if SECONDS else {}),
        )(prop)
        if not SECONDS:
            return once

        @wraps(prop)
        def again() -> None:
            end = time.monotonic() + SECONDS / PROPERTIES
            while True:
                once()
                if time.monotonic() > end:
                    return

        del again.__wrapped__  # pytest would take the property's arguments for fixtures
        return again

    return decorate
