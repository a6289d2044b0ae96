# Two commands on a fresh machine: `make demo` and `make test`. Both make their own virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNNING := $(VENV)/.running
TESTING := $(VENV)/.testing
READY := $(VENV)/.ready
READY_DOCS := $(VENV)/.ready-docs

# Python keeps what it has compiled, whatever the shell says: tests start it dozens of times, and a start takes
# three times as long where numpy and scikit-learn are compiled anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all coverage check lint types imports test-nojit test-bounds test-cpu golden docs dist-check bench clean

demo: $(RUNNING)
	$(BIN)/holdfast demo

# What to run after every change: some minutes.
test: $(TESTING)
	$(BIN)/pytest -n 2 -m "not slow"

# All tests, with more examples of the properties: damaged files, killed processes, clusters, a
# browser, every page of the docs and scikit-learn's checks of every variant of the estimators too.
test-all: $(READY)
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest -n 2

# The same tests, and which lines of the library no test runs: a report to read, not a threshold to pass.
coverage: $(READY)
	$(BIN)/pytest -n 2 --cov --cov-report=term

# The kernels once more as plain Python: the compiled code does what the source says. Only files with such tests
# are looked at: some of the others grow trees when they are loaded.
test-nojit: $(READY)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 -m kernel $$(grep -rl --include='test_*.py' mark.kernel tests)

# The kernels once more with every index looked at: none is outside of its array. Compiling takes minutes.
test-bounds: $(READY)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba_bounds $(BIN)/pytest -n 2 $(addprefix tests/,kernels growth tree ensembles distance stable update golden properties/test_pruning_properties.py)

# Once more with the vector instructions turned down, as on an older processor: nothing rests on last bits.
# Every kernel, and what computes figures from many rows, with the tests of `make test`. Left out are reading,
# writing and showing, and scikit-learn's own checks: tests/properties tries weights and orders of rows with these.
ON_BOTH := $(addprefix tests/,test_arrays.py $(addprefix data/test_,folds.py resampling.py row_keys.py row_order.py binning.py) scoring growth ensembles distance stable update explain estimators evaluate properties agreement golden)
test-cpu: $(READY)
	$(BIN)/python tests/processor.py -n 2 -m "not slow" -k "not estimator_checks" $(ON_BOTH)

# After a change that is meant: write tests/golden/golden.json anew. It prints what changed.
golden: $(READY)
	PYTHONPATH=src:tests $(BIN)/python -m golden

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

check: lint types imports docs dist-check test-all test-nojit test-cpu

# The site, in build/site: it needs no network, and a warning is an error.
docs: $(READY_DOCS)
	$(BIN)/sphinx-build -W --keep-going --quiet -d build/doctrees docs build/site

# The wheel and the sdist, built, installed and used.
dist-check: $(READY)
	$(BIN)/python tests/distribution.py

bench: $(READY)
	$(BIN)/python -m benchmarks.growth
	$(BIN)/python -m benchmarks.distance
	$(BIN)/python -m benchmarks.stable
	$(BIN)/python -m benchmarks.consensus
	$(BIN)/python -m benchmarks.pruning
	$(BIN)/python -m benchmarks.ensembles
	command -v Rscript >/dev/null && $(BIN)/python -m benchmarks.r_packages || true

# What running needs, then what tests need, then what development needs: nobody waits for more than that.
# Python compiles what is imported, when it is: compiling all that is installed took two thirds of the time.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check
# What compiling the kernels needs: it goes on while pip installs the rest.
COMPILER := "numpy>=2.0" "numba>=0.61" "filelock>=4.0"

$(RUNNING): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "holdfast needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@echo "Installing holdfast into $(VENV): this happens once."
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) $(COMPILER)
	PYTHONPATH=src $(BIN)/python -m holdfast.kernels.build --model stable & $(INSTALL) -e . && wait
	touch $(RUNNING)

$(TESTING): $(RUNNING)
	$(INSTALL) -e ".[test]"
	touch $(TESTING)

$(READY): $(TESTING)
	$(INSTALL) -e ".[dev]"
	touch $(READY)

$(READY_DOCS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $(READY_DOCS)

clean:
	rm -rf $(VENV) build dist docs/api docs/gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis .numba_generic .numba_bounds
	find . -name __pycache__ -prune -exec rm -rf {} +
