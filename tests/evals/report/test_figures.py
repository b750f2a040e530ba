"""Drawings: what they carry in figures and words, marked levels, the frontier of cost, shaded
tables, columns of lengths."""

import csv
import io
import re
from xml.etree import ElementTree

import pytest

from tripwright.evals.report.charts import (
    Grid,
    Histogram,
    Lines,
    Series,
    binned,
    csv_text,
    edges,
    smoothed,
    spread,
)
from tripwright.evals.report.learning import best, first_reached, frontier, frontier_figures, thin


def rows_of(chart):
    return list(csv.reader(io.StringIO(chart.csv)))


def test_a_chart_carries_the_figures_it_shows():
    points = tuple((float(x), x / 10) for x in range(5))
    band = tuple((x, y - 0.1, y + 0.1) for x, y in points[:2])
    series = [Series("a, b", points, band=band), Series("dots", ((1.0, 0.5),), dots=True)]
    chart = Lines("T", "step", "share", series, smooth=3)
    head, *rows = rows_of(chart)
    assert head == [
        "step",
        *(f"a, b{what} [share]" for what in ("", ", running mean", ", low", ", high")),
        "dots [share]",
    ]
    assert rows[1] == ["1", "0.1", f"{smoothed(points, 3)[1][1]:.6g}", "0", "0.2", "0.5"]
    assert rows[4] == ["4", "0.4", "0.35", "", "", ""]


def test_stacked_areas_carry_each_share_alone():
    series = [Series("a", ((1.0, 0.25), (2.0, 0.5))), Series("b", ((1.0, 0.75), (2.0, 0.5)))]
    chart = Lines("T", "step", "share", series, percent=True, stacked=True)
    assert rows_of(chart)[1] == ["1", "0.25", "0.75"]


def test_a_chart_says_what_is_seen_to_whoever_does_not_see_it():
    series = [Series("pass", ((1.0, 0.2), (2.0, 0.9), (3.0, 0.8)))]
    chart = Lines("T", "step", "share", series, percent=True, levels={"goal": 0.81})
    root = ElementTree.fromstring(chart.svg)
    assert root.get("aria-label") == "T" and root.get("role") == "img"
    told = root.findtext("{http://www.w3.org/2000/svg}desc")
    assert (
        told
        == "Across: step, 1 to 3. Up: share. pass: from 20.0% to 80.0%, at most 90.0%. Marked level: goal."
    )


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=cmd()", "'=cmd()"),
        ("+41 pp", "'+41 pp"),
        ("-1.5", "-1.5"),
        ("@a", "'@a"),
        (-0.5, "-0.5"),
        (None, ""),
        (float("nan"), ""),
    ],
)
def test_a_spreadsheet_takes_no_text_for_a_formula(value, written):
    assert next(csv.reader(io.StringIO(csv_text([], [[value]]).partition("\n")[2]))) == [written]


def test_figures_survive_the_page_whatever_they_are_called():
    names = ["</metadata><script>", 'a "quoted" & b', "two\nlines"]
    chart = Lines("T", "", "", [Series(name, ((1.0, 2.0), (2.0, 3.0))) for name in names])
    assert rows_of(chart)[0][1:] == names and "<script>" not in chart.svg


def test_a_drawing_alone_has_its_colours_in_it():
    alone = Lines("T", "step", "share", [Series("a", ((1.0, 0.2), (2.0, 0.9)))]).standalone
    assert "var(" not in alone and "<metadata>" not in alone and "<desc>" in alone
    ElementTree.fromstring(alone)


def test_a_marked_level_and_a_marked_point_lie_at_the_same_height():
    series = [Series("a", ((1.0, 0.2), (2.0, 0.9)), ring=(1.5, 0.5))]
    chart = Lines("T", "step", "share", series, percent=True, levels={"half": 0.5}).svg
    level = re.search(r'd="M 48 ([\d.]+)\nL [\d.]+ \1\n" [^>]*stroke-dasharray: 5,4', chart)
    ring = re.search(r'<use href="#\w+" x="[\d.]+" y="([\d.]+)"[^>]*/>(?!.*<use)', chart, re.S)
    assert level and ring and level[1] == ring[1]


def test_a_logarithmic_axis_leaves_out_what_it_cannot_show():
    series = [Series("a", ((0.0, 0.1), (1e9, 0.2), (1e12, 0.3)))]
    chart = Lines("T", "FLOPs", "share", series, log_x=True)
    assert [row[0] for row in rows_of(chart)[1:]] == ["1e+09", "1e+12"]
    assert not Lines("T", "FLOPs", "share", [Series("a", ((0.0, 0.1),))], log_x=True)
    assert re.findall(r">(\d+[GT])</text>", chart.svg)[:4] == ["1G", "2G", "5G", "10G"]


def test_the_frontier_is_what_was_reached_for_at_most_so_much():
    slow, fast = ((1.0, 0.1), (4.0, 0.9)), ((2.0, 0.5), (3.0, 0.4), (6.0, 0.6))
    assert frontier([slow, fast]) == (
        (1.0, 0.1),
        (2.0, 0.1),
        (2.0, 0.5),
        (4.0, 0.5),
        (4.0, 0.9),
        (6.0, 0.9),
    )
    assert frontier([]) == ()


def test_runs_are_compared_by_what_it_cost_to_reach_90_percent_of_the_best(make):
    runs = {
        "good": make.rl_rows(20, 0.8),
        "cheap": make.rl_rows(20, 0.76, flops=1e11),
        "poor": make.rl_rows(20, 0.3),
    }
    assert best(runs["good"]) == 0.8
    assert first_reached(runs["good"], 0.72, "flops_update_total") == 18e12
    assert first_reached(runs["poor"], 0.72, "flops_update_total") is None
    drawn = frontier_figures(runs, {"good": [(10.0, 0.35)]})
    assert len(drawn) == 2 and "90% of the best: 72.0%" in drawn[0].chart.levels
    chart = drawn[0].chart
    head, *rows = rows_of(chart)
    assert [name.partition(" [")[0] for name in head[1:]] == [
        "frontier",
        "good",
        "cheap",
        "poor",
        "good, examined",
    ]
    assert [row for row in rows if row[-1]] == [["1e+13", *row_at(rows, "1e+13")]]
    rings = re.findall(r"<use[^>]*stroke: var\(--panel\)", chart.svg)
    assert len(rings) == 2  # the poor run never reaches it


def row_at(rows, x):
    return next(row for row in rows if row[0] == x)[1:]


def test_no_cost_is_made_up(make):
    rows = [
        {key: value for key, value in row.items() if not key.startswith("flops")}
        for row in make.rl_rows(5, 0.5)
    ]
    assert frontier_figures({"a": rows}) == [] == frontier_figures({"a": []})


def test_darker_cells_hold_more_and_what_is_not_there_is_blank():
    cells = {("a", "x"): 0.0, ("a", "y"): 0.5, ("b", "y"): 1.0}
    about = ("T", "row", "column", "things")
    drawn = Grid(*about, ["a", "b"], ["x", "y"], cells, strong={("b", "y")})
    opacity = [float(found) for found in re.findall(r"fill-opacity: ([\d.]+)", drawn.svg)]
    assert opacity == sorted(opacity) and len(set(opacity)) == 3
    assert re.findall(r'style="(font-weight: 700)?[^"]*"[^>]*>(\d+)</text>', drawn.svg) == [
        ("", "0"),
        ("", "50"),
        ("font-weight: 700", "100"),
    ]
    assert rows_of(drawn) == [
        ["row [share of things]", "x", "y"],
        ["a", "0", "0.5"],
        ["b", "", "1"],
    ]
    assert not Grid(*about, [], ["x"], {})


def test_every_episode_is_in_one_column_and_those_cut_off_are_apart():
    lengths = [(0.0, False), (99.0, True), (100.0, False), (240.0, True)]
    limits = edges(240.0)
    assert limits[0] == 0 and limits[-1] > 240
    found = binned(lengths, limits)
    assert sum(whole for _, _, whole, _ in found) == 0.5 and sum(cut for *_, cut in found) == 0.5
    assert next(each for each in found if each[0] <= 100 < each[1])[2] == 0.25
    drawn = Histogram("T", "tokens written", lengths, limits, 0.5)
    assert "cut off by a limit: 50.0%" in drawn.svg and len(rows_of(drawn)) == len(limits)
    assert edges(0.0) == [0.0, 1.0] and not Histogram("T", "tokens", [], limits, 0.5)


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize(
    "points",
    [[], [(1, 0.0)], [(1, 0.0), (2, 0.0)], [(5, -3.0), (6, 2.0)], [(1, 1e-9), (10**6, 1e9)]],
)
@pytest.mark.parametrize("log", [False, True])
def test_charts_stand_any_points(points, log, stacked):
    series = [Series("a & b", tuple(points))]
    chart = Lines("t", "step", "unit", series, log=log, stacked=stacked, percent=stacked)
    if chart:
        ElementTree.fromstring(chart.svg)
        assert "nan" not in chart.svg and "inf" not in chart.svg


def test_labels_and_thinning():
    placed = spread([50, 50, 52, 200], 14, 0, 200)
    gaps = [b - a for a, b in zip(placed, placed[1:], strict=False)]
    assert sorted(placed) == placed and min(gaps) >= 14
    thinned = ((1, 0.5), (3, 2.5), (5, 4.5), (7, 6.5), (9, 8.5))
    assert thin([(i, float(i)) for i in range(10)], 5) == thinned


def test_a_line_ends_at_its_mean_not_in_a_hook():
    points = [(float(x), 1.0) for x in range(49)] + [(49.0, 11.0)]
    assert smoothed(points, 5)[-1] == (49.0, pytest.approx(13 / 3))
