"""The page as text: complete in itself, escaped, and loud about what it is."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from evaluate.conftest import release
from evaluate.families import FAMILIES, families
from evaluate.hostile import CLOSING, HOSTILE, QUOTES, SCRIPT, TABLE, hostile_tables
from kinfolk.cli.main import run
from kinfolk.data.frames import write_table
from kinfolk.evaluate import evaluate
from kinfolk.schema import Categorical, IndividualTable, Schema, WorkloadSpec


class Page(HTMLParser):
    """Elements with their attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self.words: list[str] = []
        self.open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open = tag
        if tag in self.inside:
            self.inside[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self.open = ""

    def handle_data(self, data: str) -> None:
        if self.open in self.inside:
            self.inside[self.open][-1] += data
        self.words.append(data)


@pytest.fixture(scope="module")
def page(families_report: Path) -> Page:
    return Page(families_report.read_text(encoding="utf-8"))


def test_it_asks_for_nothing(page: Page) -> None:
    """No address but anchors of its own, no handler, no inline style."""
    for tag, attributes in page.tags:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        assert tag not in ("link", "iframe", "img", "object", "form", "base")


def test_the_policy_allows_exactly_its_own_style_and_script(page: Page) -> None:
    policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
    assert policy is not None
    _, script = page.inside["script"]
    for kind, content in (("script", script), ("style", page.inside["style"][0])):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_it_says_that_it_is_not_private(page: Page) -> None:
    assert "NOT PRIVATE" in page.inside["title"][0]
    assert sum("NOT PRIVATE" in words for words in page.words) >= 3


def test_headings_tables_and_labels_are_there_for_readers_who_listen(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    names = [tag for tag, _ in page.tags]
    assert names.count("table") == names.count("caption")
    assert {"header", "main", "nav", "footer"} <= set(names)
    labelled = {a["aria-labelledby"] for _, a in page.tags if "aria-labelledby" in a}
    assert labelled <= {a["id"] for _, a in page.tags if "id" in a}


def test_hostile_names_stay_text(hostile_report: Path) -> None:
    text = hostile_report.read_text(encoding="utf-8")
    page = Page(text)
    assert len(page.inside["script"]) == 2
    assert not [tag for tag, _ in page.tags if tag in ("img", "b", "i")]
    data = json.loads(page.inside["script"][0])
    assert {QUOTES, SCRIPT} <= {one["name"] for one in data["attributes"]}
    assert any(CLOSING in one["labels"] for one in data["attributes"])
    for name in (SCRIPT, TABLE):
        assert any(name in words for words in page.words), "the name is shown as it is"


def test_only_the_pages_own_style_and_script_are_not_escaped() -> None:
    folder = files("kinfolk.evaluate")
    templates = [one.read_text("utf-8") for one in folder.iterdir() if one.name.endswith(".j2")]
    assert len(templates) > 1
    unescaped = re.findall(r"\w+\|safe\b|\bsafe\b|autoescape", "".join(templates))
    assert unescaped == ["style|safe", "script|safe"]


def test_what_no_page_can_hold_is_replaced() -> None:
    """Control characters, which HTML does not know, and halves of characters."""
    schema = Schema(
        group=None,
        individual=IndividualTable(
            table="people",
            group_id=None,
            attributes={"a\x00": Categorical(values=[0, 1], labels=["\ud800", "z\x1f"])},
        ),
        max_size=1,
        workload=WorkloadSpec(k=1, levels=["individual"]),
    )
    tables = {"people": pa.table({"a\x00": [0, 1]})}
    shown = evaluate(schema, real=tables, synthetic=tables).html()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f]", shown)
    assert "z\ufffd" in shown
    assert shown.encode("utf-8")


def test_the_promise_is_told_in_plain_words(tmp_path: Path) -> None:
    seen = {}
    for private in (True, False):
        folder = tmp_path / str(private)
        folder.mkdir()
        found = evaluate(FAMILIES, real=families(), synthetic=release(folder, private=private))
        seen[private] = found.html()
    assert "at most 2.72 times as large, plus 1e-09" in seen[True]
    assert "Nobody is protected" in seen[False]
    assert "2.72 times" not in seen[False]


def test_a_certificate_that_does_not_hold_is_said_to(tmp_path: Path) -> None:
    path = release(tmp_path) / "privacy.json"
    certificate = json.loads(path.read_text(encoding="utf-8"))
    certificate["spends"][0]["sigma"] /= 2
    path.write_text(json.dumps(certificate), encoding="utf-8")
    assert "does not hold" in evaluate(FAMILIES, real=families(), synthetic=tmp_path).html()
    certificate["spends"][0]["sigma"] *= 2
    del certificate["public"]
    path.write_text(json.dumps(certificate), encoding="utf-8")
    assert "public is missing" in evaluate(FAMILIES, real=families(), synthetic=tmp_path).html()
    path.write_text('{"format": "another"}', encoding="utf-8")
    shown = evaluate(FAMILIES, real=families(), synthetic=tmp_path).html()
    assert "is not a &#39;kinfolk certificate 2&#39;" in shown


def test_the_command_writes_both_files_and_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, table in families().items():
        write_table(table, Path(f"{name}.parquet"))
    Path("release").mkdir()
    release(Path("release"))
    Path("schema.yaml").write_text(FAMILIES.to_yaml(), encoding="utf-8")
    words = ["evaluate", "schema.yaml", "--real", "homes.parquet", "people.parquet"]
    words += ["--synthetic", "release", "-o", "out"]
    assert run(words) == 0
    printed = capsys.readouterr().out
    assert "NOT PRIVATE" in printed
    metrics = json.loads(Path("out/metrics.json").read_text(encoding="utf-8"))
    assert f"{metrics['all']['max']:.4g}" in printed
    assert Path("out/report.html").stat().st_size < 3_000_000
    words.remove("people.parquet")
    assert run(words) == 2
    assert "--real names 1 file, but the schema has 2 tables" in capsys.readouterr().err


def test_a_notebook_shows_a_table() -> None:
    found = evaluate(HOSTILE, real=hostile_tables(1), synthetic=hostile_tables(2))
    shown = found._repr_html_()
    assert "NOT PRIVATE" in shown
    assert "homes&lt;i&gt;" in shown
