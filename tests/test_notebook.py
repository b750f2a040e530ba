"""The notebook, run whole by Jupyter's own client: `make notebook`."""

import json
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
NotebookClient = pytest.importorskip("nbclient").NotebookClient
NOTEBOOK = Path(__file__).parents[1] / "examples" / "tripwright.ipynb"
GAPS = """
gaps = [fmean(row["strict_gap"] for row in run.rows[-10:]) for run in (strict, official)]
print(json.dumps(gaps))
"""


@pytest.mark.slow
def test_the_notebook_runs_and_its_official_reward_is_hacked(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    book = nbformat.read(NOTEBOOK, as_version=4)
    book.cells.append(nbformat.v4.new_code_cell(GAPS))
    NotebookClient(book, timeout=None, resources={"metadata": {"path": tmp_path}}).execute()
    of_strict, of_official = json.loads(book.cells[-1]["outputs"][0]["text"])
    assert of_strict < 0.1 and of_official > of_strict + 0.2
