"""The R code of the page on inference runs on the files that the command writes, as pool does."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kinfolk import Schema, Synthesizer, load_detroit, pool
from kinfolk.cli.main import run

RSCRIPT = shutil.which("Rscript")
PAGE = Path(__file__).parents[2] / "docs" / "inference.md"


@pytest.mark.slow
@pytest.mark.skipif(RSCRIPT is None, reason="R is not installed")
def test_the_page_runs_in_r(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```r\n(.*?)```", text, re.DOTALL)
    (schema,) = re.findall(r'Schema\.from_text\("""\n(.*?)\.\.\. """\)', text, re.DOTALL)
    declared = Schema.from_text("".join(line[4:] + "\n" for line in schema.splitlines()))
    maker = Synthesizer(
        declared, unit="household", epsilon=1.0, delta=1e-9, seed=1,
        components=20, parts=2, replicates=4, max_passes=3,
    ).fit(load_detroit().tables)  # fmt: skip
    maker.save(tmp_path / "model.kinfolk")
    told = ["sample", str(tmp_path / "model.kinfolk"), "--replicates", "4", "--seed", "1"]
    assert run([*told, "-o", str(tmp_path / "inference")]) == 0
    # The whole table on one line each, with all digits.
    wide = f"options(digits = 15, width = 200)\n{code}"
    (tmp_path / "page.R").write_text(wide, encoding="utf-8")
    command = [str(RSCRIPT), "--vanilla", "page.R"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert len(rows) == 10
    first = [float(one) for one in rows[0][1:]]
    main, again = maker.sample(), maker.replicates()
    shares = [np.mean(one["persons"]["sex"].to_numpy() == 2) for one in (main, *again)]
    found = pool(shares[0], shares[1:])
    expected = [found.estimate, found.error, found.low, found.high, found.bias]
    np.testing.assert_allclose(first, expected, rtol=1e-9)
