"""The agreement figures, held against published worked examples; and where nothing can be said."""

import pytest

from tripwright.evals.study import majority
from tripwright.statistics.agreement import (
    agreement,
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


# ---- of a judge with people

Pairs = list[tuple[str, str]]


def table(counts: list[list[int]], labels: str) -> Pairs:
    """counts[judge][reference] → pairs"""
    return [
        (labels[j], labels[r])
        for j, row in enumerate(counts)
        for r, count in enumerate(row)
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("counts", "kappa"),
    [
        # Two readers of 50 grant proposals: p_o = 0.70, p_e = 0.50 (the worked example of the
        # encyclopedias).
        ([[20, 5], [10, 15]], 0.4),
        # The same agreement of 60 in 100, with unequal and with equal habits.
        ([[45, 15], [25, 15]], 0.1304),
        ([[25, 35], [5, 35]], 0.2593),
        # Cohen (1960), A coefficient of agreement for nominal scales, table 2: p_o = .70, p_e = .41
        ([[88, 10, 2], [14, 40, 6], [18, 10, 12]], 0.29 / 0.59),
    ],
)
def test_kappa_as_worked_out_in_print(counts, kappa):
    pairs = table(counts, "abc")
    assert cohens_kappa(pairs) == pytest.approx(kappa, abs=5e-5)
    assert cohens_kappa([(r, j) for j, r in pairs]) == cohens_kappa(pairs)


def test_the_ends_of_the_scale():
    assert cohens_kappa(table([[7, 0], [0, 3]], "ab")) == 1
    assert cohens_kappa(table([[9, 1], [0, 0]], "ab")) == 0, (
        "a judge that passes everything agrees in 90% by luck alone"
    )
    assert cohens_kappa(table([[0, 5], [5, 0]], "ab")) == -1
    assert cohens_kappa(table([[5]], "a")) is None and cohens_kappa([]) is None


def test_a_table_with_its_intervals():
    counts = {(True, True): 20, (False, True): 5, (True, False): 10, (False, False): 15}
    items = [[pair] for pair, count in counts.items() for _ in range(count)]
    found = agreement(items, seed=3)
    assert found["labels"] == ["pass", "fail"]
    assert found["confusion"] == [[20, 5], [10, 15]], "[reference][judge]"
    assert (found["items"], found["n"]) == (50, 50)
    assert (found["accuracy"]["k"], found["accuracy"]["value"]) == (35, 0.7)
    # Its large-sample standard error is 0.127 (by the formula of Fleiss, Cohen and Everitt), so 0.4
    # ± 0.249; a bootstrap comes near.
    bounds = (0.4, pytest.approx(0.151, abs=0.05), pytest.approx(0.649, abs=0.05))
    assert (pytest.approx(found["kappa"]), found["low"], found["high"]) == bounds
    assert agreement(items, seed=3) == found


def test_turns_of_one_transcript_are_one_item():
    """Ten transcripts of ten like turns say no more than ten turns: the interval is that of the
    ten."""
    verdicts = [(True, True)] * 5 + [(False, False)] * 3 + [(True, False)] * 2
    alone = agreement([[pair] for pair in verdicts])
    many = agreement([[pair] * 10 for pair in verdicts])
    assert many["n"] == 100 and many["items"] == 10
    for figure in ("kappa", "low", "high"):
        assert many[figure] == alone[figure]


def test_where_nothing_was_measured():
    same = agreement([[(True, True)]] * 4)
    assert same["kappa"] is None is same["low"]
    assert same["resamples_undefined"] == same["accuracy"]["value"] == 1.0
    nearly = agreement([[(True, True)]] * 3 + [[(False, False)]])
    # 0.75^4 + 0.25^4 = 0.32 of the resamples
    assert nearly["kappa"] == 1 and 0.2 < nearly["resamples_undefined"] < 0.45
    none = agreement([[], []])
    assert (none["items"], none["n"]) == (0, 0)
    assert none["kappa"] is None is none["accuracy"]["value"]
    third = agreement([[(None, True)]], (True, False, None))["confusion"]
    assert third == [[0, 0, 1], [0] * 3, [0] * 3]
    with pytest.raises(ValueError, match="none of the labels"):
        agreement([[("maybe", True)]])
