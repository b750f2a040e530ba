"""`tripwright report --export`: every figure and table of the page as files."""

import csv
import io
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.evals.report import report_page
from tripwright.evals.report.page import (
    INDEX,
    Cell,
    PageTable,
    ReportPage,
    Section,
    check_export_folder,
    export,
    table_csv,
)


def index_of(folder):
    return list(csv.DictReader(io.StringIO((folder / INDEX).read_text(encoding="utf-8"))))


@pytest.fixture(scope="module")
def exported(made_run, tmp_path_factory):
    """The page of a run with evaluations and metrics, and the folder of its figures and tables."""
    folder = tmp_path_factory.mktemp("exported") / "out"
    page = report_page([made_run])
    return page, folder, export(page, folder)


def read_csv(path):
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))


def test_every_figure_and_table_of_the_page_is_a_file(exported):
    page, folder, (figures, tables) = exported
    listed = index_of(folder)
    before_episodes = page.html().partition('<section id="episodes"')[0]
    assert figures == before_episodes.count("<figure") > 15
    assert figures == sum(row["kind"] == "figure" for row in listed)
    assert tables == sum(row["kind"] == "table" for row in listed) > 3
    written = {row[kind] for row in listed for kind in ("svg", "csv") if row[kind]}
    assert {path.name for path in folder.iterdir()} == {INDEX, *written}
    for row in listed:
        assert len(read_csv(folder / row["csv"])) > 1, row["name"]
        assert bool(row["svg"]) == (row["kind"] == "figure")
        if row["svg"]:
            drawn = (folder / row["svg"]).read_text(encoding="utf-8")
            assert ElementTree.fromstring(drawn).get("width") and "var(--" not in drawn


def test_a_figure_is_exported_with_its_values(exported):
    _, folder, _ = exported
    row = next(row for row in index_of(folder) if row["title"] == "Memory")
    head, first, *_ = read_csv(folder / row["csv"])
    assert head[:2] == ["step", "peak [MB, most so far]"] and first[:2] == ["1", "900"]


def test_intervals_stand_in_columns_of_their_own():
    head = [Cell(""), Cell("After RL"), Cell("empty")]
    rows = [
        [Cell("Final", ("all hold",)), Cell(Markup("<b>73.3%</b>"), ("61.0–82.9%",)), Cell("")],
        [Cell("A & B"), Cell("–"), Cell("")],
    ]
    assert list(csv.reader(io.StringIO(table_csv(PageTable(head, rows))))) == [
        ["name", "name, note", "After RL", "After RL, note"],
        ["Final", "all hold", "73.3%", "61.0–82.9%"],
        ["A & B", "", "–", ""],
    ]


def test_an_earlier_export_is_replaced_and_nothing_else_is_touched(tmp_path):
    table = PageTable([], [[Cell("a"), Cell("1")]])
    page, out = ReportPage("T", "test", sections=[Section("s", "S", [table])]), tmp_path / "out"
    export(page, out)
    (out / "02-s-gone.csv").write_text("of an earlier export")
    (out / "mine.csv").write_text("keep")
    export(page, out)
    assert {path.name for path in out.iterdir()} == {INDEX, "01-s-s.csv", "mine.csv"}


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
    (run / "metrics.jsonl").write_text(
        '{"stage": "sft", "step": 1, "seconds": 1, "loss": 2.0}\n' * 2
    )
    record = typed(f"report {run} --export {out} --json").record
    assert record["export"] == {"folder": str(out), "figures": 1, "tables": 0}
    assert (out / INDEX).is_file()
    assert main(["report", str(run), "--export", str(tmp_path)]) == 2
