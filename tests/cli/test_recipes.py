"""`tripwright recipes`: what comes with the package, listed without torch, and printed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.training import recipe_list

FOLDER = Path(__file__).parents[2] / "recipes"


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["recipes", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_all_are_listed_with_what_they_do_and_need(capsys, typed):
    found = listed(capsys)
    assert {recipe["name"] for recipe in found} == {
        p.relative_to(FOLDER).with_suffix("").as_posix() for p in FOLDER.rglob("*.toml")
    }
    assert [recipe["name"] for recipe in found][0].startswith("nano/")
    assert all(
        all(recipe[key] for key in ("command", "does", "rows", "needs", "memory", "time", "path"))
        for recipe in found
    )
    text = typed("recipes").out
    assert all(
        f"{recipe['name']}  [{', '.join(recipe['rows'])}]\n  {recipe['does']}\n" in text
        for recipe in found
    )


@pytest.mark.parametrize("name", ["nano/grpo", "recipes/nano/grpo.toml"])
def test_one_is_printed(name, capsys):
    text = (FOLDER / "nano" / "grpo.toml").read_text()
    assert main(["recipes", name]) == 0 and capsys.readouterr().out == text


def test_they_are_found_in_an_installed_package_first(tmp_path, monkeypatch):
    module = tmp_path / "site" / "tripwright" / "training" / "recipe_list.py"
    monkeypatch.setattr(recipe_list, "__file__", str(module))
    with pytest.raises(UserError, match="No recipes at"):
        recipe_list.recipes_folder()
    for folder in (tmp_path / "site" / "recipes", tmp_path / "site" / "tripwright" / "recipes"):
        (folder / "nano").mkdir(parents=True)
        (folder / "nano" / "a.toml").touch()
        assert recipe_list.recipes_folder() == folder
