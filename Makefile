# make demo: everything from set-up to a report on a small real program.  make test: set-up and the tests.
PREFIX ?= $(HOME)/.local
CARGO  ?= cargo
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1

.PHONY: build demo test test-all bench install setup setup-all lint clean

build:
	$(CARGO) build --release --locked -p sintonia

setup:
	tests/setup debian

setup-all:
	tests/setup all

demo: setup build
	apps/demo

test: setup build lint
	tests/run debian

test-all: setup-all build lint
	tests/run all

lint:
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

bench: setup build
	$(CARGO) run --release --locked -p sintonia-bench

install: build
	install -D -m 755 target/release/sintonia "$(DESTDIR)$(PREFIX)/bin/sintonia"
	mkdir -p "$(DESTDIR)$(PREFIX)/lib"
	target/release/sintonia doctor --write-probe "$(DESTDIR)$(PREFIX)/lib/libsintonia_probe.so"

clean:
	$(CARGO) clean
