# make demo | test | check | docs | lock | clean. Nothing but make, Python 3.11 or later and a package
# index is needed: everything goes into .venv and is installed again only when pyproject.toml or
# requirements/dev.txt change.
#
#   make test ARGS="-k norms -x"       pass arguments on to pytest
#   make test PYTHON=python3.12        choose the Python that .venv is made with

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check

# Tests of a file stay in one process.
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile

# Vector stores without wheels: they need a C++ compiler, and their tests are skipped where there is none.
COMPILED := annoy==1.17.3 hnswlib==0.8.0

# These are run a second time with the compiler off: whatever calls a kernel, and is quick.
INTERPRETED_TESTS := $(patsubst %,tests/test_%.py,oracle kernels corpus assembly matrix measures \
	transforms rankings search_exactness search_panels soft_neighbors cooccurrence sources_contract \
	nearest edit_distance character_ngrams pairs thesaurus regression \
	decisions ordering balance fields phrases all_pairs groups basis fill_in vectors \
	plots snos snos_source soft_cardinality query_table meaning_space meaning_search unigram vocabulary)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-all check docs size lock clean

help:
	@echo "make demo    ask the names of Unicode characters for meanings (no download but Python packages)"
	@echo "make test    what the core promises, and a test of each door (some minutes)"
	@echo "make test-all    all tests, and the examples in the documentation"
	@echo "make check   style, types, imports, and the kernels' tests with the compiler off"
	@echo "make docs    the documentation as HTML, with a reference made of docstrings: build/docs"
	@echo "make size    lines of code by room, what a query crosses, what is public; writes nothing"
	@echo "make lock    refresh requirements/dev.txt, the versions that development runs with"
	@echo "make clean   remove .venv, caches and build results"

demo: $(VENV)/.package
	@$(BIN)/softcosine demo

test: $(VENV)/.tools
	@folder=$$(mktemp -d) && $(PYTEST) --basetemp "$$folder" $(ARGS) && rm -rf "$$folder"

# The inverse of the laboratory calls LAPACK on all threads: alone, because it ended a process
# that had run hundreds of other files before, twice, without a word.
ALONE := tests/test_regression.py

test-all: $(VENV)/.tools
	@$(BIN)/python -m pytest -q $(ALONE)
	@$(MAKE) --no-print-directory test ARGS="--all --ignore=$(ALONE) $(ARGS)"

check: $(VENV)/.tools
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python benchmarks/size.py --check
	NUMBA_DISABLE_JIT=1 $(PYTEST) -q $(INTERPRETED_TESTS)

docs: $(VENV)/.tools
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

size: $(VENV)/.tools
	$(BIN)/python benchmarks/size.py

# The comment at the top of the lock stands here, so that it is written anew each time.
lock: $(VENV)/.tools
	@$(PIP) install uv
	@{ echo "# Versions that development and the tests run with, for Python 3.11 and later on any system."; \
	   echo "# Made by \`make lock\` from pyproject.toml; do not edit."; \
	   $(BIN)/python -m uv --quiet pip compile --universal --python-version 3.11 --upgrade \
	     --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
	     --group test --group check --group docs pyproject.toml; } > $(VENV)/lock.txt
	@cp $(VENV)/lock.txt requirements/dev.txt
	@git --no-pager diff --stat -- requirements/dev.txt

clean:
	rm -rf $(VENV) build dist docs/reference .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The package, what it needs to run, and the light encoder.
$(VENV)/.package: pyproject.toml requirements/dev.txt packages/softcosine-minilm/pyproject.toml | $(BIN)/python
	@echo "Installing softcosine into $(VENV) (a minute the first time) ..."
	@$(PIP) install --constraint requirements/dev.txt ./packages/softcosine-minilm --editable ".[encoder]"
	@touch $@

# What testing and checking need besides.
$(VENV)/.tools: $(VENV)/.package
	@echo "Installing what the tests need into $(VENV) (a minute the first time) ..."
	@$(PIP) install --requirement requirements/dev.txt
	@$(PIP) install $(COMPILED) >$(VENV)/compiled.log 2>&1 || \
	  echo "$(COMPILED) could not be compiled ($(VENV)/compiled.log says why): their tests are skipped."
	@touch $@

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "No '$(PYTHON)' on this machine; install Python 3.11 or later, or say: make PYTHON=/path/to/python"; \
	  exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || { \
	  echo "softcosine needs Python 3.11 to 3.14, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1);" \
	       "say: make PYTHON=/path/to/python3.12"; \
	  exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  rm -rf $(VENV); \
	  echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu run: apt-get install python3-venv"; \
	  exit 1; }
