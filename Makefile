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

.PHONY: demo test coverage check lint types imports test-nojit test-bounds test-cpu golden docs dist-check bench clean

demo: $(RUNNING)
	$(BIN)/holdfast demo

test: $(TESTING)
	$(BIN)/pytest -n 2

# The same tests, and which lines of the library no test runs: a report to read, not a threshold to pass.
coverage: $(READY)
	$(BIN)/pytest -n 2 --cov --cov-report=term

# The kernels once more as plain Python: the compiled code does what the source says. Only files with such tests
# are looked at: some of the others grow trees when they are loaded.
test-nojit: $(READY)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 -m kernel $$(grep -rl --include='test_*.py' mark.kernel tests)

# The kernels once more with every index looked at: none is outside of its array. Compiling takes minutes.
test-bounds: $(READY)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba_bounds $(BIN)/pytest -n 2 $(addprefix tests/,kernels growth tree ensembles distance stability golden properties/test_pruning_properties.py)

# Once more with the vector instructions turned down, as on an older processor: nothing rests on last bits.
# Every kernel, and what computes figures from many rows. Left out are reading, writing and showing, damaged files,
# and scikit-learn's own checks of simple estimators: tests/properties tries weights and orders of rows with these.
ON_BOTH := test_arrays.py data/split data/test_canonical_order.py data/test_coding.py scoring growth ensembles distance stability evidence estimators evaluate properties agreement golden test_docs.py
ON_ONE := $(addprefix --ignore=tests/,properties/test_file_fuzz.py $(addprefix estimators/test_,estimator_checks.py bagged_estimator_checks.py boosting_estimator_checks.py))
test-cpu: $(READY)
	$(BIN)/python tests/processor.py -n 2 $(ON_ONE) $(addprefix tests/,$(ON_BOTH))

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

check: lint types imports docs dist-check test test-nojit test-cpu

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

$(RUNNING): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "holdfast needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@echo "Installing holdfast into $(VENV): this happens once."
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
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
