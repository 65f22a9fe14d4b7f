"""YAML without its surprises.

Plain YAML turns `no` into false, `010` into eight, `12:30` into a number of minutes and a date
into a date, and lets a key appear twice. In a list of category codes each of these would change
the data's domain without a word. Here `yes` and `no` are text, only `true` and `false` are
true/false, and whatever remains ambiguous is refused with its line.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

from kinfolk.errors import Problem, SchemaError

_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?$")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+$")


class _Ambiguous(yaml.MarkedYAMLError):
    """A scalar or key that YAML readers do not agree on."""


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  (PyYAML's own class attribute)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, list | dict):
                raise _Ambiguous(None, None, "a key must be a word", key_node.start_mark)
            if key in seen:
                problem = f"the key {key!r} appears twice"
                raise _Ambiguous(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def _construct_code(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
    problem = f"{node.value} could be a number or a code with leading zeros; put it in quotes"
    raise _Ambiguous(None, None, problem, node.start_mark)


def _construct_int(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    return int(node.value)


def _construct_float(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    return float(node.value)


_PREFIX = "tag:yaml.org,2002:"
for _tag, _pattern in (
    ("bool", re.compile(r"(true|True|TRUE|false|False|FALSE)$")),
    ("null", re.compile(r"(~|null|Null|NULL|)$")),
    ("kinfolk-code", _LEADING_ZERO),
    ("int", _INT),
    ("float", _FLOAT),
):
    _Loader.add_implicit_resolver(_PREFIX + _tag, _pattern, None)
_Loader.add_constructor(_PREFIX + "kinfolk-code", _construct_code)
_Loader.add_constructor(_PREFIX + "int", _construct_int)
_Loader.add_constructor(_PREFIX + "float", _construct_float)


def load_yaml(text: str, *, name: str) -> Any:
    """Parse YAML text; a mistake is reported with its line and column.

    >>> load_yaml("values: [no, 1, 2.5, true]", name="schema.yaml")
    {'values': ['no', 1, 2.5, True]}
    """
    try:
        # A subclass of SafeLoader: no tag can construct an arbitrary object.
        return yaml.load(text, Loader=_Loader)  # noqa: S506
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "the file"
        what = f"{(error.problem or error.context or 'cannot be read as YAML').rstrip('.')}."
        problem = Problem(where=place, what=what, fix="Mend the line.")
    except (yaml.YAMLError, RecursionError) as error:
        what = f"cannot be read as YAML ({str(error).splitlines()[0]})."
        problem = Problem(where="the file", what=what, fix="Check that it is a text file in UTF-8.")
    raise SchemaError(name, [problem])


def scalar_text(value: object) -> str:
    """Write one value so that `load_yaml` reads back exactly the same.

    >>> [scalar_text(v) for v in (1, 2.5, True, "no", "1", "a, b", "line\\nbreak")]
    ['1', '2.5', 'true', 'no', '"1"', '"a, b"', '"line\\\\nbreak"']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if math.isfinite(value) else f'"{text}"'
    return _string_text(str(value))


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_ .+/()-]*(?<! )$")
_WORDS = re.compile(r"(?i)(true|false|null|~)$")


def _string_text(text: str) -> str:
    if _PLAIN.match(text) and not _WORDS.match(text):
        return text
    escaped = []
    for character in text:
        code = ord(character)
        if character in ('"', "\\"):
            escaped.append("\\" + character)
        elif character == "\n":
            escaped.append("\\n")
        elif code > 0xFFFF:
            escaped.append(f"\\U{code:08x}")
        elif code < 0x20 or 0x7F <= code < 0xA1 or code in (0x2028, 0x2029, 0xFEFF):
            escaped.append(f"\\u{code:04x}")
        else:
            escaped.append(character)
    return '"' + "".join(escaped) + '"'
