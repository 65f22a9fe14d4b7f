"""Makes the tables that the judges compare, if they are not there. NOT PRIVATE: from seeds.

    python -m bench.suites.candidates SPAIN WORK ABOUT

SPAIN is a folder with households.csv and persons.csv. Into WORK: the real tables, two halves of
them (the second is a second survey to the first), shuffled columns, and kinfolk's. ABOUT is a JSON
file that says how kinfolk's were made. Delete a folder to have its tables made again.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from bench.suites.results import digest
from bench.suites.tables import Tables, halves, read, shuffled

import kinfolk

SEED = 1
"""Of kinfolk's noise, which makes its tables NOT PRIVATE."""
SPLIT = 0
"""Of the halves and of the shuffling."""
ROOT = Path(__file__).resolve().parents[2]
SCHEMA = "bench/schemas/spain.yaml"
KINFOLK = {
    "kinfolk-eps-1": ("real", 1),
    "kinfolk-eps-10": ("real", 10),
    "kinfolk-half-eps-1": ("half", 1),
}
"""Folder: the tables it is fitted to, and epsilon. A half for risks: the other is a control."""


def main() -> None:
    _, spain, folder, about = sys.argv
    work = Path(folder)
    compare_with(read(Path(spain)), work)
    for name, (real_name, epsilon) in KINFOLK.items():
        if not (work / name / "persons.csv").exists():
            make(work, name, work / real_name, epsilon, Path(about))


def compare_with(real: Tables, work: Path) -> None:
    """The real tables and what is made of them, where a folder is not there or not complete."""
    half, second = halves(real, SPLIT)
    made = {"real": real, "half": half, "second-survey": second, "shuffled": shuffled(real, SPLIT)}
    for name, tables in made.items():
        if not (work / name / "persons.csv").exists():
            tables.write(work / name)


def make(work: Path, name: str, real: Path, epsilon: float, about: Path) -> None:
    options = ["--unit", "household", "--epsilon", str(epsilon), "--delta", "1e-9"]
    options += ["--replicates", "0", "--seed", str(SEED)]
    command = ["kinfolk", "synth", SCHEMA, str(real / "households.csv"), str(real / "persons.csv")]
    command += [*options, "-o", str(work / name)]
    print(" ".join(command), file=sys.stderr, flush=True)
    # Of a run that was cut short, or whose tables were deleted to be made again.
    shutil.rmtree(work / name, ignore_errors=True)
    for ending in ("", ".head", ".lock"):
        (work / f"{name}.ledger.jsonl{ending}").unlink(missing_ok=True)
    program = Path(sys.executable).with_name(command[0])
    subprocess.run([program, *command[1:]], check=True, cwd=ROOT)
    said = json.loads(about.read_text(encoding="utf-8")) if about.exists() else {}
    said[name] = {
        "commit": commit(),
        "version": kinfolk.__version__,
        "options": " ".join(options),
        "fitted to": real.name,
        "tables": digest(work / name),
    }
    about.parent.mkdir(parents=True, exist_ok=True)
    about.write_text(json.dumps(said, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def commit() -> str:
    """Of the code that is run; with a + where the package or the schema was changed since."""
    told = git("rev-parse", "--short=10", "HEAD").stdout.strip() or "unknown"
    return told + "+" * (git("diff", "--quiet", "HEAD", "--", "src", SCHEMA).returncode == 1)


def git(*words: str) -> subprocess.CompletedProcess[str]:
    command = ["git", *words]  # whichever git there is
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
