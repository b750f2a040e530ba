"""The one printer of tables."""

from tripwright.cli.table import rate_cells, table_lines


def test_columns_are_aligned_as_asked_and_by_the_width_of_wide_characters():
    rows = [["東京", "1", "10"], ["Boston", "200"]]
    assert table_lines(rows, "<>", ["", "n", "all"]) == [
        "            n  all",
        "  東京      1   10",
        "  Boston  200",
    ]


def test_a_table_without_rows_has_no_lines():
    assert table_lines([]) == []


def test_a_rate_nobody_could_measure_has_a_dash():
    known = {"value": 0.5, "low": 0.1, "high": 0.9, "k": 1, "n": 2}
    assert rate_cells(known) == ["50.0%", "[10.0%, 90.0%]", "1/2"]
    assert rate_cells(known | {"value": None, "low": None, "k": 0, "n": 0}) == ["-", "", "0/0"]
