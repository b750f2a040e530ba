"""Drawings: what they carry in figures and words, costs, shaded tables."""

import csv
import io
from xml.etree import ElementTree

import pytest

from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.evals.report import report_page
from tripwright.evals.report.charts import Lines, Series, smoothed
from tripwright.evals.report.learning import cost_figures, failure_table, thin
from tripwright.evals.report.page import (
    INDEX,
    Figure,
    ReportPage,
    Section,
    check_export_folder,
    export,
)
from tripwright.files import csv_text


def rows_of(chart):
    return list(csv.reader(io.StringIO(chart.csv)))


def test_a_chart_carries_the_figures_it_shows():
    points = tuple((float(x), x / 10) for x in range(5))
    band = tuple((x, y - 0.1, y + 0.1) for x, y in points[:2])
    series = [Series("a, b", points, band=band), Series("dots", ((1.0, 0.5),), dots=True)]
    chart = Lines("T", "step", "share", series, smooth=3)
    head, *rows = rows_of(chart)
    columns = [f"a, b{what} [share]" for what in ("", ", running mean", ", low", ", high")]
    assert head == ["step", *columns, "dots [share]"]
    assert rows[1] == ["1", "0.1", f"{smoothed(points, 3)[1][1]:.6g}", "0", "0.2", "0.5"]
    assert rows[4] == ["4", "0.4", "0.35", "", "", ""]


def test_a_chart_says_what_is_seen_to_whoever_does_not_see_it():
    series = [Series("pass", ((1.0, 0.2), (2.0, 0.9), (3.0, 0.8)))]
    chart = Lines("T", "step", "share", series, percent=True)
    root = ElementTree.fromstring(chart.svg)
    assert root.get("aria-label") == "T" and root.get("role") == "img"
    told = root.findtext("{http://www.w3.org/2000/svg}desc")
    assert told == "Across: step, 1 to 3. Up: share. pass: from 20.0% to 80.0%, at most 90.0%."


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


def test_a_logarithmic_axis_leaves_out_what_it_cannot_show():
    points = ((0.0, 0.0), (1.0, 2.0), (2.0, 1.0))
    chart = Lines("T", "step", "loss", [Series("a", points)], log=True)
    assert [row[0] for row in rows_of(chart)[1:]] == ["1", "2"]
    assert not Lines("T", "step", "loss", [Series("a", ((1.0, 0.0), (2.0, 1.0)))], log=True)


def test_no_cost_is_made_up(make):
    rows = [
        {key: value for key, value in row.items() if not key.startswith(("flops", "seconds"))}
        for row in make.rl_rows(5, 0.5)
    ]
    assert cost_figures({"a": rows}, 0.4) == [] == cost_figures({"a": []}, 0.4)


def test_darker_cells_hold_more_and_what_is_not_there_is_blank():
    columns = {"x": {"a": (0.0, 9), "b": (0.25, 8)}, "y": {"b": (0.5, 8), "c": (0.004, 9)}}
    table = failure_table(columns, "episodes")
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["B", "<strong>25</strong>", "<strong>50</strong>"],
        ["C", "", "<strong><1</strong>".replace("<1", "&lt;1")],
    ]
    assert [[cell.shade for cell in row[1:]] for row in table.rows] == [[0.25, 0.5], [None, 0.004]]
    assert table.rows[0][1].hint == "25.0% of 8 episodes"
    assert not failure_table({}, "episodes")


@pytest.mark.parametrize(
    "points",
    [[], [(1, 0.0)], [(1, 0.0), (2, 0.0)], [(5, -3.0), (6, 2.0)], [(1, 1e-9), (10**6, 1e9)]],
)
@pytest.mark.parametrize("log", [False, True])
def test_charts_stand_any_points(points, log):
    series = [Series("a & b", tuple(points))]
    chart = Lines("t", "step", "unit", series, log=log)
    if chart:
        ElementTree.fromstring(chart.svg)
        assert "nan" not in chart.svg and "inf" not in chart.svg


def test_a_long_line_is_thinned_by_means():
    thinned = ((1, 0.5), (3, 2.5), (5, 4.5), (7, 6.5), (9, 8.5))
    assert thin([(i, float(i)) for i in range(10)], 5) == thinned


def test_a_line_ends_at_its_mean_not_in_a_hook():
    points = [(float(x), 1.0) for x in range(49)] + [(49.0, 11.0)]
    assert smoothed(points, 5)[-1] == (49.0, pytest.approx(13 / 3))


# ---- `tripwright report --export`: every figure of the page as files


def index_of(folder):
    return list(csv.DictReader(io.StringIO((folder / INDEX).read_text(encoding="utf-8"))))


@pytest.fixture(scope="module")
def exported(made_run, tmp_path_factory):
    """The page of a run with evaluations and metrics, and the folder of its figures."""
    folder = tmp_path_factory.mktemp("exported") / "out"
    page = report_page([made_run])
    return page, folder, export(page, folder)


def read_csv(path):
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))


def test_every_figure_of_the_page_is_two_files(exported):
    page, folder, figures = exported
    listed = index_of(folder)
    before_episodes = page.html().partition('<section id="episodes"')[0]
    assert figures == before_episodes.count("<figure") == len(listed) > 15
    written = {f"{row['name']}.{ending}" for row in listed for ending in ("svg", "csv")}
    assert {path.name for path in folder.iterdir()} == {INDEX, *written}
    for row in listed:
        assert len(read_csv(folder / f"{row['name']}.csv")) > 1, row["name"]
        drawn = (folder / f"{row['name']}.svg").read_text(encoding="utf-8")
        assert ElementTree.fromstring(drawn).get("width") and "var(--" not in drawn


def test_a_figure_is_exported_with_its_values(exported):
    _, folder, _ = exported
    row = next(row for row in index_of(folder) if row["title"] == "Memory")
    head, first, *_ = read_csv(folder / f"{row['name']}.csv")
    assert head[:2] == ["step", "peak [MB, most so far]"] and first[:2] == ["1", "900"]


def test_an_earlier_export_is_replaced_and_nothing_else_is_touched(tmp_path):
    figure = Figure(Lines("T", "step", "share", [Series("a", ((1.0, 0.2), (2.0, 0.9)))]))
    page, out = ReportPage("T", "test", sections=[Section("s", "S", [figure])]), tmp_path / "out"
    export(page, out)
    (out / "02-s-gone.csv").write_text("of an earlier export")
    (out / "mine.csv").write_text("keep")
    export(page, out)
    assert {path.name for path in out.iterdir()} == {INDEX, "01-s-t.csv", "01-s-t.svg", "mine.csv"}


def test_a_folder_of_other_files_is_refused_in_one_line(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    for place, found in (
        (tmp_path, "holds other files"),
        (tmp_path / "mine.txt", "cannot be made"),
        (tmp_path / "mine.txt" / "a", "cannot be made"),
    ):
        with pytest.raises(UserError, match=found) as refused:
            check_export_folder(place)
            export(ReportPage("T", "test"), place)
        assert "\n" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_verb_exports_the_figures_of_its_page(tmp_path, typed):
    run, out = tmp_path / "run", tmp_path / "out"
    run.mkdir()
    row = '{"stage": "sft", "step": 1, "seconds": 1, "loss": 2.0}\n'
    (run / "metrics.jsonl").write_text(row * 2)
    record = typed(f"report {run} --export {out} --json").record
    assert record["export"] == {"folder": str(out), "figures": 1}
    assert (out / INDEX).is_file()
    assert main(["report", str(run), "--export", str(tmp_path)]) == 2
