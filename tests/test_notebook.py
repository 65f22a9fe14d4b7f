"""What notebooks show is small and escaped, whatever the names of the data are."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kinfolk
from kinfolk.models.histogram import Histogram
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.queries.workload import Workload
from kinfolk.schema import (
    Categorical,
    GroupTable,
    IndividualTable,
    Role,
    Roles,
    Schema,
    WorkloadSpec,
)
from kinfolk.template import show

HOSTILE = "<img src=x onerror=alert(1)>&amp;'\""

SCHEMA = Schema(
    group=GroupTable(
        table=HOSTILE,
        id="id",
        attributes={HOSTILE: Categorical(values=[1, 2], labels=["<b>", HOSTILE])},
    ),
    individual=IndividualTable(
        table="people", group_id="id", attributes={"sex": Categorical(values=[1, 2])}
    ),
    max_size=2,
    roles=Roles(
        column="role",
        roles={HOSTILE: Role(values=[0], min=1, max=1), "other": Role(values=[1], min=0, max=1)},
    ),
    relations={HOSTILE: ((HOSTILE, "other"),)},
    workload=WorkloadSpec(k=1, levels=["group", "individual", "relation"]),
    domain="drafted",
)


class Reader(HTMLParser):
    """Collects the elements and the text of a fragment."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.add(tag)
        assert all(name == "scope" for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def tables() -> dict[str, pd.DataFrame]:
    group, people = SCHEMA.table_names
    name = next(iter(SCHEMA.group_attributes))
    return {
        group: pd.DataFrame({"id": [1, 2], name: [1, 2]}),
        people: pd.DataFrame({"id": [1, 2, 2], "sex": [1, 2, 1], "role": [0, 0, 1]}),
    }


@pytest.fixture(scope="module")
def release() -> kinfolk.Release:
    maker = kinfolk.Synthesizer(
        SCHEMA, unit="group", epsilon=1.0, delta=1e-6, seed=1,
        method="hpd-fixed", rounds=1, components=2, max_iterations=1,
    )  # fmt: skip
    return maker.fit(tables()).release


def shown(thing: Any) -> Reader:
    html = thing._repr_html_()
    assert len(html) < 20_000
    found = Reader(html)
    assert found.elements <= {"table", "caption", "tr", "th", "td", "p", "strong"}
    return found


def test_schema() -> None:
    text = shown(SCHEMA).text
    assert HOSTILE in text
    assert "the domain itself leaks" in text


def test_workload() -> None:
    workload = Workload.of(SCHEMA)
    text = shown(workload).text
    assert f"Q_R {HOSTILE}" in text
    assert f"all{len(workload.marginals)}{workload.size}" in text


def test_models() -> None:
    mixture = HPD.random(Layout.of(SCHEMA), 1234, np.random.default_rng(1))
    assert "1,234" in shown(mixture).text
    histogram = Histogram.uniform(SCHEMA)
    assert f"{histogram.probabilities.size:,}" in shown(histogram).text


def test_certificate_and_release(release: kinfolk.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "model")
    again = kinfolk.load(tmp_path / "model")
    for one in (release, again, release.certificate, again.certificate):
        text = shown(one).text
        assert "NOT PRIVATE" in text
        assert "epsilon = 1, delta = 1e-06" in text
        assert HOSTILE in text
    assert "hpd-fixed" in shown(release).text


def test_a_synthesizer_and_a_plan() -> None:
    maker = kinfolk.Synthesizer(SCHEMA, unit="group", epsilon=1.0, delta=1e-6)
    text = shown(maker).text
    assert "not fitted" in text
    assert "epsilon = 1, delta = 1e-06" in text
    families = shown(maker.plan(1000, benchmark=False)).text
    assert f"Q_R {HOSTILE}" in families
    assert "1,000 groups" in families


def test_a_draft_and_what_was_validated() -> None:
    assert HOSTILE in shown(kinfolk.draft(tables())).text
    text = shown(kinfolk.validate(SCHEMA, tables())).text
    assert HOSTILE in text
    assert "not private" in text


def test_half_a_character_can_be_shown() -> None:
    assert show("\ud800", []).encode() == b"<table><caption>?</caption></table>"
