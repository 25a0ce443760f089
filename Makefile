# make demo: everything from set-up to a report on a small real program.  make test: set-up and the tests.
PREFIX ?= $(HOME)/.local
CARGO  ?= cargo
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1

.PHONY: build page demo test test-all bench install setup setup-all lint clean

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

lint:
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

bench: setup
	$(MAKE) build
	$(CARGO) run --release --locked -p sintonia-bench

install: build
	install -D -m 755 target/release/sintonia "$(DESTDIR)$(PREFIX)/bin/sintonia"
	mkdir -p "$(DESTDIR)$(PREFIX)/lib"
	target/release/sintonia doctor --write-probe "$(DESTDIR)$(PREFIX)/lib/libsintonia_probe.so"

clean:
	$(CARGO) clean
