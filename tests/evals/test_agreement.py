"""The agreement figures, held against published worked examples."""

import pytest

from tripwright.evals.study import majority
from tripwright.statistics.agreement import (
    cohens_kappa,
    krippendorff_alpha,
    percent_agreement,
)


def items(*raters: str) -> list[dict[str, str]]:
    """Each text is one rater's labels, a character for each item; a dot is a missing one."""
    names = "ABCDEFGHIJKLMN"
    return [
        {names[i]: label for i, label in enumerate(column) if label != "."}
        for column in zip(*raters, strict=True)
    ]


def test_cohens_own_example():
    """Cohen (1960), A coefficient of agreement for nominal scales, table 2: 200 cases, p_o = .70,
    p_e = .41, κ = .492."""
    table = [[88, 10, 2], [14, 40, 6], [18, 10, 12]]
    pairs = [
        (i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)
    ]
    assert cohens_kappa(pairs) == pytest.approx(0.29 / 0.59)
    assert round(cohens_kappa(pairs) or 0, 3) == 0.492
    assert percent_agreement([{"A": a, "B": b} for a, b in pairs]) == pytest.approx(0.70)


@pytest.mark.parametrize(
    ("raters", "alpha"),
    [
        (("0100000010", "1110010000"), 0.095),  # A: binary, two observers, no missing data
        (("aabbdcccedda", "babbbccceddd"), 0.692),  # B: nominal, two observers
        (
            ("123321412...", "1233224125.3", ".3332342251.", "12332441251."),
            0.743,
        ),  # C: four, missing data
    ],
)
def test_krippendorffs_own_examples(raters, alpha):
    """Krippendorff (2011), Computing Krippendorff's alpha-reliability, examples A, B and C."""
    assert round(krippendorff_alpha(items(*raters)) or 0, 3) == alpha


def test_perfect_agreement_is_one_and_what_cannot_be_told_is_none():
    same = items("1010", "1010", "1010")
    assert percent_agreement(same) == krippendorff_alpha(same) == 1
    for one_label in (items("111", "111"), []):
        assert krippendorff_alpha(one_label) is None
    assert percent_agreement(items("10", "..")) is None


def test_percent_agreement_weighs_items_alike():
    """One item with three labels, of which one pair in three agrees, and one with two that
    agree."""
    assert percent_agreement(
        [{"A": 1, "B": 1, "C": 0}, {"A": 1, "B": 1}, {"A": 1}]
    ) == pytest.approx((1 / 3 + 1) / 2)


def test_majorities():
    assert majority([True, True, False]) is True and majority([False]) is False
    assert majority([True, False]) is None and majority([]) is None
