# Two commands for a newcomer: `make run` and `make test`. Everything else is for those who stay.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
# One environment, filled by purpose: a stamp is there once the lock file of its name is installed.
RUN    := $(VENV)/.run
TEST   := $(VENV)/.test
LINT   := $(VENV)/.lint
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r

.PHONY: run check test live lint bench soak testbed documented images controlplane setup develop lock chart reference release clean

# What running needs, nothing else. The simulator's hot path is compiled where a C compiler is, again whenever its sources have
# changed; what compiles it does not stay.
setup: $(RUN)
	@$(BIN)/python scripts/compile.py

# Also what tests and lint use; their targets see to it themselves.
develop: setup $(TEST) $(LINT)

$(RUN): requirements/run.lock requirements/build.lock pyproject.toml hatch_build.py
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed (3.12 and 3.13 work, too): make PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) requirements/run.lock
	@rm -rf build/editable
	scripts/aside $(BIN)/python requirements/build.lock hatchling build --target wheel:editable --directory build/editable >/dev/null
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall build/editable/*.whl
	@rm -rf build/editable
	@touch $@

$(TEST): requirements/test.lock | $(RUN)
	$(INSTALL) $<
	@touch $@

# Types are checked against what tests import, too.
$(LINT): requirements/lint.lock | $(TEST)
	$(INSTALL) $<
	@touch $@

run: setup
	$(BIN)/ecotone simulate festival -p kube-default -p sophos -p communication-aware -p netmarks -p kubedsm -p ecotone-fast -p ecotone --report report

# What follows the target's own arguments: make soak ARGUMENTS="-k parity", make bench ARGUMENTS=decide.
ARGUMENTS ?=

# What every commit is held against; minutes.
check: setup $(LINT)
	@scripts/check $(ARGUMENTS)

test: setup $(TEST)
	scripts/test $(ARGUMENTS)

# The closed loop with real parts; at most ten minutes.
live: setup $(TEST)
	scripts/live $(ARGUMENTS)

lint: $(LINT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup $(TEST)
	$(BIN)/python -m benchmarks $(ARGUMENTS)

soak: setup $(TEST)
	scripts/soak $(ARGUMENTS)

# Real nodes on this machine; needs root.
testbed: setup $(TEST)
	scripts/testbed $(ARGUMENTS)

# The documentation's commands that take long or need an image's registry or real nodes; needs root.
documented: setup $(TEST)
	scripts/documented $(ARGUMENTS)

# The test bed's container images, as archives.
images: setup $(TEST)
	@scripts/images

controlplane: setup
	@scripts/controlplane

# Resolves pyproject.toml anew into requirements/*.lock; make lock ARGUMENTS=NAME moves this package alone. What resolves is
# pinned like everything it resolves: a tool that decides what is installed is trusted, too.
lock:
	scripts/aside $(PYTHON) requirements/resolve.lock python scripts/lock.py $(ARGUMENTS)

# The Helm chart, from the objects that `ecotone manifests` prints.
chart: setup
	$(BIN)/python -m ecotone.services.install.chart deploy/chart

# docs/reference, from the code it is about.
reference: setup
	$(BIN)/python -m ecotone.cli.reference docs/reference

# Wheel, source archive, image and digest, chart, bill of materials and their sums, in dist/. ARGUMENTS=--without-image without buildah.
release: setup
	$(BIN)/python scripts/release.py $(ARGUMENTS)

clean:
	rm -rf $(VENV) build dist report .cache src/ecotone/sim/binaries
