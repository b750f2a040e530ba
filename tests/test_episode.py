"""Closing a session: a task that gives no verdict makes its episode unscored, with a reason."""

from dataclasses import dataclass

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode, close_session, open_session
from tripwright.transcript import StopReason, Transcript


@dataclass(frozen=True)
class Unjudged(TripTask):
    def judged(self, transcript: Transcript, plan_format: str) -> Episode:
        return Episode(self, transcript, None)


def test_no_verdict_is_unscored_with_a_reason(lab):
    trip = lab.trip
    session = open_session(Unjudged(trip.id, trip.request, trip.world), dialect_named("planner_r1"))
    session.say("<answer>[]</answer>")
    assert session.transcript.stop_reason is StopReason.ANSWER
    transcript = close_session(session).transcript
    assert (transcript.stop_reason, transcript.fault) == (
        StopReason.UNSCORED,
        "the task gave no verdict",
    )
