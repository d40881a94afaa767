# The two commands: `make demo` opens the app on the built-in demo cluster, `make test` runs the test suite.
# Both create .venv; they need only Python 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
# If set, only the packages of this lock file are installed, with matching hashes.
LOCK ?=

.PHONY: demo test test-newest-textual newest-textual lint types layers check snapshots lock audit release site clean

demo: $(VENV)/.installed
	$(BIN)/karptui --demo

# Tests run in random order; -p no:randomly keeps the order of the files, --randomly-seed=N repeats a run.
# Neighbouring tests share a process and its caches, until another process is idle.
# Compiled modules are kept, even where the environment says otherwise: many tests start a Python of their own.
# There are twice as many processes as processors: tests of terminals and servers spend much of their time waiting.
WORKERS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) * 2 )))
test: $(VENV)/.installed-dev
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

# Tests the screens, without pictures, on a Textual that karptui does not allow yet, in a separate environment.
TEXTUAL ?= textual
test-newest-textual:
	$(MAKE) --no-print-directory VENV=.venv-newest-textual newest-textual

newest-textual: $(VENV)/.installed-dev
	@$(INSTALL) --upgrade '$(TEXTUAL)' || true
	@newest=$$($(BIN)/python -c 'from importlib.metadata import version; print(version("textual"))'); \
	if grep -q "\"textual==$$newest\"" pyproject.toml; then \
		echo "Textual $$newest: there is no newer one than that of make test"; \
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
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "karptui needs Python 3.11 or newer, $(PYTHON) is %d.%d; run make PYTHON=python3.12" % sys.version_info[:2])'
ifdef UV
	uv venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV)
else
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25'
endif

ifdef UV
INSTALL := VIRTUAL_ENV=$(VENV) uv pip install --quiet
else
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

$(VENV)/.installed: export UV_COMPILE_BYTECODE := 1
$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) -e '.[cel]' || $(INSTALL) -e .
	@touch $@

# Tests import a small part of these packages; to compile all of it takes longer than to install it. While they are
# installed, another process compiles what every test imports.
ifdef LOCK
INSTALL_DEV := $(INSTALL) --require-hashes -r $(LOCK) && $(INSTALL) --no-deps -e .
else
INSTALL_DEV := $(INSTALL) -e '.[dev]'
endif
$(VENV)/.installed-dev: export PIP_COMPILE := 0
$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python -m compileall -q -x '/test_[^/]*$$' karptui tests & $(INSTALL_DEV); status=$$?; wait; exit $$status
	@touch $@ $(VENV)/.installed

# Packages that continuous integration installs, with hashes. Run it when pyproject.toml changes; needs uv.
lock:
	uv pip compile pyproject.toml --extra dev --generate-hashes --universal --python-version 3.11 \
		--no-header --no-annotate --no-emit-index-url --quiet --upgrade --output-file .ci/requirements.txt

# Reports known vulnerabilities of the locked packages; never fails, because their database may be out of reach.
audit: $(VENV)/bin/python
	@$(PYTHON) -m venv $(VENV)-audit \
		&& timeout 60 $(VENV)-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit \
		&& $(VENV)-audit/bin/python tools/audit.py $(VENV)-audit/bin/pip-audit .ci/requirements.txt \
		|| echo "audit: skipped, because pip-audit cannot be installed"

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
