"""Bad input and the message it gets: the one list behind the tests and docs/bad-input.md.

The messages are exact. After changing one, run `python tests/bad_input/write_docs.py`.
"""

from __future__ import annotations

from bad_input.file_mistakes import FILE_CASES
from bad_input.frame_mistakes import FRAME_CASES
from bad_input.rule_mistakes import RULE_CASES
from bad_input.schema_mistakes import SCHEMA_CASES

CASES = [*SCHEMA_CASES, *RULE_CASES, *FILE_CASES, *FRAME_CASES]
