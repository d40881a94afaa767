# The two commands: `make demo` opens the app on the built-in demo cluster, `make test` runs the test suite.
# Both make .venv themselves; a Python of 3.11 or newer is all that must be there.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)

.PHONY: demo test test-newest-textual newest-textual lint types layers check snapshots clean

demo: $(VENV)/.installed
	$(BIN)/karptui --demo

# The order is another one in every run; -p no:randomly keeps that of the files, --randomly-seed=N repeats a run.
# Neighbours stay in one process, for what they share, until another process has nothing left to do.
# Compiled modules are kept, even where the environment says otherwise: many tests start a Python of their own.
test: $(VENV)/.installed-dev
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist worksteal $(PYTEST_ARGS)

# What the screens do, pictures left out, on a Textual that karptui does not allow yet, in an environment of its own.
TEXTUAL ?= textual
test-newest-textual:
	$(MAKE) --no-print-directory VENV=.venv-newest-textual newest-textual

newest-textual: $(VENV)/.installed-dev
	@$(INSTALL) --upgrade '$(TEXTUAL)' || true
	@newest=$$($(BIN)/python -c 'from importlib.metadata import version; print(version("textual"))'); \
	if grep -q "\"textual==$$newest\"" pyproject.toml; then \
		echo "Textual $$newest: there is none newer than that of make test"; \
	else \
		echo "Textual $$newest"; \
		PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist loadfile --no-pictures tests/ui tests/screens tests/widgets tests/terminal $(PYTEST_ARGS); \
	fi

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

layers: $(VENV)/.installed-dev
	$(BIN)/lint-imports

check: test lint types layers

snapshots: $(VENV)/.installed-dev
	$(BIN)/pytest tests/ui --snapshot-update $(PYTEST_ARGS)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "karptui needs Python 3.11 or newer, $(PYTHON) is %d.%d; say make PYTHON=python3.12" % sys.version_info[:2])'
ifdef UV
	uv venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV)
else
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25'
endif

ifdef UV
INSTALL := VIRTUAL_ENV=$(VENV) uv pip install --quiet --compile-bytecode
else
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .venv-newest-textual .mypy_cache .pytest_cache .ruff_cache .import_linter_cache dist
