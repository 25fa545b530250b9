# Everything is set up inside the checkout: `make demo` and `make test` work on a fresh machine.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
WORKERS ?= 2
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export SPARK_LOCAL_IP ?= 127.0.0.1
# Hundreds of processes start in a run: none should compile again what another has compiled.
unexport PYTHONDONTWRITEBYTECODE

# What belongs to one file of the source: make near FILE=src/crowdtally/ledger/chain.py
near: $(VENV)/test
	@$(BIN)/python tools/near.py $(FILE) > .near
	$(PYTEST) -m "not long" -q @.near

.PHONY: demo test test-all near mutants lint java browser bench bench-spark clean

demo: $(VENV)/base
	$(BIN)/crowdtally demo

BEGAN := $(shell date +%s)
TAKEN = $$(( $$(date +%s) - $(BEGAN) )) s for make $@ as a whole

# Each run draws the same examples and noise: see tests/kit/repeatable.py.
test: lint java browser
	@$(PYTEST) -m "not long"; ended=$$?; echo "$(TAKEN)"; exit $$ended

# Each run draws new ones: what it finds is a finding.
test-all: lint java browser
	@CROWDTALLY_SEARCH=1 $(PYTEST); ended=$$?; echo "$(TAKEN)"; exit $$ended

# Every listed mutant must be noticed by its tests: see tests/mutants/README.md.
mutants: $(VENV)/test
	$(BIN)/python tests/mutants/run.py --jobs 2

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/complexity.py

bench: $(VENV)/test
	$(BIN)/python bench/noise.py
	$(BIN)/python bench/release.py --records 1e7
	$(BIN)/python bench/ledger.py
	$(BIN)/python bench/reporting.py
	$(BIN)/python bench/person.py

bench-spark: $(VENV)/test java
	$(BIN)/python bench/spark.py

# Spark needs a Java runtime: Debian's is installed when root, else named.
java:
	@java -version >/dev/null 2>&1 || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && \
	    apt-get install -y -qq openjdk-17-jre-headless; } || \
	  { echo "Java is missing: sudo apt-get install openjdk-17-jre-headless"; exit 1; }

# Pages are looked at in a browser: Debian's Chromium, with a font, is installed when root, else named.
browser:
	@command -v chromium >/dev/null 2>&1 || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && \
	    apt-get install -y -qq chromium fonts-dejavu-core; } || \
	  { echo "Chromium is missing: sudo apt-get install chromium fonts-dejavu-core"; exit 1; }

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/base: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/test: $(VENV)/bin/python pyproject.toml research/pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[test]' -e './research[recommenders]'
	@touch $@ $(VENV)/base

# Debian keeps venv in a package of its own: installed when root, else named.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Crowdtally needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq python3-venv; } || \
	  { echo "Python's venv is missing: sudo apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
