"""Experiments on true answers, and the data that is made up for them. Everything is NOT PRIVATE.

Public are the names in `__all__`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk._surface import export

if TYPE_CHECKING:
    from kinfolk.experiments.simulate import simulate_tables

__all__ = [
    "simulate_tables",
]

__getattr__ = export(
    __name__,
    {
        "kinfolk.experiments.simulate": "simulate_tables",
    },
)
