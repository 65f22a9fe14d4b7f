"""Tables to integer codes and back. Public are the names in `__all__`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk._surface import export

if TYPE_CHECKING:
    from kinfolk.data.decode import decode
    from kinfolk.data.encode import encode
    from kinfolk.data.sources import ipums_variables

__all__ = [
    "decode",
    "encode",
    "ipums_variables",
]

__getattr__ = export(
    __name__,
    {
        "kinfolk.data.decode": "decode",
        "kinfolk.data.encode": "encode",
        "kinfolk.data.sources": "ipums_variables",
    },
)
