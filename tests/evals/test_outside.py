"""Another harness's results as a run folder: its figures, with our intervals, in `compare` and
`report`. The files are made up in the formats of evalscope 1.14.1 and inspect_ai 0.3.285; tests/bridges/test_inspect_outside.py imports what Inspect itself wrote."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines, write_lines
from tripwright.cli.main import main
from tripwright.runs import episodes

Json = dict[str, Any]


def go(*words: object) -> int:
    return main([str(word) for word in words])


def imported(harness: str, out: Path, *files: Path, model: str | None = None) -> Json:
    named = ["--model", model] if model else []
    assert go("outside", "import", *files, "--harness", harness, "--out", out, *named) == 0
    return json.loads((out / "score.json").read_text())


def evalscope_file(folder: Path, subset: str, turns: list[tuple[float, float, int]]) -> Path:
    """(prompt level, instruction level, instructions) of each conversation."""
    reviews, reports = folder / "reviews" / "qwen", folder / "reports" / "qwen"
    for place in (reviews, reports):
        place.mkdir(parents=True, exist_ok=True)
    report = reports / "multi_if.json"
    subsets = {subset: {"requested": len(turns)}}
    if report.exists():
        subsets |= json.loads(report.read_text())["execution_summary"]["subsets"]
    report.write_text(json.dumps({"execution_summary": {"subsets": subsets}}))
    path = reviews / f"multi_if_{subset}.jsonl"
    lines = []
    for number, (prompt, share, count) in enumerate(turns):
        value = {"turn_1_inst_level_strict": share, "turn_1_prompt_level_strict": prompt}
        score = {
            "value": value,
            "status": "success",
            "prediction": "Hi.",
            "metadata": {"metric_weights": {"turn_1_inst_level_strict": count}},
            "main_score_name": "turn_1_prompt_level_strict",
        }
        messages = [
            {"role": "user", "content": f"q{number}"},
            {"role": "assistant", "content": "Hi."},
        ]
        sample = {"score": score, "sample_id": number, "group_id": number, "generation_index": 0}
        lines.append(json.dumps({"index": number, "messages": messages, "sample_score": sample}))
    path.write_text("\n".join(lines) + "\n")
    return path


def inspect_file(path: Path, seed: int, scores: dict[str, list[float | None]], model: str) -> Path:
    """Scores of each question's epochs; None where the sample ended with an error."""
    samples = [
        {
            "id": question,
            "epoch": epoch,
            "scores": {"match": {"value": score}, "style": {"value": "C"}},
            "error": {"message": "the server was down"} if score is None else None,
            "messages": [
                {"role": "user", "content": "My shoes."},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "1", "function": "find", "arguments": {"id": 3}}],
                },
                {"role": "tool", "content": "found"},
                {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
            ],
        }
        for question, epochs in scores.items()
        for epoch, score in enumerate(epochs, start=1)
    ]
    config = {"temperature": 0.6, "seed": seed, "max_connections": 9}
    packages = {"inspect_ai": "0.3.285"}
    run = {"task": "retail", "model": model, "packages": packages, "model_generate_config": config}
    run["dataset"] = {"samples": 99, "sample_ids": list(scores)}
    run["config"] = {"limit": len(scores), "epochs": len(next(iter(scores.values())))}
    path.write_text(json.dumps({"eval": run, "plan": {"config": {}}, "samples": samples}))
    return path


def test_evalscopes_figures_are_its_own(tmp_path):
    file = evalscope_file(tmp_path, "English", [(1.0, 1.0, 1), (0.0, 0.5, 4), (0.0, 0.0, 1)])
    score = imported("evalscope", tmp_path / "run", file)
    metrics = score["metrics"]
    assert metrics["final"] | {"low": 0, "high": 0} == {
        "value": 1 / 3, "low": 0, "high": 0, "k": 1, "n": 3,
    }  # fmt: skip
    assert metrics["turn_1_prompt_level_strict"]["value"] == pytest.approx(1 / 3)
    # instructions count, not conversations, as evalscope's weighted mean: (1 + 2 + 0) / 6
    assert metrics["turn_1_inst_level_strict"]["value"] == pytest.approx(0.5)
    assert score["rules"] == "verified by evalscope multi_if"
    assert score["run_card"]["policy"] == {"kind": "evalscope", "model": "qwen"}
    assert score["levels"]["English"]["final"]["n"] == 3


def test_each_part_weighs_the_same_in_the_mean_over_parts(tmp_path):
    files = [
        evalscope_file(tmp_path, "English", [(1.0, 1.0, 1)] * 9),
        evalscope_file(tmp_path, "Thai", [(0.0, 0.0, 1)]),
    ]
    metrics = imported("evalscope", tmp_path / "run", *files)["metrics"]
    assert metrics["final"]["value"] == 0.9
    assert metrics["mean_over_parts"]["value"] == pytest.approx(0.5)


def test_what_the_harness_could_not_score_is_unscored(tmp_path):
    file = evalscope_file(tmp_path, "English", [(1.0, 1.0, 1), (1.0, 1.0, 1)])
    lines = read_lines(file)
    lines[1]["sample_score"]["score"] |= {"value": {}, "status": "transport_error"}
    write_lines(file, lines)
    score = imported("evalscope", tmp_path / "run", file)
    assert (score["n"], score["unscored"]) == (1, 1)
    assert "transport_error" in score["warning"] and score["worst_case"]["final"]["value"] == 0.5

    log = inspect_file(tmp_path / "t.json", 1, {"0": [1.0, None], "1": [0.0, 1.0]}, "m")
    score = imported("inspect", tmp_path / "log", log)
    assert (score["n"], score["unscored"]) == (3, 1)


def counted_alone(log: Json, **config: Any) -> None:
    log["samples"].pop()
    log["eval"] |= {"dataset": {"samples": 2}, "config": {"epochs": 2, **config}}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda log: log["samples"].pop(), (3, 1)),
        (lambda log: log["samples"].append(log["samples"][0]), None),
        (lambda log: log["eval"]["dataset"]["sample_ids"].pop(), None),
        (counted_alone, None),
        (lambda log: counted_alone(log, limit=2), (3, 0)),
    ],
)
def test_a_log_is_held_against_what_it_states(change, expected, tmp_path):
    """(scored, unscored), or None where it is refused."""
    path = inspect_file(tmp_path / "t.json", 1, {"0": [1.0, 1.0], "1": [0.0, 1.0]}, "m")
    log = json.loads(path.read_text())
    change(log)
    path.write_text(json.dumps(log))
    code = go("outside", "import", path, "--harness", "inspect", "--out", tmp_path / "run")
    assert code == (0 if expected else 2) and (tmp_path / "run").exists() == bool(expected)
    if expected:
        score = json.loads((tmp_path / "run" / "score.json").read_text())
        assert (score["n"], score["unscored"]) == expected


@pytest.mark.parametrize(
    "change",
    [
        lambda path: write_lines(path, read_lines(path)[:-1]),
        lambda path: write_lines(path, read_lines(path) + read_lines(path)[:1]),
        lambda path: (path.parents[2] / "reports" / "qwen" / "multi_if.json").unlink(),
    ],
)
def test_reviews_are_held_against_their_report(change, tmp_path):
    change(path := evalscope_file(tmp_path, "English", [(1.0, 1.0, 1), (0.0, 0.5, 4)]))
    code = go("outside", "import", path, "--harness", "evalscope", "--out", tmp_path / "run")
    assert code == 2 and not (tmp_path / "run").exists()


def test_epochs_are_samples_of_one_question(tmp_path):
    file = inspect_file(tmp_path / "t.json", 1, {"0": [1.0, 1.0], "1": [1.0, 0.0]}, "m")
    score = imported("inspect", tmp_path / "run", file)
    metrics = score["metrics"]
    assert metrics["final"]["value"] == 0.75 and metrics["pass^2"]["value"] == 0.5
    assert metrics["style"]["value"] == 1.0
    assert score["run_card"]["world"] == {"name": "retail"}
    assert score["run_card"]["decoding"] == {"temperature": 0.6, "seed": 1}
    first = next(iter(episodes(tmp_path / "run" / "transcripts.jsonl")))
    segments = [(each["role"], each["text"]) for each in first["transcript"]["segments"]]
    assert segments[1] == ("assistant", "find({'id': 3})")


def test_seeds_are_compared_with_one_interval_and_reported(tmp_path, capsys):
    """Three trainings from one recipe, each served under a name of its own."""
    tasks = [str(number) for number in range(12)]
    for name, passes in (("base", 3), ("rl", 9)):
        for seed in range(3):
            rewards = {
                task: [float((number + seed) % 12 < passes)] for number, task in enumerate(tasks)
            }
            file = inspect_file(tmp_path / f"{name}{seed}.json", 7, rewards, f"{name}-seed{seed}")
            imported("inspect", tmp_path / f"{name}_{seed}", file, model=name)
    groups = [",".join(str(tmp_path / f"{name}_{s}") for s in range(3)) for name in ("base", "rl")]
    capsys.readouterr()
    assert go("compare", *groups, "--json") == 0
    comparison = json.loads(capsys.readouterr().out)
    (base, rl) = comparison["seeds"].values()
    assert base["mean"] == 0.25 and rl["mean"] == 0.75 and len(rl["runs"]) == 3
    figure = json.dumps(comparison)
    assert '"low"' in figure and comparison["queries"] == 12
    assert go("report", tmp_path / "rl_0") == 0
    page = (tmp_path / "rl_0" / "report.html").read_text()
    assert "retail" in page and "My shoes." in page


@pytest.mark.parametrize(
    ("harness", "text", "words"),
    [
        ("evalscope", '{"index": 0}\n', "is no result of evalscope: it has no 'sample_score'"),
        ("evalscope", "", "holds no answers"),
        ("inspect", '{"status": "success"}', "is no result of inspect: it has no 'eval'"),
        ("inspect", "PK\x03\x04", "Expected a log in JSON"),
        ("lm-eval", "{}", "--harness"),
    ],
)
def test_what_is_no_result_is_refused_and_leaves_nothing(harness, text, words, tmp_path, capsys):
    (place := tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (place / "file.jsonl").write_text(text)
    out = tmp_path / "run"
    assert go("outside", "import", place / "file.jsonl", "--harness", harness, "--out", out) == 2
    told = capsys.readouterr().err
    assert words in told and "Traceback" not in told
    assert not out.exists() and not list(tmp_path.glob("*.partial"))


def test_two_benchmarks_are_two_runs(tmp_path, capsys):
    files = [inspect_file(tmp_path / f"{m}.json", 1, {"0": [1.0]}, m) for m in ("m", "other")]
    assert go("outside", "import", *files, "--harness", "inspect", "--out", tmp_path / "run") == 2
    assert "Import them into folders of their own." in capsys.readouterr().err
    imported("inspect", tmp_path / "run", files[0])
    assert go("outside", "import", files[0], "--harness", "inspect", "--out", tmp_path / "run") == 2
