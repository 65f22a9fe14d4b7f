"""Extracts of the census, as the commands that read them are told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kinfolk.errors import KinfolkError

if TYPE_CHECKING:
    from kinfolk.data.sources import SourceTables

CENSUS = (
    click.option("--ipums", type=click.Path(path_type=Path), help="An IPUMS USA extract."),
    click.option(
        "--ddi", type=click.Path(path_type=Path), help="The extract's DDI codebook (.xml)."
    ),
    click.option(
        "--pums",
        nargs=2,
        type=click.Path(path_type=Path),
        metavar="HOUSING PERSONS",
        help="The Census Bureau's two PUMS files.",
    ),
    click.option(
        "--crosswalk",
        help="PUMS files name no county: 'ny-2010', or a CSV with columns PUMA and COUNTYFIP.",
    ),
    click.option(
        "--group-quarters",
        is_flag=True,
        help="Keep group quarters as one-person households, as the paper seems to.",
    ),
)
"""What a command that reads an extract can be told."""


def read_census(
    target: str,
    *,
    ipums: Path | None,
    ddi: Path | None,
    pums: tuple[Path, Path] | None,
    crosswalk: str | None,
    group_quarters: bool,
) -> SourceTables:
    """Read an IPUMS extract or the two PUMS files, whichever is given."""
    from kinfolk.data.sources import read_ipums, read_pums

    if ipums is not None and not pums:
        return read_ipums(ipums, ddi=ddi, target=target, group_quarters=group_quarters)
    if pums and ipums is None:
        return read_pums(
            *pums, target=target, county_crosswalk=crosswalk, group_quarters=group_quarters
        )
    raise KinfolkError("give either --ipums FILE or --pums HOUSING PERSONS.")
