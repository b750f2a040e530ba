"""`tripwright report --export`: every figure and table of the page as files."""

import csv
import io
import json
import struct
from xml.etree import ElementTree

import pytest

from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.evals.report import write_report
from tripwright.evals.report.drawing import png_files
from tripwright.evals.report.export import INDEX, check_export_folder, export_page, parts_of


def index_of(folder):
    return list(csv.DictReader(io.StringIO((folder / INDEX).read_text(encoding="utf-8"))))


def page_of(run):
    """The page, and its figures as PNG."""
    with png_files() as pngs:
        page = write_report(run).read_text(encoding="utf-8")
    return page, pngs


def read_csv(path):
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))


def test_every_figure_and_table_of_the_page_is_a_file(run_folder, tmp_path):
    page, pngs = page_of(run_folder())
    done = export_page(page, pngs, tmp_path / "out")
    listed = index_of(tmp_path / "out")
    before_episodes = page.partition('<section id="episodes"')[0]
    assert (
        done.figures
        == before_episodes.count("<figure")
        == sum(row["kind"] == "figure" for row in listed)
        > 20
    )
    assert done.tables == sum(row["kind"] == "table" for row in listed) > 3
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        INDEX,
        *(row[kind] for row in listed for kind in ("svg", "png", "csv") if row[kind]),
    }
    for row in listed:
        assert len(read_csv(tmp_path / "out" / row["csv"])) > 1, row["name"]
        assert bool(row["svg"]) == bool(row["png"]) == (row["kind"] == "figure")
        if row["svg"]:
            drawn = (tmp_path / "out" / row["svg"]).read_text(encoding="utf-8")
            assert ElementTree.fromstring(drawn).get("width") and "var(--" not in drawn


def test_intervals_stand_in_columns_of_their_own(tmp_path):
    table = (
        '<main><section id="metrics"><h2>Metrics</h2><table><thead><tr><th></th><th class="num">After RL</th><th>empty</th></tr></thead>'
        "<tbody>"
        '<tr><th scope="row">Final<small>all hold</small></th><td class="num">73.3%<small>61.0–82.9%</small></td><td><svg></svg></td></tr>'
        '<tr><th scope="row">A &amp; B</th><td class=num>–</td><td></td></tr></tbody></table></section></main>'
    )
    export_page(table, {}, tmp_path)
    (row,) = index_of(tmp_path)
    assert (row["section"], row["title"], row["kind"]) == ("metrics", "Metrics", "table")
    assert read_csv(tmp_path / row["csv"]) == [
        ["name", "name, note", "After RL", "After RL, note"],
        ["Final", "all hold", "73.3%", "61.0–82.9%"],
        ["A & B", "", "–", ""],
    ]


def test_the_figures_in_a_file_are_those_of_the_run(run_folder, tmp_path):
    export_page(*page_of(run_folder()), tmp_path / "out")
    name = next(row["csv"] for row in index_of(tmp_path / "out") if row["title"] == "Memory")
    head, first, *_ = read_csv(tmp_path / "out" / name)
    assert head[:2] == ["step", "peak [MB, most so far]"] and first[:2] == ["1", "900"]


def test_transcripts_are_not_exported():
    parts = '<figure><svg class="chart" aria-label="x"></svg></figure><table><tr><td>1</td><td>2</td></tr></table></section></main>'
    assert list(parts_of(f'<main><section id="episodes">{parts}', {})) == []
    assert len(list(parts_of(f'<main><section id="card">{parts}', {}))) == 2


def test_an_earlier_export_is_replaced_and_nothing_else_is_touched(run_folder, tmp_path):
    (page, pngs), out = page_of(run_folder()), tmp_path / "out"
    export_page(page, pngs, out)
    (out / "old.csv").write_text("old")
    (tmp_path / "outside.csv").write_text("keep")
    with (out / INDEX).open("a") as index:
        index.write("old,table,,,,,,old.csv\nbad,table,,,,,,../outside.csv\n")
    first = {
        path.name: path.read_bytes()
        for path in out.iterdir()
        if path.name not in ("old.csv", INDEX)
    }
    export_page(page, pngs, out)
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.name != INDEX} == first
    assert (tmp_path / "outside.csv").read_text() == "keep"


def test_a_folder_of_other_files_is_refused_in_one_line(tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    for place, found in (
        (tmp_path, "holds other files"),
        (tmp_path / "mine.txt", "is a file"),
        (tmp_path / "mine.txt" / "a", "cannot be made"),
    ):
        with pytest.raises(UserError, match=found) as refused:
            check_export_folder(place)
            export_page("<main></main>", {}, place)
        assert "\n" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_png_files_are_drawn_twice_as_large(run_folder, tmp_path):
    export_page(*page_of(run_folder()), tmp_path / "out")
    row = next(row for row in index_of(tmp_path / "out") if row["title"] == "Memory")
    content = (tmp_path / "out" / row["png"]).read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", content[16:24]) == (
        1040,
        528,
    )


def test_the_verb_exports_the_figures_of_its_page(run_folder, tmp_path, capsys):
    folder = run_folder()
    assert main(["report", str(folder), "--export", str(tmp_path / "out"), "--json"]) == 0
    printed = capsys.readouterr()
    export = json.loads(printed.out)["export"]
    assert export["folder"] == str(tmp_path / "out")
    assert (tmp_path / "out" / INDEX).is_file()
    assert main(["report", str(folder), "--export", str(tmp_path)]) == 2
