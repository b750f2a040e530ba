"""The expert as a policy: a program that plays a traveller's request with the six live tools. Its
transcripts are what a cold start learns from (DeepTravel, section 3.1; row D6)."""

from __future__ import annotations

from functools import partial

from tripwright.domains.deeptravel.expert.play import Play, play_errand
from tripwright.policies.base import ScriptedPolicy

# Decides from nothing but the request's intents and what the tools have answered, and says what it
# could not meet. Raises UserError where a session asks for anything but a traveller's request.
ErrandExpert = partial(ScriptedPolicy, "errand-expert", partial(play_errand, "errand-expert", Play))
