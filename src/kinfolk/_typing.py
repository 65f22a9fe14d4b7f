"""Arrays, as signatures call them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
