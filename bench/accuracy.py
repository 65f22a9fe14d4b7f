"""How accurate are the methods, on real households? NOT PRIVATE: compares with the true answers.

    python -m bench.accuracy [--atlanta FOLDER] [--seeds 5] [--only WORD] [-o docs/accuracy]

What is run is in `bench/accuracy_runs.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from bench.accuracy_runs import (
    Data,
    detroit,
    detroit_relations,
    measure_accuracy,
    plain,
    simulated,
)

from kinfolk.schema import Schema

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data" / "atlanta"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--atlanta", type=Path, default=BESIDE, help="households.csv, persons.csv")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--components", type=int, default=1000, help="K of HPD-Fixed")
    parser.add_argument("--only", default="", help="runs whose name has this word")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/accuracy"))
    told = parser.parse_args()
    measure_accuracy(
        datasets(told.atlanta),
        told.output,
        seeds=told.seeds,
        components=told.components,
        only=told.only,
    )


def datasets(atlanta: Path) -> dict[str, Callable[[], Data]]:
    makers = {"detroit": detroit, "detroit relations": detroit_relations}
    if (atlanta / "households.csv").exists():
        return {
            "atlanta": lambda: atlanta_data(atlanta),
            "atlanta derived": lambda: atlanta_data(atlanta, derived=True),
            **makers,
        }
    print(f"{atlanta}: no such data; simulated households instead")
    return {"simulated": simulated, **makers}


def atlanta_data(folder: Path, *, derived: bool = False) -> Data:
    text = (Path(__file__).parent / "schemas" / "atlanta.yaml").read_text(encoding="utf-8")
    schema = Schema.from_text(text) if derived else plain(Schema.from_text(text))
    return Data.of(schema, {name: folder / f"{name}.csv" for name in schema.table_names})


if __name__ == "__main__":
    main()
