"""How many queries it takes: published values, the limits of the formulas, and the exact power at
what they say."""

import json

import pytest

from tripwright.cli.main import Verb
from tripwright.cli.main import main as run_main
from tripwright.evals.power import Scatter, connor, paired_power, paired_queries, unpaired_queries

VERBS = (Verb("power", "tripwright.cli.power", "power", "Power."),)


def power(*words: str) -> int:
    return run_main(["power", *words], VERBS)


def test_published_values():
    # The example in the help of R's power.prop.test: p1 = .50, p2 = .75, power = .90 gives n = 76.7
    # in each group.
    assert unpaired_queries(0.5, 0.75, power=0.9) == 77
    # Connor's formula by hand: (1.959964 √0.2 + 0.841621 √(0.2 − 0.0025))² / 0.0025 = 626.
    assert 625 < connor(0.05, 0.2, 0.8, 0.05) <= 626


def test_the_exact_test_has_the_power_that_was_asked_for():
    for difference, discordance in [(0.05, 0.05), (0.05, 0.1), (0.1, 0.3)]:
        queries, reached = paired_queries(difference, discordance)
        assert reached is not None and reached >= 0.8
        assert queries >= connor(difference, discordance, 0.8, 0.05)
        assert paired_power(queries // 2, difference, discordance) < 0.8
    assert paired_queries(0.01, 0.5)[1] is None  # too many to be summed


def test_pairing_pays_where_runs_agree():
    independent = 0.45 * 0.5 + 0.5 * 0.55  # of two runs that have nothing in common
    needed = [connor(0.05, d, 0.8, 0.05) for d in (0.05, 0.1, 0.3, independent)]
    assert needed == sorted(needed) and needed[-1] == pytest.approx(
        unpaired_queries(0.45, 0.5), rel=0.01
    )


def test_under_no_difference_the_exact_test_keeps_its_promise():
    assert all(paired_power(n, 0.0, 0.3) <= 0.05 for n in (5, 20, 60, 200))


def test_a_run_that_was_played_says_what_the_formula_says_for_its_discordance():
    # a mean of 16.7 points, which is not what is asked about
    played = Scatter.of([1.0] * 10 + [0.0] * 50, one_sample=True)
    assert played.needed(0.05) == paired_queries(0.05, 10 / 60)[0] == 556
    shown = played.detectable()
    assert shown is not None and paired_power(60, shown, 10 / 60) == pytest.approx(0.8, abs=0.01)
    assert played.needed(0.2) is None  # one query in six differs: they cannot differ by one in five


def test_several_samples_scatter_less_and_what_is_detectable_takes_so_many_queries():
    quarters = Scatter.of([0.5, -0.25, 0.25, 0.0] * 25, one_sample=False)
    assert (quarters.discordance, quarters.mean_square, quarters.largest) == (0.75, 0.09375, 0.25)
    # By hand: (1.959964 √0.09375 + 0.841621 √(0.09375 − 0.0025))² / 0.0025 = 291.96.
    assert quarters.needed(0.05) == 292
    shown = quarters.detectable()
    assert shown is not None and quarters.needed(shown) == pytest.approx(100, rel=0.02)
    assert quarters.needed(0.26) is None
    # one query that differs proves nothing
    assert Scatter.of([1.0] + [0.0] * 9, one_sample=True).detectable() is None


def test_the_verb_says_it_in_words_and_in_json(capsys):
    assert power("--points", "5", "--rate", "0.45") == 0
    text = capsys.readouterr().out
    assert "two runs that have nothing in common" in text and "1,565" in text
    assert (
        power("--points", "5", "--rate", "0.45", "--discordance", "0.2", "--count", "300", "--json")
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["unpaired"] is None and found["paired"] == [
        {
            "discordance": 0.2,
            "queries": 300,
            "power": pytest.approx(paired_power(300, 0.05, 0.2)),
            "words": "",
        }
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--rate", "0.98"), "make a pass rate of 103%"),
        (("--discordance", "0.01"), "accepted from 0.05 to"),
        (("--count", "100000"), "--count"),
        ((".",), "two runs, found 1"),
        (("nowhere", "neither"), "No run folder at 'nowhere'"),
    ],
)
def test_what_the_verb_refuses(words, told, capsys):
    assert power(*words) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1
