"""The notebook, run whole by Jupyter's own client: `make notebook`."""

import json
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
NotebookClient = pytest.importorskip("nbclient").NotebookClient
NOTEBOOK = Path(__file__).parents[1] / "examples" / "tripwright.ipynb"
LAST_TEN = """
last = [run.rows[-10:] for run in (strict, official)]
rates = [[fmean(row[rate] for row in rows) for rate in RATES] for rows in last]
print(json.dumps(rates))
"""


@pytest.mark.slow
def test_the_notebook_runs_and_its_official_reward_is_hacked(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    book = nbformat.read(NOTEBOOK, as_version=4)
    book.cells.append(nbformat.v4.new_code_cell(LAST_TEN))
    NotebookClient(book, timeout=None, resources={"metadata": {"path": tmp_path}}).execute()
    of_strict, of_official = json.loads(book.cells[-1]["outputs"][0]["text"])
    assert of_strict[1] > 0.2  # pass strictly, where that is what is rewarded
    assert of_official[1] < 0.1 < of_official[0] - of_official[1]
