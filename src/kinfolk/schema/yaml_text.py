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
_LONGEST_NUMBER = 400
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+$")


class _Ambiguous(yaml.MarkedYAMLError):
    """A scalar or key that YAML readers do not agree on."""


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  (PyYAML's own class attribute)

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        tag = getattr(event, "tag", None)
        if tag is not None:
            problem = f"the tag {tag.replace(_PREFIX, '!!')} has no place in a schema"
            raise _Ambiguous(None, None, problem, event.start_mark, "Remove it.")
        return super().compose_node(parent, index)

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        if isinstance(node, yaml.ScalarNode) and any(
            "\ud800" <= character <= "\udfff" for character in node.value
        ):
            problem = "half of a surrogate pair is not a character"
            raise _Ambiguous(None, None, problem, node.start_mark, "Write the character itself.")
        return super().construct_scalar(node)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, list | dict):
                problem, fix = "a key must be a word", "Write `key: value`."
                raise _Ambiguous(None, None, problem, key_node.start_mark, fix)
            if key in seen:
                problem = f"the key {key!r} appears twice"
                raise _Ambiguous(None, None, problem, key_node.start_mark, "Remove one of the two.")
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def _construct_code(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
    problem = f"{node.value} could be a number or a code with leading zeros"
    raise _Ambiguous(None, None, problem, node.start_mark, "Put it in quotes if it is a code.")


def _construct_int(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    if len(node.value) > _LONGEST_NUMBER:
        problem = f"a number of {len(node.value):,} digits"
        raise _Ambiguous(None, None, problem, node.start_mark, "Put it in quotes if it is a code.")
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
        what = f"{_explain(error).rstrip('.')}."
        fix = "Indent with spaces, not tabs." if "'\\t'" in what else "Mend the line."
        if "<block end>" in what:
            what = "the line is not indented as those around it, or lacks the key it belongs to."
            fix = "Indent it like them; where it was a comment, take off the sign and one space."
        problem = Problem(where=place, what=what, fix=error.note or fix)
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        what = f"cannot be read as YAML ({str(error).splitlines()[0]})."
        problem = Problem(where="the file", what=what, fix="Check that it is a text file in UTF-8.")
    raise SchemaError(name, [problem])


def _explain(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or error.context or "cannot be read as YAML"
    return f"{error.context}, {problem}" if problem.startswith("but ") else problem


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
    if _PLAIN.fullmatch(text) and not _WORDS.fullmatch(text):
        return text
    escaped = []
    for character in text:
        code = ord(character)
        if character in ('"', "\\"):
            escaped.append("\\" + character)
        elif character == "\n":
            escaped.append("\\n")
        elif not character.isprintable():
            escaped.append(f"\\U{code:08x}")
        else:
            escaped.append(character)
    return '"' + "".join(escaped) + '"'
