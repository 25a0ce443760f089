# make demo    set-up, build, and the main job on a small real program
# make check   format, lints and unit tests: minutes
# make test    set-up, lints and all tests, on Debian's Open MPI and MPICH
# make test-all  the same on every MPI library that can be installed
PREFIX ?= $(HOME)/.local
CARGO  ?= cargo
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1

.PHONY: build page demo check test test-all bench install setup setup-all lint deny advisories clean

build: page
	$(CARGO) build --release --locked -p sintonia

web := crates/view/web
page: $(web)/dist/page.html

$(web)/dist/page.html: $(web)/node_modules/.package-lock.json $(shell find $(web)/src -type f) $(web)/page.html $(web)/build.mjs $(web)/tsconfig.json
	cd $(web) && npm run --silent build

$(web)/node_modules/.package-lock.json: $(web)/package-lock.json
	cd $(web) && npm ci --no-audit --no-fund --loglevel=error
	touch $@

setup:
	tests/setup debian

setup-all:
	tests/setup all

demo: setup
	$(MAKE) build
	apps/demo

test: setup
	$(MAKE) build lint
	tests/run debian

test-all: setup-all
	$(MAKE) build lint
	tests/run all

check: lint
	$(CARGO) test --workspace --locked --exclude sintonia-tests

lint: page
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	cd $(web) && npm run --silent lint

# Licences, duplicate versions and sources of dependencies. `advisories` also needs RustSec's database, from the network.
cargo_deny := target/tools/bin/cargo-deny
deny: $(cargo_deny)
	$(cargo_deny) check licenses bans sources

advisories: $(cargo_deny)
	$(cargo_deny) check advisories

$(cargo_deny):
	$(CARGO) install --locked --debug --quiet --root target/tools --version 0.20.2 cargo-deny

bench: setup
	$(MAKE) build
	$(CARGO) run --release --locked -p sintonia-bench

install: build
	install -D -m 755 target/release/sintonia "$(DESTDIR)$(PREFIX)/bin/sintonia"
	mkdir -p "$(DESTDIR)$(PREFIX)/lib"
	target/release/sintonia doctor --write-probe "$(DESTDIR)$(PREFIX)/lib/libsintonia_probe.so"

clean:
	$(CARGO) clean
