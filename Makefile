# Everything happens in .venv, which the first target that needs it creates.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
# The newest supported Python on the PATH, unless PYTHON says otherwise.
PYTHON ?= $(shell for v in 3.13 3.12 3.11; do \
	python$$v -c 'import sys' >/dev/null 2>&1 && { echo python$$v; exit; }; done; echo python3)
CONSTRAINTS := --constraint constraints.txt
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { \
		echo "kinfolk needs Python 3.11, 3.12 or 3.13; $(PYTHON) is $$($(PYTHON) -V 2>&1)." \
		"Run: make PYTHON=python3.12 TARGET"; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 \
		|| { rm -rf $(VENV); $(PYTHON) -m pip install --quiet --user virtualenv \
		&& $(PYTHON) -m virtualenv --quiet $(VENV); }
	@touch $@

# The package itself with what a curator needs, and pandas: enough for the demo and the README.
$(VENV)/core: $(VENV)/created pyproject.toml constraints.txt
	@echo "Installing kinfolk"
	@$(PIP) install $(CONSTRAINTS) --editable '.[curator,files]'
	@touch $@

$(VENV)/dev: $(VENV)/core
	@echo "Installing what the tests need"
	@$(PIP) install $(CONSTRAINTS) --editable '.[dev]'
	@touch $@

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(VENV)/dev ## create .venv with everything a developer needs

.PHONY: demo
demo: $(VENV)/core ## run kinfolk on bundled real data, into ./kinfolk-demo
	@$(BIN)/kinfolk demo -o kinfolk-demo

.PHONY: test
test: $(VENV)/dev ## run the tests
	@$(BIN)/python -m pytest -q -rs -n auto --dist worksteal -m 'not slow'

.PHONY: test-slow
test-slow: $(VENV)/dev ## run the tests that take longer
	@$(BIN)/python -m pytest -q -rs -n auto --dist worksteal -m slow

# They stay apart, as opendp loads scikit-learn wherever it is installed, which takes seconds.
SDMETRICS := sdmetrics copulas scikit-learn joblib threadpoolctl cloudpickle plotly tqdm
.PHONY: test-sdmetrics
test-sdmetrics: $(VENV)/dev ## run the example that needs SDMetrics
	@$(PIP) install $(CONSTRAINTS) --no-deps --upgrade --target $(VENV)/sdmetrics $(SDMETRICS)
	@PYTHONPATH=$(VENV)/sdmetrics $(BIN)/python -m pytest -q -rs tests/test_examples.py -k sdmetrics

.PHONY: test-processors
test-processors: $(VENV)/dev ## run the numeric tests as on other processors; PROCESSORS=name for one
	@.ci/test-processors $(BIN)/python $(PROCESSORS)

.PHONY: bench
bench: $(VENV)/core ## measure counting, selection, answering, sampling, MWEM; BENCH=--quick for a shorter one
	@$(BIN)/python -m bench.counting $(BENCH)
	@$(BIN)/python -m bench.selection
	@$(BIN)/python -m bench.answering
	@$(BIN)/python -m bench.sampling
	@$(BIN)/python -m bench.multiplicative

.PHONY: beside
beside: $(VENV)/core ## compare speed and memory with another checkout; BESIDE="../old --rounds 3"
	@$(BIN)/python -m bench.beside $(BESIDE)

.PHONY: walk
walk: $(VENV)/dev ## measure how far one walks to follow the code; WALK="--root DIR" for another checkout
	@$(BIN)/python -m bench.walk $(WALK)

.PHONY: accuracy
accuracy: $(VENV)/core ## measure errors on real households, into docs/accuracy; hours, and resumable
	@$(BIN)/python -m bench.accuracy $(ACCURACY)

# Others' judges want versions of their own, so each has its environment.
SPAIN ?= spain2011
SUITES ?= build/suites
JUDGES := .venv-suites
JUDGES_PYTHON ?= python3.11
SAID := docs/suites/scores.csv

$(JUDGES)/%/ready: bench/suites/requirements/%.txt
	@echo "Installing into $(@D)"
	@$(JUDGES_PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --requirement $<
	@touch $@

.PHONY: suites-data
suites-data:
	@test -f "$(SPAIN)/households.csv" -a -f "$(SPAIN)/persons.csv" || { \
		echo "$(SPAIN) has no households.csv and persons.csv. docs/suites.md says which they are." \
		"Run: make suites SPAIN=FOLDER"; exit 1; }

.PHONY: suites
suites: suites-data $(VENV)/core $(patsubst %,$(JUDGES)/%/ready,detector sdmetrics syntherela anonymeter) ## let SDMetrics, SyntheRela and others judge, into docs/suites; an hour, and resumable; SPAIN=FOLDER
	@$(BIN)/python -m bench.suites.candidates "$(SPAIN)" "$(SUITES)" docs/suites/tables.json
	@$(JUDGES)/syntherela/bin/python -W ignore -m bench.suites.sdv_tables "$(SUITES)"
	@$(JUDGES)/detector/bin/python -m bench.suites.telling "$(SUITES)" $(SAID)
	@$(JUDGES)/detector/bin/python -m bench.suites.tasks "$(SUITES)" $(SAID)
	@$(JUDGES)/sdmetrics/bin/python -W ignore -m bench.suites.sdmetrics_judge "$(SUITES)" $(SAID)
	@$(JUDGES)/syntherela/bin/python -W ignore -m bench.suites.syntherela_judge "$(SUITES)" $(SAID)
	@$(JUDGES)/anonymeter/bin/python -W ignore -m bench.suites.anonymeter_judge "$(SUITES)" $(SAID)
	@$(BIN)/python -m bench.suites.page

.PHONY: docs
docs: $(VENV)/dev ## build the documentation into ./site; a warning is an error
	@$(BIN)/python -m mkdocs build --strict --quiet
	@echo "Open site/index.html"

.PHONY: lint
lint: $(VENV)/dev ## check format and style
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

.PHONY: format
format: $(VENV)/dev ## format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: types
types: $(VENV)/dev ## check the types, strictly
	@$(BIN)/mypy

.PHONY: clean
clean: ## remove .venv and everything that was built
	rm -rf $(VENV) $(JUDGES) build dist site kinfolk-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
