# The developer's whole interface. `make` alone lists the verbs.

PYTHON ?=
SIZE ?= full
DEMO ?=
EXAMPLES ?= 2000
BIN := .venv/bin

# Images of Python often ask for no bytecode: every worker would then compile the tests anew, in every run.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test fuzz check format lock docs renderers test-pythons judge-fresh judge-behaviours judge-kills judge-machine bench bench-embedded bench-cache bench-compare bench-engine bench-cli bench-sources bench-demo pictures clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## fill .venv with exactly what uv.lock says; needs Python 3.11 or newer and nothing else
	@python=$$(scripts/find_python.sh $(PYTHON)) && "$$python" scripts/bootstrap.py

demo: ## a small shop from its first sync to a rollback, on a cluster in memory; needs no cluster and no Docker
	@python=$$(scripts/find_python.sh $(PYTHON)) && "$$python" scripts/bootstrap.py sync --locked --quiet --no-dev --group build --inexact
	@$(BIN)/trimtab demo $(DEMO)

test: check ## set up, check, and run the tests
	@$(BIN)/pytest -n auto --dist worksteal

fuzz: setup ## try the embedded cluster with random bad requests for a minute
	@$(BIN)/pytest tests/apiserver/test_fuzz.py --fuzz-seconds 60 --fuzz-seed $$(od -An -N4 -tu4 /dev/urandom)

check: setup ## lint, format, types, import contracts, secrets, dependency audit
	@$(BIN)/python -m scripts.check

format: setup ## put the sources into the house's format
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

lock: ## pin the dependencies that pyproject.toml asks for in uv.lock
	@python=$$(scripts/find_python.sh $(PYTHON)) && "$$python" scripts/bootstrap.py lock

docs: setup ## write the generated parts of docs/, and deploy/
	@$(BIN)/python -m scripts.write_docs
	@$(BIN)/python -m scripts.make_deploy

renderers: setup ## build trimtab-helm and trimtab-kustomize, which render many apps in one process; needs Go
	@$(BIN)/python -m testbed build trimtab-helm trimtab-kustomize

pictures: setup ## run the demo on a terminal and draw docs/pictures from what it showed
	@$(BIN)/python -m scripts.make_pictures

test-pythons: setup ## run the tests on every Python we claim and that is here, or on PYTHONS="3.12 3.13"
	@$(BIN)/python -m scripts.try_pythons $(PYTHONS)

judge-fresh: setup ## prove `make demo` and `make test` on a bare Debian: no pip, no Go, not root (the judge itself needs root)
	@$(BIN)/python -m scripts.judge_fresh

judge-behaviours: setup ## compare the stories of behaviours with the real controllers, at length
	@$(BIN)/pytest -m judge tests/contract tests/apiserver

judge-kills: setup ## kill every verb that writes after each of its writes, one after another
	@$(BIN)/pytest -m judge tests/features/test_kills.py

judge-machine: setup ## play 2,000 random histories to the embedded cluster and a real server, other ones each time
	@$(BIN)/pytest tests/contract/cluster/test_machine.py --examples $(EXAMPLES)

bench: setup ## measure beside Go's own clients and write bench/RESULTS.md; SIZE=small only tries it out
	@$(BIN)/python -m bench.kube --size $(SIZE)

bench-embedded: setup ## measure the embedded cluster beside etcd and kube-apiserver; SIZE=small only tries it out
	@$(BIN)/python -m bench.embedded --size $(SIZE)

bench-cache: setup ## measure the engine's cache beside Argo CD's GitOps engine; SIZE=small only tries it out
	@$(BIN)/python -m bench.cache --size $(SIZE)

bench-compare: setup ## measure the engine's comparing; SIZE=small only tries it out
	@$(BIN)/python -m bench.compare --size $(SIZE)

bench-engine: setup ## measure whole syncs and looks of the engine; SIZE=small only tries it out
	@$(BIN)/python -m bench.engine --size $(SIZE)

bench-cli: setup ## measure whole commands beside kubectl; SIZE=small only tries it out
	@$(BIN)/python -m bench.cli --size $(SIZE)

bench-sources: setup ## measure rendering beside running helm and kustomize by hand; SIZE=small only tries it out
	@$(BIN)/python -m bench.sources --size $(SIZE)

bench-demo: setup ## measure the set-up of a fresh checkout, and the demo; SIZE=small only tries it out
	@$(BIN)/python -m bench.demo --size $(SIZE)

clean: ## remove what the verbs left in the checkout
	@rm -rf .venv dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
