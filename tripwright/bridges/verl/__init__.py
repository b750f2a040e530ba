"""Training on many GPUs by verl on Ray, from the same recipe (docs/cluster.md).

settings    a recipe as verl's configuration; what cannot be said there is refused by name
launch      verl's environment, its command and data, the process, and its steps as a stage of ours
step        what every process rebuilds from RUN/recipe.json, and the rows of an update
inside/     what runs within verl's processes: trainer, agent loop, and a CPU to prove it on"""

VERSION = "0.9.1"  # of verl; its private places that we use were read in this one
NAME = "tripwright"  # under which trainer, agent loop and loss are registered with verl
FOLDER = "verl"  # RUN/verl/: configuration, data, log, checkpoints
STEPS = "steps.jsonl"  # there: a line for each step, written by the trainer
STOP = "stop"  # there: asks the trainer to save and to end after its step
STATE = "tripwright.json"  # in verl's checkpoints: what the next steps depend on beside its own
TRACKER = "latest_checkpointed_iteration.txt"  # verl's word for its newest whole checkpoint


def policy_loss_name(loss: str | None) -> str:
    """Under which a loss of a recipe (`grpo.loss`) is registered with verl."""
    return NAME if loss is None else f"{NAME}_{loss}"
