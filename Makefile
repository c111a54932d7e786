.DEFAULT_GOAL := help
SHELL := /bin/bash
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Nothing started here may reach the tmux server that make runs in.
unexport TMUX TMUX_PANE
# Container images set this. With it, each of the thousand Pythons that the tests start would compile all its imports.
unexport PYTHONDONTWRITEBYTECODE
TESTS ?= tests
# Many tests wait for other programs, so there are more workers than cores.
WORKERS ?= $(shell echo $$(( $$(nproc) * 3 / 2 )))
# A warning is an error: a broken link, a page that no menu has, something that would be fetched.
SITE = sphinx-build -q -W --keep-going -j auto -d site/.doctrees -b html docs site

.PHONY: help setup setup-tests demo test test-all check proof bench docs picture pictures install uninstall lock diagrams clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

setup: ## install everything needed to run (environments, tmux, git, rsync, jq)
	@scripts/bootstrap

setup-tests: ## setup, and install what only the tests need (systemd, sshd, chromium)
	@BOOTSTRAP_TESTS=1 scripts/bootstrap

demo: setup ## a complete run in minutes, without an API key: a daemon, 44 tests, an agent on each
	@supervisorctl demo

test: setup-tests ## run the quick tests: most of them, in minutes
	@pytest -q -n $(WORKERS) --dist worksteal -rfER -m "not long and not proof" $(TESTS)

test-all: setup-tests ## run all tests but the slow proofs, as CI does
	@pytest -q -n $(WORKERS) --dist worksteal -rfER -m "not proof" $(TESTS)

proof: setup-tests ## run the slow proofs: crashes at every step on the real mngr, properties on many examples
	@pytest -q -n $(WORKERS) --dist worksteal -rfER --timeout 300 --hypothesis-profile=many \
		-m proof $(TESTS)

check: setup ## check formatting, lint, strict types, import contracts, documentation, file budgets
	@ruff format --check .
	@ruff check .
	@mypy
	@lint-imports
	@$(SITE)
	@pytest -q tests/shape

bench: setup ## run the benchmarks, each compared with its floor
	@python -m bench

docs: setup ## the site, in site/; every link in it is checked
	@$(SITE)
	@echo "open site/index.html"

picture: setup ## draw docs/img/follow.svg from a recording of the demo, which takes minutes
	@pytest -q --timeout 0 -p no:xdist manual/record_follow.py

pictures: setup-tests ## draw docs/img/dashboard*.png from a generated night, in a minute
	@pytest -q --timeout 0 -p no:xdist manual/show_dashboard.py

install: setup ## install under PREFIX (/usr/local), staged in DESTDIR
	@scripts/install

uninstall: ## remove the installation; state and configuration stay
	@scripts/install --remove

diagrams: setup ## generate docs/state-diagrams.md from the transition tables
	@scripts/diagrams

lock: ## resolve the version bounds of pyproject.toml into requirements/*.lock
	@scripts/lock

clean: ## remove environments and caches
	@rm -rf site .venv .venv-mngr .venv-claude .venv-codex .venv-opencode .mypy_cache .ruff_cache .hypothesis .test_output
