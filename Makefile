# Two commands for a newcomer: `make run` and `make test`. Everything else is for those who stay.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

.PHONY: run test lint bench soak controlplane setup lock clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $(STAMP)

run: setup
	$(BIN)/ecotone simulate sock-shop-100ms --policy kube-default --policy sophos --policy ecotone --report report

test: setup
	scripts/test

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m benchmarks

soak: setup
	scripts/soak

controlplane: setup
	@scripts/controlplane

# Resolves requirements.in anew; hashes only, no index addresses.
lock:
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/pip-compile --quiet --upgrade --allow-unsafe --strip-extras --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --no-emit-trusted-host --output-file requirements.lock requirements.in

clean:
	rm -rf $(VENV) build dist report .cache
