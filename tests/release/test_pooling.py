"""Standard errors from replicates: right where the truth is known, for whatever is given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student_t

from kinfolk import KinfolkError, pool

TRIALS = 20_000
TABLE = pd.DataFrame({"sex": [1, 2, 2]})
FALSE_ALARM = 5.0
"""Standard deviations; one in a million is beyond."""


def coverage(replicates: int, *, bias: float, told: float, level: float = 0.9) -> float:
    """How often intervals hold 0, for normal errors of which replicates show some of the bias."""
    rng = np.random.default_rng(1)
    main = bias + rng.standard_normal(TRIALS)
    again = main + told + rng.standard_normal((replicates, TRIALS))
    found = pool(main, list(again), level=level)
    return float(np.mean((found.low <= 0) & (found.high >= 0)))


@pytest.mark.parametrize("replicates", [4, 8, 40])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_hold_the_truth_at_least_as_often_as_they_say(
    replicates: int, level: float
) -> None:
    """Normal errors, the same in replicates; at most a little more often than they say."""
    held = coverage(replicates, bias=0.0, told=0.0, level=level)
    margin = FALSE_ALARM * np.sqrt(level * (1 - level) / TRIALS)
    assert level - margin < held < level + (1 - level) * 0.65


@pytest.mark.parametrize(("bias", "told"), [(1, 1), (4, 4), (4, 2), (2, 1), (-3, -3)])
def test_bias_that_replicates_show_is_taken_off(bias: float, told: float) -> None:
    """Also where they show only half of it; without correction, most would be beside it."""
    margin = FALSE_ALARM * np.sqrt(0.9 * 0.1 / TRIALS)
    assert coverage(8, bias=bias, told=told) > 0.9 - margin


def test_the_arithmetic_is_that_of_the_page() -> None:
    main, again = 3.0, np.array([3.5, 4.0, 3.0, 3.5])
    found = pool(main, again.tolist(), level=0.8)
    assert found.bias == pytest.approx(0.5)
    assert found.estimate == pytest.approx(2.5)
    error = np.sqrt(again.var(ddof=1) * 1.25 + 0.25)
    assert found.error == pytest.approx(error)
    reach = student_t.ppf(0.9, 3) * error
    assert (found.low, found.high) == pytest.approx((2.5 - reach, 2.5 + reach))
    assert (found.level, found.replicates) == (0.8, 4)


def test_results_have_the_form_of_what_is_given() -> None:
    assert isinstance(pool(1, [2, 3]).error, float)
    assert pool(np.ones((2, 3)), [np.ones((2, 3))] * 2).low.shape == (2, 3)
    by_name = pool({"a": 1.0, "b": 2.0}, [{"b": 2.0, "a": 1.5}, {"a": 0.5, "b": 2.0}])
    assert by_name.estimate == {"a": 1.0, "b": 2.0}
    assert by_name.to_pandas().loc["b", "error"] == 0
    main = pd.Series({"x": 1.0, "y": 2.0})
    found = pool(main, [pd.Series({"y": 2.0, "x": 3.0}), pd.Series({"x": 1.0})])
    assert found.estimate["x"] == pytest.approx(0.0)
    assert np.isnan(found.error["y"])
    assert list(found.to_pandas().columns) == ["estimate", "error", "low", "high", "bias"]
    table = pd.DataFrame({"p": [1.0], "q": [2.0]}, index=["r"])
    assert pool(table, [table, table]).low.equals(table)
    assert pool([1.0, 2.0], [[1.0, 2.0]] * 3).to_pandas().shape == (2, 5)


def test_numbers_of_a_data_frame_keep_the_labels_of_both_sides() -> None:
    rows = pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["sex", "level"])
    main = pd.DataFrame({"wage": [1.0, 2.0], "age": [3.0, np.nan]}, index=rows)
    found = pool(main, [main, main])
    long = found.to_pandas()
    assert long.index.names == ["sex", "level", None]
    assert long.loc[(2, "b", "wage"), "estimate"] == 2
    assert list(long["estimate"].isna()) == [False, False, False, True]
    assert '<th scope="row">1, a, age</th><td>3</td>' in found._repr_html_()


def test_a_notebook_shows_every_number_under_its_name() -> None:
    shown = pool({"<a>": 1.0}, [{"<a>": 1.5}, {"<a>": 0.5}])._repr_html_()
    assert "&lt;a&gt;" in shown
    assert "bias taken off" in shown
    assert repr(pool([1, 2], [[1, 2]] * 3)) == "Pooled(2 numbers from 3 replicates)"
    assert "<td>1</td>" in pool(pd.Series({"k": 1.0}), [pd.Series({"k": 1.0})] * 2)._repr_html_()


@pytest.mark.parametrize(
    ("main", "replicates", "level", "message"),
    [
        (1.0, [1.0], 0.9, "1 of them say nothing about a standard error"),
        (1.0, [], 0.9, "0 of them say nothing"),
        (1.0, [1.0, 2.0], 90, "level is 90. Use a number between 0 and 1"),
        (1.0, [1.0, [1.0, 2.0]], 0.9, r"replicate 2 has the shape \(2,\), and main \(\)"),
        ("a", ["b", "c"], 0.9, "main is a str, which is no number"),
        ({"a": 1}, [{"b": 1}, {"a": 2}], 0.9, "replicate 1 does not have the same names"),
        (pd.Series([1.0]), [1.0, 2.0], 0.9, "replicate 1 is not a Series, as main is"),
        (1.0, 2.0, 0.9, "replicates is a float. Give a list"),
        (1.0, {"a": 2.0, "b": 1.0}, 0.9, "replicates is a dict. Give a list"),
        (None, [None, None], 0.9, "main is None. Does the function .* return anything"),
        (1.0, [1.0, None], 0.9, "replicate 2 is None"),
        ({"persons": TABLE}, [{"persons": TABLE}] * 2, 0.9, "a statistic on tables first"),
        ({"a": [1.0, 2.0]}, [{"a": [1.0, 2.0]}] * 2, 0.9, "main has a list under 'a', not one"),
    ],
)
def test_what_cannot_be_pooled_is_refused(
    main: object, replicates: list, level: float, message: str
) -> None:
    with pytest.raises(KinfolkError, match=message):
        pool(main, replicates, level)
