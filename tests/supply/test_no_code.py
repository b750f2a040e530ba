"""Which modules may run code that is not in them: every other way to do so is refused here, by
reading the source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "tripwright"
NEVER_IMPORTED = {
    *("pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "runpy", "code", "imp"),
    *("yaml", "ctypes"),
}
CALLS = {
    *("eval", "exec", "compile", "__import__", "import_module", "exec_module", "Popen", "load"),
    *("resolve_name", "entry_points", "create_subprocess_exec", "create_subprocess_shell"),
    *("check_output", "loads", "system", "popen", "from_pretrained", "enable_load_extension"),
    *("load_extension", "stdio_client"),
}
SAFE = {  # these have the name and not the danger
    *("json.loads", "json.load", "tomllib.loads", "tomllib.load", "re.compile", "torch.compile")
}
# Module: what it runs, and why a file that a stranger gives cannot choose it.
ALLOWED = {
    "__init__.py": "import_module: names of our own table",
    "cli/main.py": "import_module: verbs of our own table",
    "cli/serve.py": "import_module: a module named by a domain",
    "domains/__init__.py": "import_module, entry_points: domains of our table, or installed",
    "domains/deeptravel/vendors/own_function.py": "exec_module: what a services file names",
    "server/trips.py": "import_module: a module named by a domain",
    "evals/run_card.py": "run: git, on our own checkout",
    "rewards/spec.py": "resolve_name: the reward of a recipe, only when training begins",
    "training/checkpoint.py": "pickle: the name of its error; torch.load with weights_only",
    "training/run_folder.py": "ctypes: mallopt of the C library that runs",
    "training/stages.py": "import_module: engines of our own table",
    "training/loggers.py": "import_module: loggers of our own table",
    "server/model_api.py": "load: weights, by the sampler's own check of safetensors",
    "training/fit.py": "from_pretrained: a configuration, no code of the folder's",
    "inference/local.py": "from_pretrained: safetensors, no code of the folder's",
    "agent/chat.py": "from_pretrained: a tokenizer, no code of the folder's",
    "bridges/verl/launch.py": "run, Popen: the Python of verl's environment; ctypes: prctl",
    "bridges/verl/inside/loop.py": "pickle: episodes, between processes of one run, as Ray does",
    "bridges/verl/inside/trainer.py": "pickle: the same; from_pretrained: a configuration",
    "bridges/verl/inside/sampler.py": "from_pretrained: a configuration, no code of the folder's",
}


def dangers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [each.name for each in node.names]
            modules += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for module in modules:
                if module.partition(".")[0] in NEVER_IMPORTED:
                    yield node.lineno, f"import {module}"
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            last = called.rpartition(".")[2]
            bare = isinstance(node.func, ast.Name) or last not in ("eval", "exec", "compile")
            if called == "subprocess.run" or (last in CALLS and bare and called not in SAFE):
                yield node.lineno, called
            for keyword in node.keywords:
                if keyword.arg in ("allow_pickle", "shell", "trust_remote_code", "weights_only"):
                    safe = keyword.arg == "weights_only"
                    if not (
                        isinstance(keyword.value, ast.Constant) and keyword.value.value is safe
                    ):
                        yield node.lineno, f"{keyword.arg}={ast.unparse(keyword.value)}"


def source_of(module: str) -> ast.AST:
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"))


def test_only_the_modules_named_here_can_run_what_is_not_in_them():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if places := [f"{name}:{line} {what}" for line, what in dangers(source_of(name))]:
            found[name] = places
    unknown = [place for name, places in found.items() if name not in ALLOWED for place in places]
    assert unknown == []
    assert ALLOWED.keys() - found.keys() == set(), "these no longer run anything"


@pytest.mark.parametrize("module", ["inference/local.py", "agent/chat.py"])
def test_nothing_is_loaded_with_its_own_code(module):
    calls = [
        {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        for node in ast.walk(source_of(module))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".from_pretrained")
    ]
    assert calls and all(keywords["trust_remote_code"] == "False" for keywords in calls)


def test_a_checkpoint_is_loaded_as_weights_only():
    (keywords,) = [
        {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        for node in ast.walk(source_of("training/checkpoint.py"))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load"
    ]
    assert keywords["weights_only"] == "True"
