# Every target sets up what it needs in .venv, from a machine with Python 3.11 and make alone.
PYTHON ?= python3.11
BIN := .venv/bin
# The folder with the public data sets: ./data, or a shared/data beside this checkout, unless OSTRAKA_DATA names another.
OSTRAKA_DATA ?= $(abspath $(firstword $(wildcard data ../shared/data)))
export OSTRAKA_DATA
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check bench docs clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    a private classifier on an embedded data set, with a table and a figure"
	@echo "make test    every test"
	@echo "make check   style and types"
	@echo "make bench   speed against peers, as a table and JSON in benchmarks/results"
	@echo "make docs    the documentation, in site/"

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/dev: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[dev]'
	@touch $@

.venv/docs: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[docs]'
	@touch $@

demo: .venv/dev
	$(BIN)/ostraka demo

test: .venv/dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

check: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: .venv/dev
	$(BIN)/python -m benchmarks

docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv site out build .pytest_cache .mypy_cache .ruff_cache .hypothesis
