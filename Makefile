# onthedot: `make` alone prints this file's targets.
# Everything installs into .venv, node_modules and build; stamp files make a second run skip what is there.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
FUNCTION_ENV := build/function-env
CONSOLE := 'layers/core/python/onthedot/console/**/*.{js,css}'
SOURCES := layers/core/python/onthedot infra functions localstack layers/build.py benchmarks docs/generator tools tests

# Bytecode halves the start of every process, and tests start many. The installation makes that of the product, for
# shells that let Python write none.
unexport PYTHONDONTWRITEBYTECODE
# The environment's Node and tools are found before those of the machine.
export PATH := $(CURDIR)/$(VENV)/bin:$(CURDIR)/node_modules/.bin:$(PATH)
uv := $(VENV)/bin/uv --quiet
bytecode := $(VENV)/bin/python -m compileall -q layers/core/python/onthedot
# A process gets whole files, whose tests share what is dear to set up. One process more than cores: some tests wait.
side_by_side := --numprocesses=$$(( $$(getconf _NPROCESSORS_ONLN) + 1 )) --dist=loadfile
# Folders whose tests need no server and no browser.
FAST := $(addprefix tests/,unit golden contract handlers infra scenarios)
compile := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

.PHONY: help
help: ## Show this help
	@printf '\n\033[1monthedot\033[0m  jobs that fire on the dot\n\n'
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | \
		while IFS=$$'\t' read -r name text; do printf '  \033[36m%-9s\033[0m %s\n' "$$name" "$$text"; done
	@printf '\n  ONTHEDOT_PORT (4566) and ONTHEDOT_HOME (.onthedot) choose the server or the local stack, ONTHEDOT_SHARDS (4) its shards.\n\n'

# --- one process -------------------------------------------------------------------------------------------

.PHONY: serve
serve: $(VENV)/.serve ## Run the whole scheduler in one process, without AWS (ARGS="--app my_app" adds options)
	@exec $(VENV)/bin/onthedot serve $(ARGS)

# --- the local stack ---------------------------------------------------------------------------------------

.PHONY: up
up: install ## Start the local AWS, deploy the stacks, print URL and token
	@$(VENV)/bin/python -m localstack.local up

.PHONY: down
down: $(VENV)/.synced ## Stop the local AWS; its data stays
	@$(VENV)/bin/python -m localstack.local down

.PHONY: reset
reset: $(VENV)/.synced ## Stop the local AWS and forget its data
	@$(VENV)/bin/python -m localstack.local reset

# --- quality -----------------------------------------------------------------------------------------------

.PHONY: quick
quick: install ## Check, and run the tests that need no stack, no server, no browser, and are not slow
	@$(MAKE) --jobs --keep-going $(filter-out check-lambda-types,$(CHECKS)) quick-tests

.PHONY: test
test: install ## Check, then run every test that a laptop can run
	@$(MAKE) --jobs --keep-going --output-sync=target $(CHECKS) $(TESTS)

# Tests on the deployed stack mostly wait, some of them for minutes, so they begin at once. Meanwhile the quick tests
# run, then all others. The slow ones live in virtual time, so they get what the others leave.
TESTS := deployed-tests quick-tests stack-tests served-tests slow-tests
.PHONY: $(TESTS)
quick-tests:
	pytest -q $(side_by_side) -m "not (slow or stack)" $(FAST)

deployed-tests: build/.chromium
	pytest -q -m deployed tests/e2e

# One process: each would start a local AWS of its own.
stack-tests: quick-tests
	pytest -q -m "stack and not deployed" tests/contract tests/golden tests/e2e
	ONTHEDOT_AWS_CLIENT=boto3 pytest -q -m stack tests/contract

# The browser's event loop must not run in a process whose tests run loops of their own.
served-tests: quick-tests build/.chromium
	pytest -q $(side_by_side) -m "not stack" tests/serve tests/durability tests/pages tests/e2e
	pytest -q $(side_by_side) -m "not stack" tests/browser

slow-tests: quick-tests
	nice -n 19 pytest -q $(side_by_side) -m "slow and not stack" $(FAST) tests/model

.PHONY: browser
browser: install build/.chromium ## Run the tests of the console in a real browser (ARGS="-k palette" for some only)
	pytest -m "not stack" tests/browser tests/e2e/test_console.py $(ARGS)

.PHONY: screenshots
screenshots: install build/.chromium ## Take the pictures of the console: the chosen ones in docs/images, all in build/screenshots
	$(VENV)/bin/python -m tests.browser.screenshots $(ARGS)

.PHONY: model
model: install ## Explore the large instances of the gates' model (ARGS="--list", or names); see tests/model/gates/README.md
	$(VENV)/bin/python -m tests.model.gates $(or $(ARGS),--suite --ablate)

.PHONY: chaos
chaos: install ## Play many random lives of gates (LIVES=1000, FIRST=0) and check each
	$(VENV)/bin/python -m tests.scenarios.gates.chaos $(or $(FIRST),0) $(or $(LIVES),1000)

.PHONY: kill
kill: install ## Kill `onthedot serve` under load many times (ARGS="--kills 1000") and check that nothing is lost
	$(VENV)/bin/python -m tests.durability.kills $(ARGS)

.PHONY: powerloss
powerloss: install ## Rebuild the file of the embedded engine as power losses leave it (ARGS="--images 10000") and check each
	$(VENV)/bin/python -m tests.durability.power $(ARGS)

.PHONY: mutants
mutants: install ## Plant bugs, one at a time, and check that the tests catch each (ARGS="--only ID --jobs 2"); see tests/mutants
	$(VENV)/bin/python -m tests.mutants $(ARGS)

.PHONY: check
check: install ## Formatting, lint, types, layers of the code, packages
	@$(MAKE) --jobs --keep-going $(CHECKS)

CHECKS := check-format check-lint check-types check-lambda-types check-imports check-packages check-docs check-console
.PHONY: $(CHECKS)
check-format:
	ruff format --check $(SOURCES)

check-lint:
	ruff check $(SOURCES)

check-types:
	mypy $(SOURCES)

# Once more, since Lambda's Python has dropped parts of the library of the oldest one that runs the code.
check-lambda-types:
	mypy --python-version 3.14 layers/core/python/onthedot functions

check-imports:
	lint-imports

check-packages:
	uv --quiet pip check

check-console:
	prettier --log-level warn --check $(CONSOLE)
	tsc -p .

.PHONY: fix
fix: install ## Format, and repair what lint can
	ruff format $(SOURCES)
	ruff check --fix $(SOURCES)
	prettier --log-level warn --write $(CONSOLE)

.PHONY: generate
generate: install ## Write the generated files of the client library, from the API's description and from the async client
	$(VENV)/bin/python -m tools.client

.PHONY: audit
audit: install ## Known vulnerabilities in the pinned packages (asks a service on the network)
	pip-audit --strict --require-hashes --disable-pip -r requirements.lock

.PHONY: lock
lock: $(VENV)/bin/uv ## Renew the pinned packages (add ARGS=--upgrade for newer ones)
	$(compile) $(ARGS) --all-extras pyproject.toml -o requirements.lock
	printf 'aws-lambda-powertools\nboto3\ncroniter\ngrpcio\ngrpcio-reflection\nprotobuf\npydantic\ntzdata\n' | \
		$(compile) -c requirements.lock - >build/layer.lock
	mv build/layer.lock layers/dependencies/requirements.txt
	$(compile) -c requirements.lock --extra aws --extra grpc pyproject.toml >build/worker.lock
	mv build/worker.lock worker.lock
	$(compile) -c requirements.lock --extra serve --extra grpc pyproject.toml >build/serve.lock
	mv build/serve.lock serve.lock

# --- installation ------------------------------------------------------------------------------------------

.PHONY: install
install: $(VENV)/.synced node_modules/.synced $(FUNCTION_ENV)/.synced ## Install all that is pinned

# Only uv comes by pip, as the lock has it; uv then brings everything else.
$(VENV)/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "onthedot needs Python 3.11 or newer as $(PYTHON); choose one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@awk '/^uv==/ {found=1} found {print} found && !/\\$$/ {exit}' requirements.lock >$(VENV)/uv.txt
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.txt

$(VENV)/.synced: requirements.lock pyproject.toml | $(VENV)/bin/uv
	@echo "installing the pinned packages"
	@$(uv) pip sync --python $(VENV)/bin/python --require-hashes requirements.lock
	@$(uv) pip install --python $(VENV)/bin/python --no-deps -e .
	@$(bytecode)
	@touch $@

# `make serve` alone needs few packages. After `make install` they are there.
$(VENV)/.serve: serve.lock pyproject.toml | $(VENV)/bin/uv
	@[ -e $(VENV)/.synced ] || { echo "installing the packages of the server"; \
		$(uv) pip install --python $(VENV)/bin/python --require-hashes -r serve.lock; \
		$(uv) pip install --python $(VENV)/bin/python --no-deps -e .; $(bytecode); }
	@touch $@

node_modules/.synced: package.json package-lock.json | $(VENV)/.synced
	@echo "installing the CDK command line, DynamoDB Local and axe"
	@npm ci --silent --no-audit --no-fund
	@touch $@

# Nothing besides the layers: a package that is missing from them fails. Lambda itself adds a boto3 of its own choice.
$(FUNCTION_ENV)/.synced: Makefile | $(VENV)/.synced
	@echo "creating the functions' environment"
	@$(uv) venv --clear --python $(VENV)/bin/python $(FUNCTION_ENV)
	@touch $@

# Tests drive the system's own chromium: a browser that Playwright would download is one more thing to trust.
build/.chromium: tests/browser/install-chromium
	@mkdir -p build
	@tests/browser/install-chromium
	@touch $@

# --- package -----------------------------------------------------------------------------------------------

# With the pinned hatchling of the environment: uv would fetch its own.
.PHONY: wheel
wheel: $(VENV)/.synced ## Build the package for other projects: build/wheel/onthedot-*.whl
	@rm -rf build/wheel
	@$(uv) build --wheel --no-build-isolation --out-dir build/wheel
	@ls build/wheel/*.whl

# --- documentation -----------------------------------------------------------------------------------------

# The theme announces its successor at each start. With --quiet, --strict would not see warnings.
docs check-docs: export NO_MKDOCS_2_WARNING := 1

.PHONY: docs
docs: install ## Build the documentation with the reference: build/site/index.html
	@$(MAKE) check-docs
	@echo "open build/site/index.html"

check-docs:
	PYTHONPATH=infra:layers/core/python:. $(VENV)/bin/python -m docs.generator.site build/pages
	mkdocs build --strict

# --- speed and cost ----------------------------------------------------------------------------------------

.PHONY: costs
costs: install ## Write docs/costs.md from the templates, the counted calls and the prices
	PYTHONPATH=infra:layers/core/python:. PATH="$(abspath $(VENV))/bin:$$PATH" $(VENV)/bin/python infra/cost_page.py

.PHONY: bench
bench: install ## Measure speed and cost against their bars (ARGS="imports load" for some only); see benchmarks/README.md
	@missed=; for name in $(or $(ARGS),flatness dispatch_cost gates imports load midnight year); do \
		echo; echo "== $$name"; $(VENV)/bin/python -m benchmarks.$$name || missed="$$missed $$name"; \
	done; if [ -n "$$missed" ]; then echo "bars missed in:$$missed" >&2; exit 1; fi
