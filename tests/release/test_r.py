"""R opens what we write for Stata and SPSS, by both of its libraries, and we open what R has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from data.labelled import labelled_model
from kinfolk.data.tables import TableFile, read_source
from kinfolk.models.records import Records
from kinfolk.release.release import write_sample

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("Rscript") is None,
        reason="R is not installed; apt-get install r-base-core r-cran-foreign r-cran-haven",
    ),
]

HAVEN = """
suppressMessages(library(haven))
read <- if (endsWith(path, "dta")) read_dta else read_sav
homes <- read(path)
cat(nrow(homes), sum(is.na(homes$tenure)), sum(homes$people), "\\n")
cat(attr(homes$tenure, "label"), "\\n")
labels <- attr(homes$tenure, "labels")
cat(paste(names(labels), labels, collapse = ";"), "\\n")
cat(levels(as_factor(homes$garden)), "\\n")
"""

FOREIGN = """
library(foreign)
homes <- suppressWarnings(read.spss(path, to.data.frame = TRUE))
cat(nrow(homes), sum(is.na(homes$tenure)), sum(homes$people), "\\n")
cat(attr(homes, "variable.labels")[["tenure"]], "\\n")
cat(levels(homes$tenure), sep = ";")
"""


def in_r(script: str, path: Path) -> list[str]:
    begin = f"path <- '{path}'\n"
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", begin + script],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [line.strip() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("form", ["dta", "sav"])
def test_what_we_write(form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    path = write_sample(Records(model=labelled_model()), 60, tmp_path, rng=rng, format=form).paths[
        "homes"
    ]
    columns = read_source(path, ["tenure", "people"], name="homes").columns
    first = f"60 {columns['tenure'].null_count} {int(sum(columns['people'].to_pylist()))}"
    assert in_r(HAVEN, path) == [
        first,
        "How the home is held",
        "owned 1;rented 2;free of charge 3",
        "false true",
    ]
    if form == "sav":
        # For Stata, it stops at version 12, of 2011.
        words = "owned;rented;free of charge"
        assert in_r(FOREIGN, path) == [first, "How the home is held", words]


@pytest.mark.parametrize("form", ["sas7bdat", "sav", "dta"])
def test_what_it_has(form: str) -> None:
    script = f"cat(system.file('examples', 'iris.{form}', package = 'haven'))"
    path = Path(in_r(script, Path("none"))[0])
    with TableFile(path) as file:
        (first, *_, last), labels = file.schema.names, file.labels
    lengths = read_source(path, [first], name="iris").columns[first].to_pylist()
    assert (len(lengths), round(sum(lengths), 1)) == (150, 876.5)
    words = list(labels.values.get(last, {}).values())
    assert words == (["setosa", "versicolor", "virginica"] if form == "sav" else [])
