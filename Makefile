# Two commands for a newcomer: `make run` and `make test`. Everything else is for those who stay.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

.PHONY: run check test live lint bench soak testbed documented images controlplane setup lock chart reference clean

# The simulator's hot path is compiled where a C compiler is, again whenever its sources have changed.
setup: $(STAMP)
	@$(BIN)/python scripts/compile.py

$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed (3.12 and 3.13 work, too): make PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $(STAMP)

run: setup
	$(BIN)/ecotone simulate festival -p kube-default -p sophos -p communication-aware -p netmarks -p kubedsm -p ecotone --report report

# What follows the target's own arguments: make soak ARGUMENTS="-k parity", make bench ARGUMENTS=decide.
ARGUMENTS ?=

# What every commit is held against; minutes.
check: setup
	@scripts/check $(ARGUMENTS)

test: setup
	scripts/test $(ARGUMENTS)

# The closed loop with real parts; at most ten minutes.
live: setup
	scripts/live $(ARGUMENTS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m benchmarks $(ARGUMENTS)

soak: setup
	scripts/soak $(ARGUMENTS)

# Real nodes on this machine; needs root.
testbed: setup
	scripts/testbed $(ARGUMENTS)

# The documentation's commands that take long or need an image's registry or real nodes; needs root.
documented: setup
	scripts/documented $(ARGUMENTS)

# The test bed's container images, as archives.
images: setup
	@scripts/images

controlplane: setup
	@scripts/controlplane

# Resolves requirements.in anew; hashes only, no index addresses. The tools are pinned and live in a place of their own;
# to move them, run the same with scripts/lock-tools.in and scripts/lock-tools.txt.
COMPILE := build/lock-tools/bin/pip-compile --quiet --upgrade --allow-unsafe --strip-extras --generate-hashes \
  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host

lock: build/lock-tools/.ready
	$(COMPILE) --output-file requirements.lock requirements.in

build/lock-tools/.ready: scripts/lock-tools.txt
	$(PYTHON) -m venv --clear build/lock-tools
	build/lock-tools/bin/python -m pip install --quiet --require-hashes -r scripts/lock-tools.txt
	@touch $@

# The Helm chart, from the objects that `ecotone manifests` prints.
chart: setup
	$(BIN)/python -m ecotone.services.install.chart deploy/chart

# docs/reference, from the code it is about.
reference: setup
	$(BIN)/python -m ecotone.cli.reference docs/reference

clean:
	rm -rf $(VENV) build dist report .cache src/ecotone/sim/binaries
