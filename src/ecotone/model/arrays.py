"""Names for the array types that columns are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Rows = NDArray[np.intp]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Codes = NDArray[np.int32]
Hashes = NDArray[np.uint64]
