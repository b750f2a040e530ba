"""tripwright trains and judges LLM agents that plan trips with tools. docs/python.md shows this
interface: its names are imported when they are first used, and `import tripwright` loads nothing
else."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers: the names of _MODULES, with their types
    from tripwright.agent.dialect import Dialect as Dialect
    from tripwright.domains import load_domain as load_domain
    from tripwright.domains.domain import Domain as Domain
    from tripwright.domains.place import PlaceOptions as PlaceOptions
    from tripwright.episode import Episode as Episode
    from tripwright.episode import Policy as Policy
    from tripwright.episode import Session as Session
    from tripwright.episode import Task as Task
    from tripwright.errors import UserError as UserError
    from tripwright.evals.evaluate import Score as Score
    from tripwright.evals.evaluate import evaluate as evaluate
    from tripwright.evals.evaluate import judge as judge
    from tripwright.evals.evaluate import play as play
    from tripwright.evals.evaluate import solve as solve
    from tripwright.policies.settings import PolicySettings as PolicySettings
    from tripwright.tools.faults import Faults as Faults
    from tripwright.training.run_folder import RunFolder as RunFolder
    from tripwright.training.stages import train as train
    from tripwright.transcript import Transcript as Transcript
    from tripwright.verdict import Verdict as Verdict
    from tripwright.world.generator import load_world as load_world
    from tripwright.world.store import World as World

__version__ = "0.2.0"
_MODULES = {
    "agent.dialect": "Dialect",
    "domains": "load_domain",
    "domains.domain": "Domain",
    "domains.place": "PlaceOptions",
    "episode": "Episode Policy Session Task",
    "errors": "UserError",
    "evals.evaluate": "Score evaluate judge play solve",
    "policies.settings": "PolicySettings",
    "tools.faults": "Faults",
    "training.run_folder": "RunFolder",
    "training.stages": "train",
    "transcript": "Transcript",
    "verdict": "Verdict",
    "world.generator": "load_world",
    "world.store": "World",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tripwright' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"tripwright.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
