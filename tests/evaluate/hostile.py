"""Names, labels and values that try to be markup, script, template, or text that runs backwards."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kinfolk.schema import (
    Categorical,
    GroupTable,
    IndividualTable,
    Numeric,
    Schema,
    WorkloadSpec,
)

SCRIPT = "<script>document.title='owned'</script>"
CLOSING = '</script><img src=x onerror="document.title=1">'
QUOTES = "\"'><b onmouseover='document.title=2'>&amp;"
RTL = "\u202eright to left \u05d0\u05d1\u05d2"
TABLE = "homes<i>&{{ 6 * 7 }}{% endraw %}"

HOSTILE = Schema(
    group=GroupTable(
        table=TABLE, id="home", attributes={QUOTES: Categorical(values=[SCRIPT, CLOSING])}
    ),
    individual=IndividualTable(
        table="people",
        group_id="home",
        attributes={
            SCRIPT: Categorical(values=[0, 1], labels=[CLOSING, RTL]),
            "long" * 40: Categorical(values=["x" * 300, "y z " * 80]),
            CLOSING: Numeric(bins=[0, 1, 9e14]),
        },
    ),
    max_size=3,
    workload=WorkloadSpec(k=2),
)


def hostile_tables(seed: int) -> dict[str, pa.Table]:
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(50), rng.integers(1, 4, size=50))

    def column(values: list[str], rows: int) -> list[str]:
        return [values[code] for code in rng.integers(2, size=rows)]

    return {
        TABLE: pa.table({"home": np.arange(50), QUOTES: column([SCRIPT, CLOSING], 50)}),
        "people": pa.table(
            {
                "home": home,
                SCRIPT: rng.integers(2, size=len(home)),
                "long" * 40: column(["x" * 300, "y z " * 80], len(home)),
                CLOSING: rng.uniform(0, 9e14, size=len(home)),
            }
        ),
    }
