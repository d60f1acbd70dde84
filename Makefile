# Two commands to begin with: `make demo` and `make test`. Each sets up what it needs first.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check docs format test-system laws fuzz bench mutate release test-pythons clean

demo: $(VENV)/.base
	@$(BIN)/evenhand demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --durations 15

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site: open docs/_build/html/index.html. A warning is an error.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Tests that need more than Python: a browser, torch. What cannot be had is skipped and counted.
test-system: $(VENV)/.system
	@VENV=$(VENV) sh tests/system/install.sh
	$(BIN)/python -m pytest -m 'hypothesis and not system' -n 2 --hypothesis-profile thorough --timeout 900
	$(BIN)/python -m pytest -m system -n 2 --dist loadfile -rs --durations 25 --timeout 900

# The laws on a thousand examples drawn anew, for the night: what falls becomes an @example.
laws: $(VENV)/.dev
	$(BIN)/python -m pytest -m 'hypothesis and not system' -n 2 --hypothesis-profile anew --timeout 3600

# Odd files and options by the thousand, for every verb; TRIES=… and SEED=… choose others.
TRIES ?= 10000
SEED  ?= 0
fuzz: $(VENV)/.dev
	PYTHONPATH=tests/helpers $(BIN)/python -m fuzzing --tries $(TRIES) --shell 500 --seed $(SEED)

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# For the night: small mistakes put into the code one at a time; how many do the tests notice?
mutate: $(VENV)/.dev
	$(BIN)/python -m mutation --seed 1 --sample 300 --at-least 90

# dist/: the wheel, the sdist and a bill of materials; docs/licences.md. Nothing is uploaded.
release: $(VENV)/.dev
	rm -rf dist $(VENV)/release
	@$(PIP) hatchling packaging
	$(BIN)/python -m hatchling build
	@$(PYTHON) -m venv $(VENV)/release
	@$(VENV)/release/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$(ls dist/*.whl)[all]"
	$(VENV)/release/bin/python -m release licences
	$(VENV)/release/bin/python -m release materials dist

# The wheel in new environments: every Python that is here, and the oldest allowed dependencies.
test-pythons: release
	$(BIN)/python -m release pythons dist/*.whl
	$(BIN)/python -m release oldest dist/*.whl

clean:
	rm -rf $(VENV) build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis .jax_cache .mutation

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("evenhand needs Python 3.11 or later: make PYTHON=python3.11 …" if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV) (once; a minute or two) …"
	@# Some systems ship Python without the files that put pip into a new environment.
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { $(PYTHON) -m venv --clear --without-pip $(VENV) && \
	  $(PYTHON) -m pip --python $(VENV)/bin/python install --quiet pip; }

$(VENV)/.base: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing evenhand …"
	@$(PIP) -e '.[learn,serve]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing evenhand and what its tests need …"
	@$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.base

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing evenhand and what its documentation is built with …"
	@$(PIP) -e '.[docs]'
	@touch $@ $(VENV)/.base

$(VENV)/.system: $(VENV)/.dev
	@echo "Installing what the system tests need …"
	@$(PIP) -e '.[dev,system,sb3,mo,ray,spark,sql]'
	@touch $@
