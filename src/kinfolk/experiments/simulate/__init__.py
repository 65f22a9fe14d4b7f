"""Census-like data of any size from fixed public parameters, for benchmarks and examples.

It stands in for data that is confidential or licensed. The parameters are round numbers written
down in these files; they look like published tables and were fitted to nothing.
"""

from kinfolk.experiments.simulate.simulator import (
    NAMES,
    simulate,
    simulate_tables,
    write_simulation,
)

__all__ = ["NAMES", "simulate", "simulate_tables", "write_simulation"]
