"""Natural Plan and STAR's questions in Inspect: the published readings, with what they overlook;
and end to end, a tiny model behind an OpenAI-compatible address, made-up data in the published
formats, Inspect's own log, a run folder made of it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "inspect_ai", reason="Inspect AI is an extra: pip install 'tripwright[inspect]'"
)

from inspect_ai import Task, eval
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog
from inspect_ai.model import Model, get_model

from examples.inspect_log import import_log
from examples.natural_plan import (
    calendar_is_right,
    first_slot,
    meeting_is_right,
    natural_plan,
    stays,
    trip_is_right,
)
from examples.star_search import (
    DIALECT,
    FACE,
    PROMPT,
    WikipediaSearch,
    exact_match,
    read_questions,
    star_search,
)
from tests.files import write_lines
from tests.printed import printed
from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.tools.toolbox import AnswerBox, answered

TRIP_PLAN = """Here is the trip plan for visiting the 2 European cities for 5 days:
**Day 1-3:** Visit Rome for 3 days.
**Day 3:** Fly from Rome to Oslo.
**Day 3-5:** Visit Oslo for 3 days."""


def trips(path: Path, *answers: str) -> Path:
    examples = {
        f"trip_planning_example_{number}": {
            "num_cities": str(2 + number % 2),
            "cities": "Rome**Oslo",
            "durations": "3**3",
            "prompt_0shot": "You plan to visit 2 European cities for 5 days in total.",
            "prompt_5shot": "You plan to visit 2 European cities for 5 days in total. SOLUTION:",
            "golden_plan": TRIP_PLAN,
            "pred_5shot_pro": answer,
        }
        for number, answer in enumerate(answers)
    }
    path.write_text(json.dumps(examples))
    return path


def evaluated(
    task: Task | str, tmp_path: Path, model: str | Model = "mockllm/model", **more: Any
) -> EvalLog:
    (log,) = eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none", **more)
    assert log.status == "success" and log.results is not None
    return log


def accuracy(log: EvalLog, of: str = "all") -> float:
    return log.results.scores[0].metrics[of].value


def imported(log: EvalLog, out: Path) -> dict[str, Any]:
    import_log(log.location, out, out.name.rstrip("0123456789"))
    return json.loads((out / "score.json").read_text())


@pytest.fixture
def endpoint(serve: Callable[..., str]) -> Callable[[Callable[[list[dict[str, str]]], str]], Model]:
    """endpoint(say) → an Inspect model at an address that answers by `say`."""

    def start(say: Callable[[list[dict[str, str]]], str]) -> Model:
        def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
            message = {"role": "assistant", "content": say(request["messages"])}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 17}
            body = {"id": "1", "object": "chat.completion", "created": 1, "model": request["model"]}
            return 200, json.dumps({**body, "choices": [choice], "usage": usage}).encode(), {}

        return get_model("openai-api/here/tiny", base_url=serve(answer), api_key="none")

    return start


def test_a_tiny_model_plays_natural_plan_to_the_end(endpoint, tiny_model, nano_tokenizer, tmp_path):
    torch = pytest.importorskip("torch")
    model = tiny_model("qwen3", len(nano_tokenizer), seed=1)

    def say(messages: list[dict[str, str]]) -> str:
        prompt = nano_tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )["input_ids"]
        with torch.no_grad():
            ids = model.generate(prompt, max_new_tokens=8, do_sample=False)
        return str(nano_tokenizer.decode(ids[0, prompt.shape[1] :]))

    task = natural_plan(str(trips(tmp_path / "trip.json", "", "", "")))
    log = evaluated(task, tmp_path, endpoint(say), epochs=2)
    assert accuracy(log) == 0.0
    score = imported(log, tmp_path / "run")
    final = score["metrics"]["final"]
    assert (score["n"], final["value"], final["low"]) == (6, 0.0, 0.0) and 0 < final["high"] < 1
    assert score["metrics"]["completion_tokens_mean"]["value"] == 8
    assert main(["report", str(tmp_path / "run")]) == 0


def test_inspects_figures_are_the_imports(tmp_path):
    """Answers that the file itself holds, as Gemini's in the published ones."""
    file = trips(tmp_path / "trip.json", TRIP_PLAN, "I cannot.", TRIP_PLAN, "Day " + "1" * 5000)
    log = evaluated(natural_plan(str(file), answers="pred_5shot_pro"), tmp_path)
    score = imported(log, tmp_path / "run")
    assert accuracy(log) == score["metrics"]["final"]["value"] == 0.5
    assert accuracy(log, "2 cities") == score["levels"]["2 cities"]["final"]["value"] == 1.0
    assert score["levels"]["3 cities"]["final"]["value"] == 0.0
    with pytest.raises(UserError, match="is there already"):
        imported(log, tmp_path / "run")


def test_seeds_are_compared_and_epochs_are_samples_of_one_question(tmp_path, capsys):
    for name, right in (("base", 1), ("rl", 3)):
        for seed in range(2):
            answers = [TRIP_PLAN if n < right else "I cannot." for n in range(4)]
            task = natural_plan(str(trips(tmp_path / "t.json", *answers)), answers="pred_5shot_pro")
            score = imported(evaluated(task, tmp_path, epochs=2), tmp_path / f"{name}{seed}")
            assert (score["n"], score["metrics"]["pass^2"]["value"]) == (8, right / 4)
    groups = [
        ",".join(str(tmp_path / f"{name}{seed}") for seed in (0, 1)) for name in ("base", "rl")
    ]
    capsys.readouterr()
    assert main(["compare", *groups, "--json"]) == 0
    comparison = json.loads(capsys.readouterr().out)
    assert [each["mean"] for each in comparison["seeds"].values()] == [0.25, 0.75]
    assert comparison["queries"] == 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda examples: [], "is none of Natural Plan's files"),
        (lambda examples: {"a": {"x": 1}}, "is none of Natural Plan's files"),
        (lambda examples: {k: {**e, "prompt_5shot": 3} for k, e in examples.items()}, "is no text"),
        (lambda examples: {k: {**e, "cities": "Rome"} for k, e in examples.items()}, "cannot be"),
    ],
)
def test_another_file_is_refused_before_anything_is_asked(change, words, tmp_path):
    file = trips(tmp_path / "trip.json", TRIP_PLAN)
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    with pytest.raises(PrerequisiteError, match=words):
        natural_plan(str(file))


@pytest.fixture
def retriever(serve: Callable[..., str]) -> str:
    """A server with Search-R1's protocol; the query "boom" kills it."""

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        assert request["path"] == "/v1/retrieve" and request["return_scores"] is True
        if "boom" in request["queries"][0]:
            return 500, b"ill", {}
        contents = ['"Rome"\nRome is the capital of Italy.', '"Tag"\n</tool_response> & 1 < 2']
        found = [{"document": {"id": "1", "contents": each}, "score": 0.5} for each in contents]
        return 200, json.dumps({"result": [found * 3][: request["topk"]]}).encode(), {}

    return serve(answer)


def test_stars_questions_are_searched_and_scored(endpoint, retriever, tmp_path, monkeypatch):
    """One finds the answer, one answers wrongly, one never answers, and one meets a dead server,
    which is no fault of the model's."""
    monkeypatch.setattr("tripwright.tools.toolbox.RETRIES_S", (0.0,))
    sent: list[list[dict[str, str]]] = []

    def say(messages: list[dict[str, str]]) -> str:
        sent.append(messages)
        question = messages[1]["content"]
        query = "boom" if "boom" in question else "capital of Italy"
        call = json.dumps({"name": "Search", "arguments": {"query": query}})
        if len(messages) == 2 or "endless" in question:
            return f"<think>I look it up.</think>\n<tool_call>\n{call}\n</tool_call>"
        answer = "Rome" if "Italy" in question else "Paris"
        return f"<think>It says so.</think>\n<answer>{answer}</answer>"

    questions = {
        "nq": ["capital of Italy", "capital of Spain"],
        "musique": ["an endless search", "boom"],
    }
    for name, texts in questions.items():
        (tmp_path / name).mkdir()
        write_lines(
            tmp_path / name / "test.jsonl",
            (
                {"id": f"t{n}", "question": text, "golden_answers": ["Rome"]}
                for n, text in enumerate(texts)
            ),
        )
    monkeypatch.chdir(Path(__file__).parents[2])
    asked = {"questions": str(tmp_path), "retriever": retriever}
    log = evaluated("examples/star_search.py", tmp_path, endpoint(say), task_args=asked)
    samples = {str(sample.id): sample for sample in log.samples or []}
    system, user, *rest = max(sent, key=len)
    assert system["role"] == "system" and system["content"].startswith(PROMPT[:200])
    assert user == {"role": "user", "content": "an endless search?"}
    shown = '<tool_response>\nDoc 1(Title: "Rome") Rome is the capital of Italy.\n'
    assert rest[1]["role"] == "user" and rest[1]["content"].startswith(shown)
    unanswered = samples["musique/t0"].scores["answer_match"]
    assert unanswered.metadata["stop_reason"] == "max_calls" and unanswered.answer is None
    assert samples["musique/t1"].error is not None

    assert accuracy(log) == 0.25  # the mean over the sets: (1/2 + 0) / 2
    score = imported(log, tmp_path / "run")
    assert (score["n"], score["unscored"]) == (3, 1)
    assert score["levels"]["nq"]["final"]["k"] == 1


def test_what_is_no_address_is_refused(tmp_path):
    line = {"id": "t0", "question": "what is it", "golden_answers": ["a"]}
    (tmp_path / "nq").mkdir()
    write_lines(tmp_path / "nq" / "test.jsonl", [line])
    with pytest.raises(PrerequisiteError, match="'wiki' is not a URL"):
        star_search(str(tmp_path), "wiki")


# ---- Natural Plan's exact match

THREE_CITIES = """Here is the trip plan for visiting the 3 European cities for 14 days:

**Day 1-5:** Arriving in Florence and visiting Florence for 5 days.
**Day 5:** Fly from Florence to Barcelona.
**Day 5-6:** Visit Barcelona for 2 days.
**Day 6:** Fly from Barcelona to Helsinki.
**Day 6-14:** Visit Helsinki for 9 days."""
TRIP = {"cities": "Florence**Barcelona**Helsinki", "durations": "5**2**9"}
STEPS = [
    "You start at Russian Hill at 9:00AM.",
    "You travel to Marina District in 7 minutes and arrive at 9:07AM.",
    "You wait until 3:45PM.",
    "You meet James for 75 minutes from 3:45PM to 5:00PM.",
]
MEETING: dict[str, Any] = {
    "constraints": [
        ["Russian Hill", "9:00AM"],
        ["James", "Marina District", "3:45PM to 6:45PM", 75],
        ["Robert", "Sunset District", "8:00AM to 9:30AM", 15],
    ],
    "dist_matrix": {
        "Russian Hill": {"Marina District": 7, "Sunset District": 23},
        "Marina District": {"Russian Hill": 8, "Sunset District": 19},
        "Sunset District": {"Russian Hill": 24, "Marina District": 21},
    },
    "golden_plan": STEPS,
}
CALENDAR = {"golden_plan": "Here is the proposed time: Tuesday, 14:30 - 15:30 "}


def met(*steps: str) -> bool:
    return meeting_is_right("SOLUTION:" + " ".join(steps), MEETING)


def test_the_golden_plans_are_right_and_silence_is_not():
    assert trip_is_right(THREE_CITIES, TRIP) and not trip_is_right("", TRIP)
    assert met(*STEPS) and not meeting_is_right("", MEETING)
    assert calendar_is_right(CALENDAR["golden_plan"], CALENDAR)
    assert not calendar_is_right("", CALENDAR)


def test_a_trip_is_read_line_by_line():
    assert stays(THREE_CITIES) == [("Florence", 5), ("Barcelona", 2), ("Helsinki", 9)]
    assert stays("**Day 1-5:** Florence") == []  # no flight
    assert stays("**Day 5:** Fly from Florence to Rome.") == []  # no span of days
    assert not trip_is_right(THREE_CITIES.replace("Day 5:", "Day 4:"), TRIP)


def test_a_flight_in_a_thought_counts():
    assert not trip_is_right(f"<think>Day 3: from Florence to Oslo</think>\n{THREE_CITIES}", TRIP)


def test_nothing_counts_after_the_last_day_and_nothing_after_the_golden_cities():
    wrong = THREE_CITIES.replace("Barcelona", "Porto")
    assert trip_is_right(f"{THREE_CITIES}\n\nOr:\n{wrong}", TRIP)
    assert not trip_is_right(f"{wrong}\n\nNo:\n{THREE_CITIES}", TRIP)
    longer = THREE_CITIES.replace("for 14 days", "in 20 days")
    longer += "\n**Day 14:** Fly from Helsinki to Oslo.\n**Day 14-20:** Oslo."
    assert trip_is_right(longer, TRIP)


@pytest.mark.parametrize(
    "line",
    [
        "Day 1: from A to B. Day 2: from C to D",
        "Day 1: from A to B. Day 2",
        "Day 1from from to to",
        "Day 1 from A to from C to D",
        "from A to B on Day 1",
        "Day one from A to B",
        "Day 1",
    ],
)
def test_a_lines_flight_is_the_published_patterns(line):
    published = re.findall(r".*Day (\d+).*from (\w+) to (\w+)", line)
    cities = [city for city, _ in stays(f"{line}\nDay 1-9")]
    assert cities == (list(published[0][1:]) if published else [])


@pytest.mark.parametrize(
    "text", ["Day 1 from to " * 3000, "Day 1 from A to B " * 3000, "1" * 10**5]
)
def test_an_answer_that_loops_is_read_in_no_time(text):
    """With the published pattern this takes from half a minute to days."""
    assert not trip_is_right(text, TRIP) and not calendar_is_right(text, CALENDAR)


def test_a_meeting_is_checked_by_a_clock_of_its_own():
    start, way, wait, meet = STEPS
    assert met(start, way.replace("9:07AM", "11:00AM"), wait, meet.replace("3:45PM", "1:00PM"))
    assert meeting_is_right(" ".join(STEPS), MEETING)  # the word SOLUTION is not needed
    assert not met(start, way, meet)  # James is not there at 9:07
    assert not met(start, wait, meet)  # nobody is at Russian Hill
    assert not met(start, way, wait, wait, meet)  # the clock stands still
    assert not met("First of all.", *STEPS)  # an unknown step ends the plan
    assert not met(start, way, "You wait until 6:00PM.", meet)  # 75 minutes do not fit any more
    assert met(*STEPS, "I hope this helps! Enjoy.", "You meet James for 75 minutes.")


def test_what_ends_the_published_script_is_raised():
    for step, error in (
        ("You travel to Atlantis in 7 minutes.", KeyError),
        ("You meet Zoe for 10 minutes.", KeyError),
        ("You travel in 7 minutes.", IndexError),
    ):
        with pytest.raises(error):
            met(STEPS[0], step)


def test_the_first_time_counts_and_minutes_other_than_thirty_are_none():
    golden = CALENDAR["golden_plan"]
    assert first_slot(f"Maybe Monday, 9:00 - 9:30 works. {golden}") == ("Monday", 9.0, 9.5)
    assert calendar_is_right(f"{golden} Or Monday, 9:00 - 9:30.", CALENDAR)
    assert first_slot("At noon, 12:00 - 13:00") == ("noon", 12.0, 13.0)
    assert first_slot("Monday, 14:45 - 15:15") == ("Monday", 14.0, 15.0)
    assert not calendar_is_right("**Tuesday**, 14:30 - 15:30", CALENDAR)


# ---- STAR's prompt, tool and exact match


def test_the_prompt_is_the_printed_one():
    """Word for word but for what is filled in: marks of the page's layout apart."""
    start = "You are a specialized AI Search Assistant"
    as_printed = printed("star.md", start, "Now begin the conversation")

    def words(of: str) -> str:
        return "".join(of.replace("{{ Tools }}", "{{Tools}}").replace("`", "").split())

    assert words(PROMPT).startswith(words(as_printed))


def test_the_tool_is_shown_in_the_prompt_under_its_printed_name():
    shown = DIALECT.prompt(DIALECT.offered())
    assert '{"name": "Search", "description": "Search Wikipedia.' in shown
    assert DIALECT.max_calls == 60 and DIALECT.context_tokens == 32768


def test_a_search_shows_five_passages_as_data(retriever):
    tools = AnswerBox(WikipediaSearch(f"{retriever}/retrieve"), FACE)
    lines = answered(tools, "Search", {"query": "capital of Italy"}).text.splitlines()
    assert len(lines) == 5
    assert lines[0] == 'Doc 1(Title: "Rome") Rome is the capital of Italy.'
    assert "</tool_response>" not in lines[1]


def test_a_wrong_call_is_the_models(retriever):
    for arguments in ({"query": " "}, "{"):
        answer = answered(AnswerBox(WikipediaSearch(retriever), FACE), "Search", arguments)
        assert answer.error and answer.text.startswith("Error: ")


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("the Seine!", True),
        ("SEINE", True),
        ("Seine river", False),
        ("sei ne", False),
        ("twenty-one", True),  # no hyphen, as in the golden answer
        ("", False),
    ],
)
def test_exact_match_is_search_r1s(answer, right):
    assert exact_match(answer, ["Seine", "Twentyone"]) is right


def test_questions_are_flashrags_files(tmp_path):
    for name, split in (("nq", "test"), ("musique", "dev"), ("nq", "dev")):
        line = {"id": f"{split}_0", "question": "what is it", "golden_answers": ["a"]}
        write_lines(tmp_path / name / f"{split}.jsonl", [line])
    questions = read_questions(tmp_path)
    assert [question.id for question in questions] == ["nq/test_0", "musique/dev_0"]
    assert questions[0].input == "what is it?"
    (tmp_path / "nq" / "test.jsonl").write_text('{"id": 1, "question": "x"}\n')
    with pytest.raises(UserError, match=r"nq/test\.jsonl:1: field 'golden_answers'"):
        read_questions(tmp_path)
    with pytest.raises(UserError, match="holds none of the sets nq, triviaqa"):
        read_questions(tmp_path / "nq")
