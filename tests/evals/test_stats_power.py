"""How many queries it takes: published values, and the exact power at what the formula says."""

import json
from math import comb

import pytest

from tripwright.cli.main import main
from tripwright.evals.power import detectable, paired_queries, unpaired_queries
from tripwright.statistics.rates import mcnemar_exact


def exact_power(queries: int, difference: float, discordance: float) -> float:
    """Of McNemar's exact test: the chance of the tables (gained, lost) that it rejects."""
    up = (discordance + difference) / (2 * discordance)
    power = 0.0
    for differing in range(1, queries + 1):
        ways = comb(queries, differing)
        chance = ways * discordance**differing * (1 - discordance) ** (queries - differing)
        if chance > 1e-9:
            power += chance * sum(
                comb(differing, gained) * up**gained * (1 - up) ** (differing - gained)
                for gained in range(differing + 1)
                if mcnemar_exact(gained, differing - gained) <= 0.05
            )
    return power


def test_published_values():
    # The example in the help of R's power.prop.test: p1 = .50, p2 = .75, power = .90 gives n = 76.7
    # in each group.
    assert unpaired_queries(0.5, 0.75, power=0.9) == 77
    # Connor's formula by hand: (1.959964 √0.2 + 0.841621 √(0.2 − 0.0025))² / 0.0025 = 626; 1 / 0.05
    assert paired_queries(0.05, 0.2) == 646


@pytest.mark.parametrize("power", [0.8, 0.9])
@pytest.mark.parametrize("sizes", [(0.05, 0.1), (0.1, 0.3), (0.2, 0.25), (0.3, 0.4), (0.5, 0.75)])
def test_the_exact_test_has_the_power_that_was_asked_for(sizes, power):
    assert power - 0.01 < exact_power(paired_queries(*sizes, power), *sizes) < power + 0.05


def test_pairing_pays_where_runs_agree():
    independent = 0.45 * 0.5 + 0.5 * 0.55  # of two runs that have nothing in common
    needed = [paired_queries(0.05, d) for d in (0.05, 0.1, 0.3, independent)]
    assert needed == sorted(needed) and needed[-1] == pytest.approx(
        unpaired_queries(0.45, 0.5), rel=0.02
    )


def test_what_is_detectable_takes_so_many_queries():
    shown = detectable(60, 1 / 6, 1 / 6)
    assert shown is not None and paired_queries(shown, 1 / 6) in (59, 60)
    # one query that differs proves nothing
    assert detectable(10, 0.1, 0.1) is None


def test_the_verb_says_it_in_words_and_in_json(capsys):
    assert main(["power", "--points", "5", "--rate", "0.45"]) == 0
    text = capsys.readouterr().out
    assert "nothing in common" in text and f"{paired_queries(0.05, 0.495 + 0.005):,}" in text
    assert main(["power", "--rate", "0.45", "--discordance", "0.2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["paired"] == [{"discordance": 0.2, "queries": 646, "words": ""}]
    assert found["unpaired"] == unpaired_queries(0.45, 0.5)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--rate", "0.98"), "make a pass rate of 103%"),
        (("--discordance", "0.01"), "accepted from 0.05"),
        (("--rate", "0.05", "--discordance", "0.9"), "to 0.15"),
    ],
)
def test_what_the_verb_refuses(words, told, capsys):
    assert main(["power", *words]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1
