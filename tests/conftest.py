"""Settings for all tests."""

import os

from hypothesis import HealthCheck, settings

# The test processes share the cores already; threads inside them would only wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("kinfolk", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kinfolk")
