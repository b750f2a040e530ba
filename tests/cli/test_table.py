"""The one printer of tables."""

from tripwright.cli.table import figure_lines, rate_cells, table_lines


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


def test_figures_are_lines_and_tables():
    """Objects that are alike are a table, whatever a name holds that came out of a file."""
    rate = {"value": 0.5, "low": 0.1, "high": 0.9, "k": 1, "n": 2}
    runs = {"a": {"kept": 1_200, "fits": True}, "b\n": {"kept": 7}}
    assert figure_lines(
        {"left_out": None, "mean": 1234.5, "runs": runs, "metrics": {"final": rate}}
    ) == [
        "left out  -",
        "mean      1,234",
        "",
        "runs",
        "      kept  fits",
        "  a  1,200   yes",
        "  b      7     -",
        "",
        "metrics",
        "  final  50.0% [10.0%, 90.0%] 1/2",
    ]
