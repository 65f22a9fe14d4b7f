"""Which queries there are, and their exact answers. Public are the names in `__all__`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk._surface import export

if TYPE_CHECKING:
    from kinfolk.queries.counting import count
    from kinfolk.queries.questions import describe
    from kinfolk.queries.spark import count_spark

__all__ = [
    "count",
    "count_spark",
    "describe",
]

__getattr__ = export(
    __name__,
    {
        "kinfolk.queries.counting": "count",
        "kinfolk.queries.questions": "describe",
        "kinfolk.queries.spark": "count_spark",
    },
)
