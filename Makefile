# make reproduce   run the notebooks on both shipped protocols; write results/ and a page to open
# make test        lint, types, notebooks, every test
# make lab         open JupyterLab on notebooks/ (more options: LAB="--no-browser --port 8890")
# make locomo      fetch LoCoMo, run 08_traces on it; write results/locomo
# make strip       take the outputs out of notebooks/ again, after saving them in JupyterLab
# make bench       measure (figures are ratios on the same work)
# make lock        resolve requirements.lock anew (needs uv)
#
# Everything runs in .venv, which the first target sets up: with uv where it is installed, else with pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: reproduce locomo test lab strip bench lock clean

reproduce: $(READY)
	$(BIN)/deermem-eval notebooks
	$(BIN)/deermem-eval notebooks --protocol sample
	$(BIN)/deermem-eval report

locomo: $(READY)
	$(BIN)/deermem-eval fetch locomo
	$(BIN)/deermem-eval notebooks 08_traces -p trace=locomo -p seeds=20 -p workers=2 --output-dir results/locomo
	$(BIN)/deermem-eval report --output-dir results/locomo

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/nbstripout --verify --keep-id notebooks/*.ipynb || \
		{ echo "notebooks/ holds outputs of a session: make strip takes them out"; exit 1; }
	$(BIN)/python -m pytest

lab: $(READY)
	$(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks $(LAB)

strip: $(READY)
	$(BIN)/nbstripout --keep-id notebooks/*.ipynb

bench: $(READY)
	$(BIN)/python -m pytest benchmarks --benchmark-columns=median,iqr,rounds

lock:
	uv pip compile --universal --generate-hashes --no-header --python-version 3.11 \
		--all-extras pyproject.toml --output-file requirements.lock

clean:
	rm -rf $(VENV)

$(READY): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "there is no $(PYTHON) here; name one: make PYTHON=..."; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "deermem-eval needs Python 3.11 to 3.13; name one: make PYTHON=/path/to/python3.12"; exit 2; }
	@echo "setting up $(VENV), once: downloads some 170 packages (1.1 GB on disk), one to three minutes"
	@rm -rf $(VENV)
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --python "$$(command -v $(PYTHON))" $(VENV) && \
		uv pip sync --quiet --compile-bytecode --require-hashes --python $(BIN)/python requirements.lock && \
		uv pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python --editable .; \
	else \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check \
			--no-deps --require-hashes --requirement requirements.lock && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check \
			--no-deps --no-build-isolation --editable .; \
	fi
	@touch $@
