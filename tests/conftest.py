"""Settings for all tests."""

import os

# The test processes share the cores already; threads inside them would only wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
