# SPDX-License-Identifier: Apache-2.0
#
# The commands people type. The build itself is CMakeLists.txt and CMakePresets.json.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build/release
FUZZ_SECONDS ?= 30
BENCH ?=

.PHONY: help build run test bench lint format fuzz abi-baseline install dist clean

help:
	@echo 'make run      set up, build, and show what this machine can do'
	@echo 'make build    set up and build'
	@echo 'make test     set up, build and test in every configuration'
	@echo 'make bench    speeds of every operation (BENCH="--field bn254-fr" for options)'
	@echo 'make lint     formatting and static analysis'
	@echo 'make format   format every C file'
	@echo 'make fuzz     FUZZ_SECONDS=$(FUZZ_SECONDS) of each fuzz target'
	@echo 'make abi-baseline  keep the current header as that of 0.1, until it is released'
	@echo 'make install  install what is built in BUILD=$(BUILD), to PREFIX=$(PREFIX); DESTDIR is heeded'
	@echo 'make dist     a source release, with the kernels compiled, in build'
	@echo 'make clean    remove everything built'
	@echo 'One configuration: scripts/test.sh release, or cmake --preset release'

build:
	@scripts/setup.sh run
	@cmake --preset release -DGPUEXEC_TESTS=OFF -DGPUEXEC_WERROR=OFF --log-level=WARNING >/dev/null
	@cmake --build --preset release

run: build
	@build/release/gpuexec demo -o build/demo

bench: build
	@build/release/gpuexec bench $(BENCH)

install:
	@ls $(BUILD)/libgpuexec.* >/dev/null 2>&1 || { \
	    echo 'make install: nothing is built in $(BUILD): run make build first' >&2; exit 1; }
	DESTDIR="$(DESTDIR)" cmake --install "$(BUILD)" --prefix "$(PREFIX)"

dist: build
	@scripts/dist.sh build/release build

test:
	@scripts/setup.sh test
	@scripts/test.sh

lint:
	@scripts/setup.sh test
	@scripts/lint.sh

format:
	@scripts/lint.sh --fix

fuzz:
	@scripts/setup.sh test
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh

abi-baseline:
	cp include/gpuexec.h tests/abi/gpuexec-0.1.h

clean:
	rm -rf build
