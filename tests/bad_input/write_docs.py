"""Write docs/bad-input.md from the catalogue: `python tests/bad_input/write_docs.py`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bad_input.page import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Wrote {PAGE.name}.")
