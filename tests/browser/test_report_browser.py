"""The report's transcript browser as people use it, in a real browser, from a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import fact_record, verdict_record
from tests.files import write_lines
from tripwright.evals.report import report_page
from tripwright.transcript import Rows, Segment, StopReason, ToolCall, Transcript

HOSTILE = (
    "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
)
REQUESTS = 40


def errand_line() -> dict[str, Any]:
    """A traveller's request: an answer in markdown whose second card names no row, and a verifier's
    findings."""
    flights = Rows(
        "FlightOffer",
        ("number", "departs_at", "price"),
        (("F1", "07:10", 100), ("F2", "08:20", 120)),
        total=2,
    )
    rows = json.dumps({"rows": flights.values, "source": "made up"})
    call = ToolCall("flight_search", {"depart_city_name": "Ashford"}, rows, rows=flights)
    said = f"### Outbound\n- **F2** at 08:20 [call 1, row 2], [call 1, row 9] {HOSTILE}"
    segments = [
        Segment("user", "To Berryton, please."),
        Segment("assistant", "", call=call),
        Segment("tool", rows),
        Segment("assistant", f"<answer>{said}</answer>"),
    ]
    told = "The price is not that of the row."
    problem = {"kind": "price", "message": told, "said": "99 USD", "call": 1, "row": 1}
    found = {"conclusion": "dissatisfied_logic", "problems": [problem], "reason": "Too late."}
    late = {"trajectory": {"logic": fact_record(False, "Too late.")}, "turns": ["flight_search"]}
    words = "To Berryton, please."
    return {
        "id": "errand",
        "domain": "deeptravel",
        "request": {"query": words, "origin": "Ashford", "destination": "Berryton"},
        "world": "made-up",
        "transcript": Transcript(segments, StopReason.ANSWER, said).to_json(),
        "verdict": verdict_record(False, late),
        "verifier": {"trajectory": found, "turns": []},
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str | None, Path]]:
    """A folder, and the reports that were written there: --transcripts → page."""
    return tmp_path_factory.mktemp("written"), {}


@pytest.fixture
def report(
    opened: Callable[..., Any],
    written: tuple[Path, dict[str | None, Path]],
    trip_line: Callable[..., Any],
) -> Callable[..., Any]:
    """report(anchor, transcripts=…, …) → the browser with the page of a run of two evaluations on
    40 requests, and one errand."""

    def write(folder: Path, transcripts: str | None) -> Path:
        evaluations = folder / "run" / "eval"
        for name, passing, looks_for in (("after_rl", 3, "Berryton"), ("after_sft", 5, "Cliffton")):
            trips = []
            for i in range(REQUESTS):
                level = ("easy", "hard")[i % 2]
                trip = trip_line(f"t{i:02d}", f"Trip number {i}.", i % passing == 0, level=level)
                trip["transcript"]["segments"][2]["call"]["arguments"]["destination"] = looks_for
                trips.append(trip)
            odd = trip_line("odd", HOSTILE, None, HOSTILE)
            write_lines(evaluations / name / "transcripts.jsonl", [*trips, odd])
        write_lines(evaluations / "errands" / "transcripts.jsonl", [errand_line()])
        (evaluations / "after_rl" / "score.json").write_text('{"metrics": {}, "n": 41}')
        target = folder / f"{transcripts}.html"
        report_page([folder / "run"], transcripts).write(target)
        return target

    def go(anchor: str = "", transcripts: str | None = None, **size: Any) -> Any:
        folder, pages = written
        if transcripts not in pages:
            pages[transcripts] = write(folder, transcripts)
        page = opened(pages[transcripts].as_uri() + anchor, **size)
        page.until("document.querySelector('#browser:not([hidden]) .detail .head')")
        return page

    return go


def tally(page: Any) -> str:
    return str(page.text(".tally"))


def choose(page: Any, label: str, words: str) -> None:
    """Picks the option that begins with these words."""
    page.js(
        f"((label, words) => {{ {CHOOSE} box.dispatchEvent(new Event('change')); }})({json.dumps(label)}, {json.dumps(words)})"
    )


def quiet(page: Any) -> None:
    """Nothing was asked of anyone and nothing went wrong."""
    assert page.complaints == [] and page.js("document.title") != "owned"
    assert all(url.startswith(("file://", "data:")) for url in page.requested)


def test_filters_leave_what_they_say(report):
    page = report()
    assert tally(page) == "83 of 83 episodes: 22 passed, 59 failed, 2 unscored"
    choose(page, "Evaluation", "After RL")
    choose(page, "Verdict", "passed")
    assert tally(page) == "14 of 83 episodes: 14 passed"
    choose(page, "Level", "hard")
    assert tally(page) == "7 of 83 episodes: 7 passed"
    options = page.js("[...document.querySelectorAll('.filters option')].map((each) => each.text)")
    assert {"After RL (7)", "passed (7)", "failed (13)", "hard (7)"} <= set(options)
    choose(page, "Verdict", "all")
    choose(page, "Fails at", "Diverse restaurants")
    assert tally(page) == "13 of 83 episodes: 13 failed"
    quiet(page)


def test_the_page_opens_with_an_episode_that_passes_and_one_that_fails(report):
    page = report()
    page.until("document.querySelectorAll('.example .came').length === 2")
    first, second = page.js("[...document.querySelectorAll('.example')].map((e) => e.innerText)")
    assert first.startswith("✓ One that passes") and "checks passed" in first
    assert second.startswith("✗ One that fails") and "What failed" in second
    page.js("document.querySelector('.example a').click()")
    page.until("document.querySelector('.detail').dataset.episode === 'after_rl/t00'")
    quiet(page)


def test_keys_go_through_episodes_search_and_come_back(report):
    page = report()
    page.press("j")
    page.until("document.querySelector('.detail').dataset.episode === 'after_rl/t01'")
    assert page.js("location.hash") == "#episode=after_rl%2Ft01"
    assert "Trip number 1." in page.text(".detail .head h3")
    page.press("k")
    page.until("document.querySelector('.detail').dataset.episode === 'after_rl/t00'")
    page.press("/")
    page.type("number 17.")
    page.until("document.querySelector('.tally').textContent.startsWith('2 of 83')")
    page.press("Enter")
    page.until("document.querySelector('.detail').dataset.episode === 'after_rl/t17'")
    assert page.js("document.activeElement.id") == "listing"
    page.press("/", "Escape")
    assert tally(page).startswith("83 of 83") and page.js("document.activeElement.id") == "listing"
    quiet(page)


def test_words_are_found_in_everything_that_was_said(report):
    page = report()
    page.press("/")
    page.type("cliffton")
    page.until("document.querySelector('.tally').textContent.startsWith('None of')")
    page.click(".deep input")
    page.until("document.querySelector('.tally').textContent.startsWith('40 of 83')")
    quiet(page)


def test_an_episode_shows_plan_verdict_and_turns_with_what_is_wrong_in_its_place(report):
    page = report("#episode=after_rl%2Ft01")
    page.until("document.querySelector('.detail').dataset.episode === 'after_rl/t01'")
    wrong = "Diverse restaurants: needed a restaurant of Berryton"
    assert wrong in page.text(".day.broken dd.wrong")
    assert "Blue Door is not in Berryton." in page.text(".facts .fail")
    assert "Costs $260 of a budget of $900" in page.text(".total")
    assert page.text(".refused") == "✗ refused: format error"
    calls = "[...document.querySelectorAll('.detail details.call')].map((c) => c.open)"
    assert page.js(calls) == [False, False]
    assert "error" in page.text(".detail details.call.failed summary")
    assert page.text(".turns .said") == "I look for a flight first."
    page.click(".detail details.call summary")
    page.until("document.querySelectorAll('.detail details.call tr[data-row]').length === 2")
    quiet(page)


def test_tokens_show_mask_and_probability(report):
    page = report("#episode=after_rl%2Ft01")
    page.press("t")
    page.until("document.querySelector('.tok')")
    looks = "(t) => [t.className, t.style.getPropertyValue('--doubt')]"
    tokens = page.js(f"[...document.querySelectorAll('.tok')].map({looks})")
    assert tokens == [["tok", "0.03"], ["tok", "0.83"], ["tok out", "0.00"]]
    assert "3 tokens, 2 trained on" in page.text(".tokenview")
    assert page.js("location.hash").endswith("&tokens=1")
    quiet(page)


def test_two_evaluations_are_compared_on_the_same_request(report):
    page = report()
    choose(page, "Compare with", "After SFT")
    choose(page, "Outcome", "passes only here")
    assert tally(page) == "11 of 83 episodes: 11 passed"
    page.press("j")
    page.until("document.querySelector('.detail table.diff')")
    assert page.js("location.hash") == "#episode=after_rl%2Ft03&with=after_sft%2Ft03"
    assert "Diverse restaurants" in page.text("tr.differs th")
    assert page.js("document.querySelectorAll('.sides .side').length") == 2
    differing = "[...document.querySelectorAll('.sides details.call.differs')]"
    assert page.js(f"{differing}.map((c) => c.dataset.call)") == ["1", "1"]
    quiet(page)


def test_a_card_opens_the_row_it_stands_on_or_says_there_is_none(report):
    page = report("#episode=errands%2Ferrand")
    page.until("document.querySelector('.detail').dataset.episode === 'errands/errand'")
    page.click(".md .chip")
    assert page.text("tr.lit").split() == ["2", "F2", "08:20", "120"]
    page.js("document.querySelectorAll('.md .chip')[1].click()")
    assert page.text(".chip.missing") == "call 1, row 9 ✗ no such row"
    assert "The price is not that of the row." in page.text(".finding.broken")
    assert "<img src=x" in page.text(".md")
    assert page.text(".detail .came h4") == "The answer"
    quiet(page)


def test_what_a_model_wrote_runs_nothing(report):
    page = report("#episode=after_rl%2Fodd")
    page.until("document.querySelector('.detail').dataset.episode === 'after_rl/odd'")
    for place in (".detail .head h3", ".turns .said"):
        assert "<img src=x onerror=" in page.text(place)
    page.js("[...document.querySelectorAll('.detail summary')].forEach((s) => s.click())")
    loaded = "#browser img, #browser script, #browser iframe"
    assert page.js(f"document.querySelectorAll('{loaded}').length") == 0
    quiet(page)


def test_an_episode_whose_text_is_left_out_is_listed_and_says_which_command_includes_it(report):
    page = report("#episode=after_rl%2Ft01", transcripts="0")
    assert "is not in this page" in page.text(".detail .none")
    assert "--transcripts all" in page.text(".detail .none code")
    assert "text not included" in page.text(".row")
    quiet(page)


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1440, False)])
def test_the_page_fits_and_can_be_read(width, dark, report):
    shown = ("after_rl%2Ft01&tokens=1", "after_rl%2Ft03&with=after_sft%2Ft03", "errands%2Ferrand")
    for episode in shown:
        page = report(f"#episode={episode}", width=width, height=844, dark=dark)
        page.until("document.querySelector('#browser.reading .detail .head')")
        unfold = "(d) => d.unfold && d.unfold()"
        page.js(f"[...document.querySelectorAll('.detail details')].forEach({unfold})")
        assert page.js("document.documentElement.scrollWidth") <= width
        assert page.js(FAINT) == [], "text is too faint"
        assert page.js(NAMELESS) == [], "a control has no name for those who hear the page"


def test_colours_follow_the_system_and_can_be_switched(report):
    page = report(dark=True)
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.js(ground)
    page.click("button.theme")
    assert page.js(ground) != dark and page.text("button.theme") == "Light"
    page.click("button.theme")
    assert page.js(ground) == dark and page.text("button.theme") == "Dark"


def test_on_paper_the_browser_is_a_note(report):
    page = report()
    page.ask("Emulation.setEmulatedMedia", media="print")
    seen = "document.querySelectorAll('{}').values().filter((e) => e.checkVisibility()).toArray().length"
    assert page.js(seen.format("#browser, #no-script, nav, .theme")) == 0
    assert page.js(seen.format(".printed")) == 1 and "on a screen" in page.text(".printed")


def test_on_a_phone_list_and_episode_take_turns(report):
    page = report(width=390, height=844)
    seen = "['.listing', '.detail'].map((s) => document.querySelector(s).checkVisibility())"
    assert page.js(seen) == [True, False]
    page.click(".row:nth-child(2)")
    page.until("document.querySelector('.detail').dataset.episode === 'after_rl/t01'")
    assert page.js(seen) == [False, True]
    page.click("button.back")
    assert page.js(seen) == [True, False]


CHOOSE = """
  const field = [...document.querySelectorAll('.filter')].find((f) => f.querySelector('span').textContent === label);
  const box = field.querySelector('select');
  box.value = [...box.options].find((o) => o.textContent.startsWith(words)).value;"""

NAMELESS = """[...document.querySelectorAll('button, input, select, [role=listbox]')].filter((e) => e.checkVisibility() &&
  !(e.getAttribute('aria-label') || (e.tagName === 'BUTTON' && e.textContent.trim()) ||
    (e.labels && [...e.labels].some((l) => l.textContent.trim())))).map((e) => e.outerHTML)"""

# WCAG 2 AA: 4.5 to 1 between the colour of a text and the ground it stands on; colours come as
# rgb() or, mixed, as color(srgb …).
FAINT = """(() => {
  const parts = (c) => c.match(/[\\d.]+(?:e-?\\d+)?/g).map(Number);
  const rgb = (c) => c.startsWith('color(') ? parts(c).map((n, i) => (i < 3 ? n * 255 : n)) : parts(c);
  const over = ([r, g, b, a = 1], under) => [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
  const linear = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => { const [r, g, b] = c.map(linear); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => e ? over(rgb(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : [255, 255, 255];
  const faint = [];
  for (const e of document.querySelectorAll('header *, #episodes *')) {
    if (!e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const ground = behind(e), ink = over(rgb(getComputedStyle(e).color), ground);
    const [high, low] = [light(ink), light(ground)].sort((a, b) => b - a);
    if ((high + 0.05) / (low + 0.05) < 4.5) faint.push([e.tagName, e.className, e.textContent.slice(0, 30), (high + 0.05) / (low + 0.05)]);
  }
  return faint;
})()"""
