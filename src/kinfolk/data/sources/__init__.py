"""Readers for the surveys behind the paper: IPUMS USA extracts and Census ACS PUMS files.

Both return tables that fit a shipped schema: see `kinfolk.datasets.load_schema`.
"""

from kinfolk.data.sources.ipums import read_ipums
from kinfolk.data.sources.ipums import variables as ipums_variables
from kinfolk.data.sources.pums import read_pums
from kinfolk.data.sources.survey import TARGETS, SourceTables

__all__ = [
    "TARGETS",
    "SourceTables",
    "ipums_variables",
    "read_ipums",
    "read_pums",
]
