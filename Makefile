# Every target does its own set-up: a fresh machine needs Python 3.11+, make and a package index.
#
#   make test ARGS="tests/log -k roll"     anything after ARGS= goes to pytest
#   make test PYTHON=/opt/python3.13/bin/python3
#   make sim SEEDS=1000000                 as many worlds; DLOG_SEED=… sets the first
#   make fire KILLS=100                    as many kills; SPARK_FIRE_SEED=… sets the schedule

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh
# Tests and benchmarks start many processes, which is what compiled modules are for.
unexport PYTHONDONTWRITEBYTECODE

VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
PEERS   := .peers
WORKERS ?= 2
CASES   ?= 1000000
SEEDS   ?= 100000
KILLS   ?= 30
QUICK   ?=
ARGS    ?=
PIP     := $(BIN)/python -m pip --disable-pip-version-check --quiet
COMPILE := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --no-emit-index-url --no-emit-find-links --no-emit-package distributedlog

.PHONY: help setup demo test fuzz sim fire peers bench bench-readme check format lock upgrade clean

help:  ## say what the targets do
	@echo "usage: make TARGET"
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(STAMP)  ## create .venv and install the pinned versions (the other targets do it by themselves)

# The virtual environment is made once and brought up to date in place, never torn down: something may
# be running in it. pip resolves nothing here; the lock names every version and its hashes.
$(STAMP): requirements/dev.lock pyproject.toml
	@if [ ! -x $(BIN)/python ]; then \
		python=$$(sh requirements/find-python.sh "$(PYTHON)") || exit 1; \
		echo "Creating $(VENV) with $$python" && "$$python" -m venv $(VENV) || exit 1; \
	fi
	@echo "Installing the versions of requirements/dev.lock"
	@$(PIP) install --require-hashes --only-binary :all: --no-binary pyspark --requirement requirements/dev.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP)  ## the log, a broker and a Spark pipeline at work, killed and restarted, and what they do checked
	@mkdir -p build && $(BIN)/dlog demo $(ARGS)

test: $(STAMP)  ## run all tests that need no other Kafka implementation but Python packages
	@$(BIN)/pytest -n $(WORKERS) --dist worksteal --quiet --ignore=tests/peers -m "not peer" $(ARGS)

fuzz: $(STAMP)  ## run the fuzz tests with CASES=… mutated inputs (default 1000000)
	@DLOG_FUZZ_CASES=$(CASES) $(BIN)/pytest -n $(WORKERS) --dist worksteal --quiet --timeout=0 -m fuzz \
		--ignore=tests/peers $(ARGS)

sim: $(STAMP)  ## simulate transactions in a world that goes wrong, from SEEDS=… seeds (default 100000)
	@DLOG_SIM_SEEDS=$(SEEDS) $(BIN)/pytest -n $(WORKERS) --dist worksteal --quiet --timeout=0 -m sim \
		tests/transactions $(ARGS)

fire: $(STAMP)  ## kill driver, workers and broker under an exactly-once Spark query, KILLS=… times (default 30)
	@SPARK_FIRE_KILLS=$(KILLS) $(BIN)/pytest --quiet --timeout=0 tests/spark_fire $(ARGS)

peers: $(STAMP)  ## run the tests against Apache Kafka (needs Java 17+ and Maven)
	@sh peers/fetch.sh $(PEERS)
	@$(BIN)/pytest --quiet tests/peers $(ARGS)

bench: $(STAMP)  ## measure, and write build/bench.json and build/bench.svg (QUICK=1: only see that it runs)
	@$(BIN)/python -m bench $(if $(QUICK),--quick) $(ARGS)

bench-readme:  ## write what make bench measured into the README (ARGS=FILE … for other files)
	@$(BIN)/python -m bench.readme $(ARGS)

check: $(STAMP)  ## lint, formatting, types, import directions
	@code=0; \
	$(BIN)/ruff check . || code=1; \
	$(BIN)/ruff format --check . || code=1; \
	$(BIN)/mypy || code=1; \
	$(BIN)/lint-imports || code=1; \
	exit $$code

format: $(STAMP)  ## put the sources into the house's format
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

lock: $(STAMP)  ## write the lock file anew from pyproject.toml, keeping versions where possible
	@$(COMPILE) --group dev --all-extras --output-file requirements/dev.lock

upgrade: $(STAMP)  ## write the lock file anew with the newest versions
	@$(MAKE) lock COMPILE="$(COMPILE) --upgrade"

clean:  ## remove what the other targets made, except .venv and .peers
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
