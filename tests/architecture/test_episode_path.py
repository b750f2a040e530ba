"""How far a reader walks to follow one episode: the files that it enters from request to reward,
and how often it moves from one to another. Counted by playing one, in a process of its own."""

from __future__ import annotations

from tests.conftest import python

MOST_FILES = 28
MOST_MOVES = 257

# an episode of the cheapest baseline, with the row whose reward is dense
EPISODE = """
import sys
from pathlib import Path

import tripwright
from tripwright.domains import dialect_named, domain_named
from tripwright.episode import play

package, entered = str(Path(tripwright.__file__).parent), []


def note(frame, event, argument):
    file = frame.f_code.co_filename
    if event == "call" and file.startswith(package) and file not in entered[-1:]:
        entered.append(file)


domain = domain_named("travelplanner")
generator = domain.generated()
world = generator.world("nano", 7)
request = next(generator.draw(world, 1, 3))
task, policy = domain.task("first", request, world), domain.baselines["cheapest_row"]()
sys.setprofile(note)
(episode,) = play(policy, [task], dialect_named("compact"))
domain.rewards["dense"](episode)
sys.setprofile(None)
assert episode.scored and episode.transcript.answer
print(len(set(entered)), len(entered))
"""


def test_an_episode_is_followed_in_few_files_and_moves() -> None:
    files, moves = map(int, python("-c", EPISODE, check=True).stdout.split())
    assert files <= MOST_FILES and moves <= MOST_MOVES
