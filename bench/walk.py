"""How far one has to walk to follow the code: its size, its double names, what four runs touch.

python -m bench.walk [--root DIR] [--step MixtureFit.steps]

`--root` measures another checkout with this same script, so that before and after can be compared.
Functions are counted once each, and only those of the package; what stands inside angle brackets
(a comprehension, a lambda) belongs to the function around it. Compiled loops are not seen. Depth is
the number of these functions on the stack of one thread. Everything is imported before a run is
traced, and every run has a process of its own, so that nothing was cached before.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import os
import pkgutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HERE = Path(__file__).resolve()
HOUSEHOLDS = 400
PROMISE = {"unit": "household", "epsilon": 1.0, "delta": 1e-9}
QUICK = {"components": 20, "parts": 2, "replicates": 1, "max_passes": 2}
"""Settings of the default method that keep a run short; the road is the same."""
RUNS = {
    "synth": ["kinfolk synth"],
    "fit": ["Synthesizer.fit and .sample", "one gradient step"],
    "evaluate": ["kinfolk evaluate"],
}
"""What is traced in one process, and what its figures are called."""


class Trace:
    """Which functions of a package were called, and how deep they were nested."""

    def __init__(self, package: Path, *, only: str | None = None) -> None:
        """Look at the functions below a folder, once the function `only` has been called."""
        self._package, self._only = f"{package}{os.sep}", only
        self._known: dict[CodeType, tuple[str, str] | None] = {}
        self._own = threading.local()
        self._open, self._done = only is None, False
        self.functions: set[tuple[str, str]] = set()
        self.depth = 0

    def _function(self, code: CodeType) -> tuple[str, str] | None:
        """The file and name of a function of the package; None for all else."""
        if code not in self._known:
            ours = code.co_filename.startswith(self._package) and not code.co_name.startswith("<")
            function = ours and code.co_flags & inspect.CO_OPTIMIZED
            self._known[code] = (code.co_filename, code.co_qualname) if function else None
        return self._known[code]

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Take note of a call or a return."""
        if event not in ("call", "return"):
            return
        found = self._function(frame.f_code)
        if found is None:
            return
        depth = getattr(self._own, "depth", 0)
        first = found[1] == self._only and not self._done
        if event == "return":
            self._own.depth = max(0, depth - 1)
            if first and depth == 1:
                self._open, self._done = False, True
            return
        if first and not self._open:
            # Only what lies below counts.
            self._open, depth = True, 0
        self._own.depth = depth + 1
        if self._open:
            self.functions.add(found)
            self.depth = max(self.depth, depth + 1)

    def figures(self) -> dict[str, int]:
        """What there is to report."""
        files = {file for file, _ in self.functions}
        return {"files": len(files), "functions": len(self.functions), "depth": self.depth}


def traced(work: Callable[[], object], traces: Sequence[Trace]) -> None:
    """Run something under traces, in all threads."""

    def watch(frame: FrameType, event: str, value: Any) -> None:
        for trace in traces:
            trace(frame, event, value)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def command(*words: object) -> None:
    """Run a command in this process, as the shell would."""
    from kinfolk.cli import main

    sys.argv = ["kinfolk", *map(str, words)]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


def example(folder: Path) -> tuple[Any, dict[str, Any], list[Path]]:
    """A few of the bundled households, as tables and as files, with their schema of pairs."""
    from dataclasses import replace

    import pyarrow.compute as pc
    from pyarrow import csv

    from kinfolk.datasets import load_detroit
    from kinfolk.schema import WorkloadSpec

    schema, tables = load_detroit()
    schema = replace(schema, workload=WorkloadSpec(k=2))
    homes, people = (tables[name] for name in schema.table_names)
    homes = homes.slice(0, HOUSEHOLDS)
    people = people.filter(pc.is_in(people["household_id"], homes["household_id"]))
    chosen = dict(zip(schema.table_names, (homes, people), strict=True))
    files = [folder / "schema.yaml", *(folder / f"{name}.csv" for name in chosen)]
    schema.to_yaml(files[0])
    for table, file in zip(chosen.values(), files[1:], strict=True):
        csv.write_csv(table, file)
    return schema, chosen, files


def walk(run: str, root: Path, step: str) -> list[dict[str, int]]:
    """The figures of one run, in this process."""
    import kinfolk

    package = root / "src" / "kinfolk"
    if Path(kinfolk.__file__).resolve().parent != package:
        raise SystemExit(f"kinfolk was found in {kinfolk.__file__}, not in {package}.")
    for module in pkgutil.walk_packages(kinfolk.__path__, "kinfolk."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    traces = [Trace(package)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        schema, tables, files = example(folder)
        if run == "synth":
            told = {**PROMISE, **{key.replace("_", "-"): value for key, value in QUICK.items()}}
            words = [word for key, value in told.items() for word in (f"--{key}", value)]
            traced(lambda: command("synth", *files, *words, "-o", folder / "release"), traces)
        elif run == "fit":
            traces.append(Trace(package, only=step))
            maker = kinfolk.Synthesizer
            traced(lambda: maker(schema, **PROMISE, **QUICK).fit(tables).sample(), traces)
        else:
            release = folder / "release"
            release.mkdir()
            for file in files[1:]:
                (release / file.name).write_bytes(file.read_bytes())
            real = ["--real", *files[1:], "--synthetic", release, "-o", folder / "report"]
            traced(lambda: command("evaluate", files[0], *real), traces)
    return [trace.figures() for trace in traces]


def twice(places: dict[str, list[str]]) -> list[str]:
    """The names with more than one place, most places first."""
    found = [name for name, where in places.items() if len(where) > 1]
    return [f"{name} ({len(places[name])})" for name in sorted(found, key=lambda n: (n.lower(), n))]


def size(package: Path) -> None:
    """Print what can be told without running anything."""
    lengths: list[int] = []
    classes = 0
    named: dict[str, dict[str, list[str]]] = {
        kind: defaultdict(list) for kind in ("classes", "functions", "files")
    }
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lengths.append(text.count("\n"))
        tree = ast.parse(text)
        classes += sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree))
        where = str(path.relative_to(package))
        if path.stem not in ("__init__", "__main__"):
            named["files"][path.name].append(where)
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named["classes"][node.name].append(where)
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                named["functions"][node.name].append(where)
    print(f"{sum(lengths):,} lines in {len(lengths)} files, {classes} classes")
    print(f"the median file has {statistics.median(lengths):g} lines, the longest {max(lengths)}")
    for kind, places in named.items():
        names = twice(places)
        print(f"public {kind} of one name in two places: {len(names)}")
        if names:
            print(f"  {', '.join(names)}")


def measure(root: Path, step: str) -> None:
    """Print everything about a checkout."""
    size(root / "src" / "kinfolk")
    print(f"\n{'touched by':30}{'files':>8}{'functions':>12}{'depth':>8}")
    for run, titles in RUNS.items():
        done = subprocess.run(
            [sys.executable, HERE, "--root", root, "--step", step, "--run", run],
            env={**os.environ, "PYTHONPATH": str(root / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{titles[0]} failed:\n{done.stderr}")
        for title, one in zip(titles, json.loads(done.stdout.splitlines()[-1]), strict=True):
            print(f"{title:30}{one['files']:8}{one['functions']:12}{one['depth']:8}")
            if not one["functions"]:
                print(f"  nothing: no function is called {step}; name it with --step")


def main() -> None:
    """Measure the checkout that this file belongs to, or another."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=HERE.parents[1], help="another checkout")
    parser.add_argument("--step", default="MixtureFit.steps", help="what makes gradient steps")
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    told = parser.parse_args()
    root = told.root.resolve()
    if told.run is None:
        measure(root, told.step)
    else:
        print(json.dumps(walk(told.run, root, told.step)))


if __name__ == "__main__":
    main()
