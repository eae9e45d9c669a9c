PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
SECONDS = 300

.PHONY: demo test lint types unit fuzz bench coverage clean

demo: $(VENV)/installed
	$(BIN)/workingset-mcp demo

test: $(VENV)/installed-dev lint types unit

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/installed-dev
	$(BIN)/mypy

unit: $(VENV)/installed-dev
	PYTHONWARNDEFAULTENCODING=1 $(BIN)/coverage run -m pytest --numprocesses auto --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

fuzz: $(VENV)/installed-dev
	$(BIN)/python bench/fuzz_tests.py --seconds $(SECONDS)

bench: $(VENV)/installed-dev
	$(BIN)/python bench/performance.py --work build/bench --notes 1300,10000,100000 --peers

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev
	touch $@

clean:
	rm -rf $(VENV) build dist .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
