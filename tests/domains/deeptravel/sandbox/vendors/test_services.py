"""From one TOML file to who answers which tool."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import python
from tripwright.domains.deeptravel.sandbox.provider import load_services
from tripwright.domains.deeptravel.tools.answers import RECORDS
from tripwright.errors import UserError
from tripwright.world.generator import build_tables
from tripwright.world.store import write_world

KEY = "tvly-dev-4dF7secret0kEy"
FUNCTION = '[tools]\nweb_search = "python"\n[vendors.python]\nfunction = "mine.py:search"\n'


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], Any]:
    def load(text: str) -> Any:
        (tmp_path / "mine.py").write_text("def search(query):\n    return []\n")
        path = tmp_path / "live.toml"
        path.write_text(text, encoding="utf-8")
        return load_services(path)

    return load


def refused(load: Callable[[str], Any], text: str) -> str:
    with pytest.raises(UserError) as error:
        load(text)
    message = str(error.value)
    assert "\n" not in message and "live.toml" in message and KEY not in message
    return message


def test_the_terms_of_a_function(load):
    terms = load(FUNCTION)["web_search"].terms
    assert (terms.requests_per_second, terms.may_store) == (0.0, True)
    own = "requests_per_second = 10\nmay_store = false\nattribution = 'us'\n"
    terms = load(FUNCTION + own)["web_search"].terms
    assert (terms.requests_per_second, terms.may_store) == (10.0, False)
    source = load(FUNCTION + own)["web_search"].ask("web_search", {"query": "x"}).source
    assert (source.attribution, source.may_store) == ("us", False)


def test_a_closed_world_answers_everything(load, tmp_path):
    write_world(tmp_path / "world", build_tables("nano", 7))
    tools = "\n".join(f'{tool} = "world"' for tool in RECORDS)
    here = f'[vendors.world]\nfolder = "{tmp_path / "world"}"\n'
    services = load(f'[tools]\n{tools}\n{here}day = "2022-03-01"')
    assert len({id(provider) for provider in services.values()}) == 1
    assert services["flight_search"].name == "world"
    assert "vendors.world.folder" in refused(load, '[tools]\nweb_search = "world"')
    here = f'[tools]\nweb_search = "world"\n{here}'
    for day in ("2022-03-01", '"2022-03-01"'):
        answer = load(f"{here}day = {day}")["web_search"].ask("web_search", {"query": "x"})
        assert answer.source.fetched_at == "2022-03-01T00:00:00Z"
    for day in ('"tomorrow"', "2022-03-01T10:00:00", "20220301"):
        assert "vendors.world.day" in refused(load, f"{here}day = {day}")
    assert "No world at" in refused(load, here.replace("/world", "/nowhere"))


def test_what_a_vendor_needs_is_imported_only_when_it_is_named(tmp_path):
    (tmp_path / "live.toml").write_text(FUNCTION)
    (tmp_path / "mine.py").write_text("def search(query):\n    return []\n")
    imported = "from tripwright.domains.deeptravel.sandbox.provider import load_services"
    code = f"import sys; {imported}; load_services(sys.argv[1]); print(*sys.modules)"
    ran = python("-c", code, tmp_path / "live.toml", check=True)
    unneeded = {"httpx2", "mcp", "anyio", "torch"}
    assert not set(ran.stdout.split()) & unneeded


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "tools"),
        ("[tools]\nweb_search = 3", "tools.web_search"),
        ('[tools]\nweb_search = "google"', "There is no vendor 'google'"),
        ('[tools]\nbus_search = "world"', "There is no tool 'bus_search'"),
        (f'{FUNCTION}depth = "basic"', "There is no option 'vendors.python.depth'"),
        (f"{FUNCTION}may_store = 0", "vendors.python.may_store"),
        (f"{FUNCTION}requests_per_second = nan", "vendors.python.requests_per_second"),
        ('[tool]\npoi_search = "world"', "tools: Field required"),
    ],
)
def test_a_mistake_is_said_in_one_line(load, text, words):
    assert words in refused(load, text)


@pytest.mark.parametrize(
    "lines",
    [
        f'api_key = "{KEY}"',
        'api_key = "s3cret"',
        'API-KEY = "s3cret"',
        'token = "s3cret"',
        'headers = {Authorization = "Bearer s3cret"}',
        'headers = {x = "Bearer s3cret"}',
        f'version = "{KEY}"',
        'version = "duffel_test_s3cret"',
        'url = "https://me:s3cret@example.org"',
        f'url = "https://example.org/{KEY}"',
        'list = [["tvly-s3cret"]]',
    ],
)
def test_a_key_in_the_file_is_refused_and_not_repeated(load, lines, monkeypatch):
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    message = refused(load, f"{FUNCTION}{lines}")
    assert "holds a key" in message and "s3cret" not in message
