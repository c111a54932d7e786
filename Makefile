.DEFAULT_GOAL := help
SHELL := /bin/bash
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Nothing that is started here has to do with a tmux that it is started in.
unexport TMUX TMUX_PANE
# Images of containers set this. Each of the thousand Pythons that the tests start would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
TESTS ?= tests
WORKERS ?= $(shell nproc)
# A warning is an error: a broken link, a page that no menu has, something that would be fetched.
SITE = sphinx-build -q -W --keep-going -j auto -d site/.doctrees -b html docs site

.PHONY: help setup setup-tests demo test check proof bench docs picture install uninstall lock diagrams clean

help: ## what each target does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

setup: ## install all that is needed to run (environments, tmux, git, rsync, jq)
	@scripts/bootstrap

setup-tests: ## the same, and what only the tests need (systemd, sshd, chromium)
	@BOOTSTRAP_TESTS=1 scripts/bootstrap

demo: setup ## the whole story in minutes, without a key: a daemon, 44 tests in trouble, an agent on each
	@supervisorctl demo

test: setup-tests ## all tests that end within minutes
	@pytest -q -n $(WORKERS) --dist worksteal -rfER -m "not proof" $(TESTS)

proof: setup-tests ## the slow proofs: crashes at every step, on the real mngr; properties on many examples
	@pytest -q -n $(WORKERS) --dist worksteal -rfER --timeout 300 --hypothesis-profile=many \
		-m proof $(TESTS)

check: setup ## formatting, lint, strict types, import contracts, documentation, file budgets
	@ruff format --check .
	@ruff check .
	@mypy
	@lint-imports
	@$(SITE)
	@pytest -q tests/shape

bench: setup ## speeds, each beside its floor
	@python -m bench

docs: setup ## the site, in site/; every link in it is checked
	@$(SITE)
	@echo "open site/index.html"

picture: setup ## draw docs/img/follow.svg from a recording of the demo, which takes minutes
	@pytest -q --timeout 0 -p no:xdist manual/record_follow.py

install: setup ## install under PREFIX (/usr/local), staged in DESTDIR
	@scripts/install

uninstall: ## take that away again; state and configuration stay
	@scripts/install --remove

diagrams: setup ## draw docs/state-diagrams.md from the tables
	@scripts/diagrams

lock: ## resolve the bounds of pyproject.toml into requirements/*.lock
	@scripts/lock

clean: ## remove environments and caches
	@rm -rf site .venv .venv-mngr .venv-claude .venv-codex .venv-opencode .mypy_cache .ruff_cache .hypothesis .test_output
