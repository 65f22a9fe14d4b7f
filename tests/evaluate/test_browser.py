"""The report in a real browser: silent, on its own, and working."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluate.browser import Tab, browser, find_browser
from evaluate.hostile import CLOSING, QUOTES, SCRIPT

PROGRAM = find_browser()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="no browser: install chromium to test the report"),
]

VISIBLE = "[...document.querySelectorAll('#worst tbody tr')].filter((row) => !row.hidden)"


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    assert PROGRAM is not None
    with browser(PROGRAM) as opened:
        yield opened


def choose(tab: Tab, identifier: str, value: str, event: str = "change") -> None:
    tab.run(
        f"(() => {{ const it = document.getElementById('{identifier}'); it.value = {value!r}; "
        f"it.dispatchEvent(new Event('{event}')); }})()"
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("which", ["families_report", "hostile_report"])
def test_it_is_silent_alone_and_fits(
    tab: Tab, request: pytest.FixtureRequest, which: str, width: int, dark: bool
) -> None:
    path: Path = request.getfixturevalue(which)
    tab.requests.clear()
    tab.complaints.clear()
    tab.open(path, width=width, dark=dark)
    assert tab.requests == [path.resolve().as_uri()]
    assert tab.complaints == []
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")
    assert tab.run("document.querySelectorAll('figure svg[role=img]').length") >= 6
    ground = tab.run("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is not dark


def test_the_page_would_complain(tab: Tab, families_report: Path, tmp_path: Path) -> None:
    """What the tests above look for is seen when it is there."""
    text = families_report.read_text(encoding="utf-8")
    spoiled = tmp_path / "spoiled.html"
    extra = "<img src='http://localhost:9/x.png'><script>document.title = 'owned'</script>"
    spoiled.write_text(text.replace("<footer>", f"{extra}<footer>"), encoding="utf-8")
    tab.complaints.clear()
    tab.open(spoiled)
    assert any("Content Security Policy" in words for words in tab.complaints)
    assert tab.run("document.title") != "owned"


def test_questions_are_filtered(tab: Tab, families_report: Path) -> None:
    tab.open(families_report)
    everything = tab.run(f"{VISIBLE}.length")
    choose(tab, "find", "Female SEX", "input")
    assert tab.run(f"{VISIBLE}.length") == 0
    assert tab.run("document.getElementById('found').textContent") == "No question matches."
    choose(tab, "find", "veh MARRIED", "input")
    texts = tab.run(f"{VISIBLE}.map((row) => row.cells[0].textContent)")
    assert texts
    assert all("veh" in text and "married" in text for text in texts)
    choose(tab, "find", "", "input")
    choose(tab, "family", "relation")
    choose(tab, "attribute", "age")
    rows = tab.run(f"{VISIBLE}.map((row) => [row.dataset.family, row.dataset.attributes])")
    assert rows
    assert all(family == "relation" and '"age"' in names for family, names in rows)
    choose(tab, "family", "")
    choose(tab, "attribute", "")
    assert tab.run(f"{VISIBLE}.length") == everything


def test_columns_are_sorted(tab: Tab, families_report: Path) -> None:
    tab.open(families_report)
    for expected in ("descending", "ascending"):
        tab.run("document.querySelectorAll('#worst thead button')[2].click()")
        head = "document.querySelectorAll('#worst thead th')[2].getAttribute('aria-sort')"
        assert tab.run(head) == expected
        values = tab.run(f"{VISIBLE}.map((row) => Number(row.cells[2].dataset.value))")
        assert values == sorted(values, reverse=expected == "descending")
        assert len(set(values)) > 1


def test_attributes_are_chosen(tab: Tab, families_report: Path) -> None:
    tab.open(families_report)
    at = {name: str(index) for index, name in enumerate(["veh", "COUNT", "sex", "age"])}
    choose(tab, "one", at["age"])
    labels = tab.run(
        "[...document.querySelectorAll('[data-chart=one] text')].map((one) => one.textContent)"
    )
    assert "18 to 39" in labels
    choose(tab, "rows", at["sex"])
    choose(tab, "columns", at["veh"])
    caption = tab.run("document.querySelector('[data-chart=two] figcaption').textContent")
    assert caption == "sex (rows) by veh (columns): shares of people"
    # Turned round, the table still says the same of each combination.
    tip = "[...document.querySelectorAll('[data-chart=two] rect[data-tip]')][1].dataset.tip"
    one = tab.run(tip)
    assert one.startswith("sex: m\nveh: 1\n")
    choose(tab, "rows", at["veh"])
    choose(tab, "columns", at["sex"])
    other = tab.run(tip.replace("[1]", "[2]"))
    assert other.startswith("veh: 1\nsex: m\n")
    assert one.split("\n")[2:] == other.split("\n")[2:]
    tab.run("document.querySelector('#two-table summary').click()")
    tab.run("new Promise((done) => setTimeout(done, 50))")
    assert tab.run("document.querySelectorAll('#two-table tbody tr').length") == 6
    choose(tab, "tie", "1")
    caption = tab.run("document.querySelector('[data-chart=pairs] figcaption').textContent")
    assert "of head or spouse (rows) and of child (columns)" in caption


def test_tabs_follow_the_keyboard(tab: Tab, families_report: Path) -> None:
    tab.open(families_report)
    shown = "[...document.querySelectorAll('[role=tabpanel]')].map((one) => !one.hidden)"
    assert tab.run(shown) == [True, False]
    tab.run("document.getElementById('tab-comparison').focus()")
    tab.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", code="ArrowRight")
    assert tab.run(shown) == [False, True]
    assert tab.run("document.activeElement.id") == "tab-certificate"
    assert "To every home:" in tab.run("document.getElementById('promise').textContent")


def test_values_are_shown_under_the_pointer(tab: Tab, families_report: Path) -> None:
    tab.open(families_report)
    bar = "document.querySelector('[data-chart=sizes] rect[data-tip]')"
    tab.run(f"{bar}.scrollIntoView({{ block: 'center' }})")
    # A busy browser may take a while until it has scrolled and drawn.
    for turn in range(100):
        place = tab.run(
            f"(() => {{ const at = {bar}.getBoundingClientRect(); "
            "return [at.x + at.width / 2, at.y + at.height / 2]; })()"
        )
        tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1] + turn % 2)
        if not tab.run("document.querySelector('.tip').hidden"):
            break
        tab.run("new Promise((done) => setTimeout(done, 50))")
    else:
        pytest.fail("nothing is shown under the pointer")
    assert "difference" in tab.run("document.querySelector('.tip').textContent")


def test_hostile_names_are_shown_as_they_are(tab: Tab, hostile_report: Path) -> None:
    tab.open(hostile_report)
    assert tab.run("document.title").startswith("NOT PRIVATE")
    options = tab.run("[...document.getElementById('one').options].map((one) => one.textContent)")
    assert {QUOTES, SCRIPT} <= set(options)
    choose(tab, "one", str(options.index(QUOTES)))
    tips = tab.run(
        "[...document.querySelectorAll('[data-chart=one] [data-tip]')]"
        ".map((one) => one.dataset.tip)"
    )
    assert any(tip.startswith(CLOSING) for tip in tips)
    choose(tab, "attribute", QUOTES)
    assert tab.run(f"{VISIBLE}.length") > 0
    assert tab.run("document.querySelectorAll('img, main b, main i').length") == 0
