"""`tripwright request …` as typed: files, proofs, review and stages, and one line for every
mistake."""

from pathlib import Path

import pytest

from tests.files import read_lines, write_lines
from tripwright.cli.main import main
from tripwright.domains.deeptravel.tools.answers import RECORDS
from tripwright.world.generator import build_tables
from tripwright.world.store import World, write_world

MAKE = "request make --count 12 --constraints mixed --seed 2".split()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worlds") / "world"
    write_world(folder, build_tables("nano", 3))
    return folder


@pytest.fixture(scope="module")
def made(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("requests") / "few.jsonl"
    assert main([*MAKE, "--world", str(world), "--out", str(path)]) == 0
    return path


def test_requests_come_with_their_proofs_and_equal_seeds_with_equal_bytes(
    world, made, tmp_path, typed
):
    requests, proofs = read_lines(made), read_lines(made.with_name("few.proofs.jsonl"))
    assert [one["id"] for one in requests] == [one["id"] for one in proofs] and len(requests) == 12
    assert all(proof["witnesses"] for proof in proofs)
    said = typed(MAKE, f"--json --world {world} --out {tmp_path}/few.jsonl").record
    assert said["requests"] == 12 == sum(said["levels"].values()) and 0 < said["with_wishes"] < 12
    for name in ("few.jsonl", "few.proofs.jsonl"):
        assert (tmp_path / name).read_bytes() == made.with_name(name).read_bytes()


def test_live_services_and_a_recorded_day_give_the_requests_of_their_world(world, tmp_path, typed):
    """The services file names a closed world, so that what is made can be held against the world's
    own requests."""
    services, known = tmp_path / "live.toml", World.open(world)
    tools = "".join(f'{tool} = "world"\n' for tool in RECORDS)
    services.write_text(f'[tools]\n{tools}[vendors.world]\nfolder = "{world}"\n')
    few = "request make --count 6 --constraints mixed --seed 2"
    days = f"{known.dates[0]}..{known.dates[-1]} --snapshot 2026-06-20"
    live = ["--cities", ",".join(known.cities), "--store", tmp_path / "live.sqlite"]
    files = {name: tmp_path / f"{name}.jsonl" for name in ("direct", "live", "replayed")}
    typed(few, f"--world {world} --out {files['direct']}")
    typed(few, f"--services {services} --out {files['live']} --days {days}", live)
    said = typed(few, f"--replay --out {files['replayed']} --json --days {days}", live).record
    assert (said["services"]["mode"], said["services"]["snapshot"]) == ("replay", "2026-06-20")
    assert len(read_lines(files["direct"])) == 6
    for ending in (".jsonl", ".proofs.jsonl"):
        texts = {path.with_name(path.stem + ending).read_bytes() for path in files.values()}
        assert len(texts) == 1


def test_difficulty_writes_stages(made, tmp_path, typed, refused):
    requests, out, attempts = read_lines(made), tmp_path / "staged", tmp_path / "t.jsonl"
    episodes = [
        {"id": f"{one['id']}/{k}", "request": one, "verdict": {"final": place < 6 or k == 0}}
        for place, one in enumerate(requests)
        for k in range(4)
    ]
    write_lines(attempts, episodes)
    asked = f"request difficulty {made} {attempts} --out {out}"
    assert typed(asked, "--share 0 --json").record["levels"] == {"easy": 6, "hard": 6}
    stages = {name: read_lines(out / f"{name}.jsonl") for name in ("difficulty", "sft", "rl")}
    assert [one["difficulty"] for one in stages["difficulty"]] == [0.0] * 6 + [0.75] * 6
    assert [one["id"] for one in stages["sft"]] == [one["id"] for one in requests[:6]]
    assert {one["level"] for one in stages["rl"]} == {"hard"}
    refused(asked)  # the files are there
    typed(asked, "--restart")


@pytest.mark.parametrize(
    ("words", "names"),
    (
        ("make", "--world"),
        ("make --services s.toml --world w", "--world"),
        ("make --services s.toml --days 2026-06-26", "--cities"),
        ("make --services s.toml --cities A,B --days x", "--days: 'x'"),
        ("make --services s.toml --cities A,B --days 2026-06-26", "'s.toml'"),
        ("make --world {world} --cities A,B", "--cities"),
        ("make --world {world} --snapshot 2026-06-26", "--snapshot"),
        ("make --world {world} --constraints some", "--constraints"),
        ("make --world {world} --levels 1:2", "--levels '1:2'"),
        ("make --world {world} --out {made}", "few.jsonl"),
        ("make --world {world} --out {tmp}", "is a folder"),
        ("difficulty {made} {tmp}/none", "none"),
        ("difficulty {made} {made}", ":1: not an episode"),
    ),
)
def test_mistakes_are_one_line(words, names, world, made, tmp_path, refused):
    words = words if "--out" in words else f"{words} --out {tmp_path}/out"
    assert names in refused("request", words.format(tmp=tmp_path, made=made, world=world))
    assert list(tmp_path.iterdir()) == []
