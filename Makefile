# The front door. `make ask` does the main job, `make test` proves it; both set up what they need.

PYTHON ?= python3
# What `make ask` asks, and of which repository: a path or a URL, e.g.
#   make ask REPO=https://github.com/google/uuid Q="how is a version 7 UUID generated"
REPO ?= .
Q ?= how are the lines of a span counted
# By default only this part of the checkout is indexed, so that the first answer stays quick as the project grows.
ONLY ?= $(if $(filter .,$(REPO)),layers/core/codetrail/domain,)

# What `make bench` times indexing on.
BENCH ?= https://github.com/rs/zerolog

.PHONY: help ask up test check bench build requirements clean

help:
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

ask: .venv/ready ## index a repository, ask it a question, check the citations of the answer
	@.venv/bin/codetrail ask "$(REPO)" "$(Q)" --verify $(if $(ONLY),--only $(ONLY))

up: .venv/ready ## the API on this machine, until Ctrl-C
	@.venv/bin/codetrail up

test: .venv/ready ## every test that belongs to a change; about ten minutes on two cores
	@.ci/test

check: .venv/ready ## lint, types, import contracts and unit tests; seconds
	@.ci/check

bench: .venv/ready ## timings, printed beside the machine they ran on; never asserted; BENCH=path or URL
	@.venv/bin/python -m tests.benchmarks "$(BENCH)"

build: .venv/ready ## validate template.yaml and build functions and layers with SAM
	@.ci/build

requirements: ## compile the pinned requirements from pyproject.toml
	@.ci/requirements

clean: ## remove what these targets made here; the data folder stays
	rm -rf .venv .venv-sam .aws-sam

# One install shared by all targets. Dependencies are listed whole and with hashes, so pip resolves nothing.
.venv/ready: .ci/lock/dev.txt layers/model/requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "codetrail needs Python 3.11 or newer; say which with make PYTHON=python3.13")'
	@echo "Installing codetrail into .venv (once, about a minute)" >&2
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r .ci/lock/dev.txt
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r layers/model/requirements.txt
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
