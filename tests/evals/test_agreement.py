"""The agreement figures, held against published worked examples."""

from __future__ import annotations

import pytest

from tripwright.evals.study import majority
from tripwright.statistics.agreement import (
    cohens_kappa,
    fleiss_kappa,
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


def test_cohens_own_example() -> None:
    """Cohen (1960), A coefficient of agreement for nominal scales, table 2: 200 cases, p_o = .70,
    p_e = .41, κ = .492."""
    table = [[88, 10, 2], [14, 40, 6], [18, 10, 12]]
    pairs = [
        (i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)
    ]
    assert cohens_kappa(pairs) == pytest.approx(0.29 / 0.59)
    assert round(cohens_kappa(pairs) or 0, 3) == 0.492
    assert percent_agreement([{"A": a, "B": b} for a, b in pairs]) == pytest.approx(0.70)


def test_fleiss_own_example() -> None:
    """Fleiss (1971), Measuring nominal scale agreement among many raters, table 1: 30 patients, 6
    psychiatrists, 5 diagnoses, κ = .430."""
    diagnoses = """444444 222555 233335 555555 222444 113333 333355 113334 114444 555555 144444 124444 222333 144444 224445
        333335 111455 111112 224444 133555 555555 244444 224555 114444 144445 222224 111155 224444 133333 555555"""
    found = fleiss_kappa([dict(enumerate_names(row)) for row in diagnoses.split()])
    assert round(found or 0, 3) == 0.430


def enumerate_names(row: str) -> list[tuple[str, str]]:
    return [(f"rater {i}", label) for i, label in enumerate(row)]


def test_fleiss_textbook_example() -> None:
    """The example of the encyclopedias: 10 subjects, 14 raters, 5 categories, κ = 0.210."""
    counts = "0000e 02642 00356 03920 22811 77000 32630 25322 65210 02237".split()  # e is 14
    table = [[int(c, 16) for c in row] for row in counts]
    rows = ["".join(str(k) * n for k, n in enumerate(row)) for row in table]
    assert {len(row) for row in rows} == {14}
    assert round(fleiss_kappa([dict(enumerate_names(row)) for row in rows]) or 0, 3) == 0.210


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
def test_krippendorffs_own_examples(raters: tuple[str, ...], alpha: float) -> None:
    """Krippendorff (2011), Computing Krippendorff's alpha-reliability, examples A, B and C."""
    assert round(krippendorff_alpha(items(*raters)) or 0, 3) == alpha


def test_alpha_is_fleiss_kappa_corrected_for_a_small_sample() -> None:
    """With equally many labels of each item: 1 − α = (1 − κ)·(n − 1)/n, n labels in all."""
    both = items("1100110101", "1101110001", "1100010111")
    kappa, alpha = fleiss_kappa(both), krippendorff_alpha(both)
    assert kappa is not None and alpha is not None
    assert 1 - alpha == pytest.approx((1 - kappa) * 29 / 30)


def test_perfect_agreement_is_one_and_what_cannot_be_told_is_none() -> None:
    same = items("1010", "1010", "1010")
    assert percent_agreement(same) == fleiss_kappa(same) == krippendorff_alpha(same) == 1
    for one_label in (items("111", "111"), []):
        assert fleiss_kappa(one_label) is None and krippendorff_alpha(one_label) is None
    assert percent_agreement(items("10", "..")) is None
    with pytest.raises(ValueError, match="equally many"):
        fleiss_kappa(items("111", "11.", "110"))


def test_percent_agreement_weighs_items_alike() -> None:
    """One item with three labels, of which one pair in three agrees, and one with two that
    agree."""
    assert percent_agreement(
        [{"A": 1, "B": 1, "C": 0}, {"A": 1, "B": 1}, {"A": 1}]
    ) == pytest.approx((1 / 3 + 1) / 2)


def test_majorities() -> None:
    assert majority([True, True, False]) is True and majority([False]) is False
    assert majority([True, False]) is None and majority([]) is None
