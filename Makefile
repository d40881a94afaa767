# The two commands: `make demo` opens the app on the built-in demo cluster, `make test` runs the test suite.
# Both make .venv themselves; a Python of 3.11 or newer is all that must be there.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
# Where a lock file is named, nothing else than what it lists is installed, and only what has its hash.
LOCK ?=

.PHONY: demo test test-newest-textual newest-textual lint types layers check snapshots lock audit release site clean

demo: $(VENV)/.installed
	$(BIN)/karptui --demo

# The order is another one in every run; -p no:randomly keeps that of the files, --randomly-seed=N repeats a run.
# Neighbours stay in one process, for what they share, until another process has nothing left to do.
# Compiled modules are kept, even where the environment says otherwise: many tests start a Python of their own. Those of
# karptui are compiled with the installation, by all processors, and not by each process of the first run.
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
	$(BIN)/pytest tests/ui/test_pictures.py tests/ui/test_demo_picture.py --update-pictures $(PYTEST_ARGS)

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
	$(INSTALL) -e '.[cel]' || $(INSTALL) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
ifdef LOCK
	$(INSTALL) --require-hashes -r $(LOCK)
	$(INSTALL) --no-deps -e .
else
	$(INSTALL) -e '.[dev]'
endif
	@$(BIN)/python -m compileall -q -j 0 karptui
	@touch $@ $(VENV)/.installed

# What continuous integration installs, with hashes: made anew when pyproject.toml changes. Needs uv.
lock:
	uv pip compile pyproject.toml --extra dev --generate-hashes --universal --python-version 3.11 \
		--no-header --no-annotate --no-emit-index-url --quiet --upgrade --output-file .ci/requirements.txt

# Known vulnerabilities of what is locked: a report, which never fails, as the list of them may be out of reach.
audit: $(VENV)/bin/python
	@$(PYTHON) -m venv $(VENV)-audit \
		&& timeout 60 $(VENV)-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit \
		&& $(VENV)-audit/bin/python tools/audit.py $(VENV)-audit/bin/pip-audit .ci/requirements.txt \
		|| echo "audit: nobody could be asked, as pip-audit could not be installed"

# Everything that a release consists of, in dist: make release VERSION=1.2.3 RELEASE='--url https://…'.
release:
	@rm -rf dist $(VENV)-release && $(PYTHON) -m venv $(VENV)-release \
		&& $(VENV)-release/bin/python -m pip install --quiet --disable-pip-version-check \
			'.[aws,cel]' 'hatchling>=1.27,<2' 'hatch-fancy-pypi-readme>=25.1,<26' packaging 'pyinstaller>=6,<7'
	@$(VENV)-release/bin/python tools/release.py $(VERSION) --single-file $(RELEASE)

# The documentation's site, in site/: a warning is an error. The outputs on it are made by running the commands.
site: $(VENV)/.installed-dev
	@test -x $(VENV)-site/bin/zensical || ($(PYTHON) -m venv $(VENV)-site \
		&& $(VENV)-site/bin/python -m pip install --quiet --disable-pip-version-check 'zensical>=0.0.73,<0.2')
	@$(BIN)/python tools/make_site.py site && cd site && ../$(VENV)-site/bin/zensical build --clean --strict

clean:
	rm -rf $(VENV) $(VENV)-audit $(VENV)-release $(VENV)-site site .venv-newest-textual .mypy_cache .pytest_cache .ruff_cache .import_linter_cache dist
