# SPDX-License-Identifier: Apache-2.0
#
# The commands people type. The build itself is CMakeLists.txt and CMakePresets.json.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build/release
FUZZ_SECONDS ?= 30
BENCH ?=
SEEDS ?=

.PHONY: help build run check test test-all bench seeds lint format fuzz abi-baseline install dist site clean

help:
	@echo 'make run      set up, build, and show what this machine can do'
	@echo 'make build    set up and build'
	@echo 'make check    set up, build and test what needs no GPU: minutes'
	@echo 'make test     set up, build and test in every configuration'
	@echo 'make test-all the same, with all that each configuration can run, at full effort'
	@echo 'make bench    speeds of every operation (BENCH="--field bn254-fr" for options)'
	@echo 'make seeds    the figures of the SuperVM prototype beside those of this machine (SEEDS="--csv" for options)'
	@echo 'make lint     formatting and static analysis'
	@echo 'make format   format every C file'
	@echo 'make fuzz     FUZZ_SECONDS=$(FUZZ_SECONDS) of each fuzz target'
	@echo 'make abi-baseline  keep the current headers as those of 0.1, until it is released'
	@echo 'make install  install what is built in BUILD=$(BUILD), to PREFIX=$(PREFIX); DESTDIR is heeded'
	@echo 'make site     the documents and the reference as static pages, in build/site'
	@echo 'make dist     a source release, with the kernels compiled, in build'
	@echo 'make clean    remove everything built'
	@echo 'One configuration: scripts/test.sh release, or cmake --preset release'

build:
	@scripts/setup.sh run
	@scripts/build.sh

run:
	@scripts/setup.sh run
	@scripts/run.sh

bench: build
	@build/release/gpuexec bench $(BENCH)

seeds:
	@scripts/setup.sh check
	@cmake --preset release -DGPUEXEC_TESTS=ON --log-level=WARNING >/dev/null
	@cmake --build --preset release --target bench-suites >/dev/null
	@build/release/tests/bench-suites seeds $(SEEDS)

install:
	@ls $(BUILD)/libgpuexec.* >/dev/null 2>&1 || { \
	    echo 'make install: nothing is built in $(BUILD): run make build first' >&2; exit 1; }
	DESTDIR="$(DESTDIR)" cmake --install "$(BUILD)" --prefix "$(PREFIX)"

site: build
	@scripts/setup.sh site
	@site/make.sh build/release/gpuexec build/site

dist: build
	@scripts/dist.sh build/release build

check:
	@scripts/setup.sh check
	@scripts/test.sh check

test:
	@scripts/setup.sh test
	@scripts/test.sh

test-all:
	@scripts/setup.sh test
	@scripts/test.sh --all

lint:
	@scripts/setup.sh test
	@scripts/lint.sh

format:
	@scripts/lint.sh --fix

fuzz:
	@scripts/setup.sh test
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh

abi-baseline:
	rm -rf tests/abi/0.1
	cp -r include tests/abi/0.1

clean:
	rm -rf build
