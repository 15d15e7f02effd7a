# Thin on purpose: the logic is in backend/xtask (`cargo xtask --help`).

LISTEN ?= 127.0.0.1:8007
STORES ?= 2000
PREFIX ?= /usr/local
DESTDIR ?= /

# The first build of xtask takes a minute and says so; later ones are silent.
BUILT := $(wildcard $(or $(CARGO_TARGET_DIR),target)/debug/xtask)
XTASK := cargo run $(if $(BUILT),--quiet) --package xtask --

.DEFAULT_GOAL := help
.PHONY: help run test bench build web fmt install clean bootstrap-run bootstrap-test

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: bootstrap-run ## build everything and serve the demo (LISTEN=127.0.0.1:8007 STORES=2000)
	@$(XTASK) run --listen $(LISTEN) --stores $(STORES)

test: bootstrap-test ## everything CI checks
	@$(XTASK) test

bench: bootstrap-run ## the quick benchmarks, this tree against the last tag (AGAINST=REV)
	@$(XTASK) bench $(if $(AGAINST),--against $(AGAINST))

build: bootstrap-run ## the release binary with the page inside
	@$(XTASK) build

web: bootstrap-run ## the page alone, into frontend/dist
	@$(XTASK) setup --for run
	@$(XTASK) web

fmt: ## format the code
	@cargo fmt --all

install: bootstrap-run ## binary, systemd unit, example configuration (DESTDIR=/ PREFIX=/usr/local)
	@$(XTASK) install --destdir $(DESTDIR) --prefix $(PREFIX)

clean: ## everything that was built; the demo in .fleethold stays
	cargo clean
	rm -rf frontend/dist e2e/node_modules e2e/test-results e2e/playwright-report

bootstrap-run bootstrap-test: bootstrap-%:
	@sh backend/xtask/packages.sh $*
	@command -v cargo >/dev/null || { \
		echo 'cargo is missing; install Rust with rustup (https://rustup.rs) and run this again' >&2; exit 3; }
	@# rustup may be told not to install the pinned toolchain by itself; this asks for it by name.
	@cargo --version >/dev/null 2>&1 || { echo 'toolchain: installing the one rust-toolchain.toml names'; \
		rustup toolchain install; }
