"""Tables of SDV's HMA, to be compared with. NOT PRIVATE, and HMA promises nothing of the kind.

python -m bench.suites.sdv_tables WORK
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import numpy as np
from bench.suites.coding import as_dict, in_words, sdv_metadata
from bench.suites.tables import Tables, read
from sdv.metadata import Metadata
from sdv.multi_table import HMASynthesizer

PATIENCE = 3600
"""Seconds."""


def main() -> None:
    work = Path(sys.argv[1])
    unfinished = work / "sdv-hma.unfinished"
    if (work / "sdv-hma" / "persons.csv").exists() or unfinished.exists():
        return

    def give_up(*_: object) -> None:
        said = f"SDV's HMA had no tables after {PATIENCE} seconds and is left out.\n"
        unfinished.write_text(said, encoding="utf-8")
        print(said, end="", file=sys.stderr)
        # SDV catches every Exception of a fit that fails, and goes on; this is none.
        sys.exit(0)

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    np.random.seed(1)  # noqa: NPY002 - the generator that SDV draws from
    real = read(work / "real")
    described = sdv_metadata(in_words(real, real))
    maker = HMASynthesizer(Metadata.load_from_dict(described), verbose=False)
    maker.fit(as_dict(real))
    made = Tables(**maker.sample(scale=1))
    signal.alarm(0)
    made.write(work / "sdv-hma")


if __name__ == "__main__":
    main()
