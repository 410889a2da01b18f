# The front door. `make ask` does the main job, `make test` proves it; both set up what they need.

PYTHON ?= python3
# What `make ask` asks, and of which repository: a path or a URL, e.g.
#   make ask REPO=https://github.com/google/uuid Q="how is a version 7 UUID generated"
REPO ?= .
Q ?= what is the shell command that checks a citation
# By default only this part of the checkout is indexed, in a data folder of its own: the first answer stays quick as
# the project grows, and `make up` may run beside it.
ONLY ?= $(if $(filter .,$(REPO)),layers/core/codetrail/domain,)
# The shell gets these from the environment, so that a question may hold any character.
export ASK_REPO := $(value REPO)
export ASK_QUESTION := $(value Q)
export ASK_ONLY := $(ONLY)

# What `make bench` times indexing on.
BENCH ?= https://github.com/rs/zerolog

.PHONY: help ask up test check bench build requirements clean

help:
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

ask: .venv/ready ## index a repository, ask it a question, check the citations of the answer
	@.venv/bin/codetrail ask "$$ASK_REPO" "$$ASK_QUESTION" --verify $${ASK_ONLY:+--only "$$ASK_ONLY" --home .venv/home}

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
	@echo "Installing codetrail into .venv (once: about 250 MB to fetch, 800 MB on disk, one to two minutes)" >&2
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r .ci/lock/dev.txt
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r layers/model/requirements.txt
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
