#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test.sh [--all] [LEG...]: runs the legs of the test suite, or only those named. A leg is a preset that is
# configured, built and run through CTest, with the tests that have its labels (tests/CMakeLists.txt);
# bindings, macos and lint are legs too. --all: every test that a leg can run, at full effort, and two more
# legs: clang without a sanitizer, and debug, where every device has guard bytes (src/exec/guard.h) in every
# test. The last line summarises all legs.
set -euo pipefail
cd "$(dirname "$0")/.."

usual="release bindings asan-ubsan tsan aarch64 windows macos lint"
more="check clang debug"
every=false
if [[ ${1:-} == --all ]]; then
    every=true
    usual+=" clang debug"
    shift
fi
legs=("$@")
[[ $# -gt 0 ]] || read -ra legs <<<"$usual"
for leg in "${legs[@]}"; do
    if [[ " $usual $more " != *" $leg "* ]]; then
        echo "test: no leg '$leg'; there are: $usual $more" >&2
        exit 2
    fi
done

passed=0 failed=0 skipped=0
started=$SECONDS
finish() {
    local status=$?
    stop_wine
    # Stopped early by a signal or an error in this file: does not count as a pass.
    if [[ $status -ne 0 && $failed -eq 0 ]]; then failed=1; fi
    printf '%d s\n%d passed, %d failed, %d skipped\n' $((SECONDS - started)) $passed $failed $skipped
}
trap finish EXIT
trap 'exit 130' INT TERM

# Sanitizers fail with strong address-space randomisation.
unrandomised=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
    unrandomised=(setarch "$(uname -m)" -R)
fi

# quietly LEG WHAT COMMAND...: sends output to a log, which is shown only on failure.
quietly() {
    local leg=$1 what=$2 log=build/$1.$2.log from=$SECONDS
    shift 2
    mkdir -p build
    if ! "$@" >"$log" 2>&1; then
        echo "-- $leg: $what FAILED"
        tail -n 60 "$log"
        return 1
    fi
    echo "-- $leg: $what, $((SECONDS - from)) s"
}

run_preset() {
    local leg=$1 results=$PWD/build/$1/junit.xml status=0 tests good bad skips
    local options=(-DGPUEXEC_TESTS=ON -DGPUEXEC_WERROR=ON -DGPUEXEC_TEST_FULL=OFF)
    [[ $leg == check ]] || options+=(-DGPUEXEC_WEBGPU=ON)
    if $every; then options+=(-DGPUEXEC_TEST_LABELS= -DGPUEXEC_TEST_FULL=ON); fi
    if ! quietly "$leg" configure cmake --preset "$leg" "${options[@]}" ||
        ! quietly "$leg" build cmake --build --preset "$leg"; then
        failed=$((failed + 1))
        return
    fi
    rm -f "$results"
    # One more than there are cores: tests also wait, for threads, timers and drivers.
    "${unrandomised[@]}" ctest --preset "$leg" --no-tests=error -j $(($(nproc) + 1)) \
        --output-junit "$results" || status=$?
    if [[ ! -s $results ]]; then
        echo "-- $leg: no results"
        failed=$((failed + 1))
        return
    fi
    # Not the totals at the top of the file: those count a test that could not be started as
    # skipped. A "<" is always markup; output of tests has it escaped.
    tests=$(grep -c '<testcase ' "$results" || true)
    good=$(grep -c '<testcase .* status="run"' "$results" || true)
    skips=$(grep -cE '<skipped message="SKIP_|<testcase .* status="disabled"' "$results" || true)
    bad=$((tests - good - skips))
    if [[ $status -ne 0 && $bad -eq 0 ]]; then bad=1; fi
    passed=$((passed + good))
    failed=$((failed + bad))
    skipped=$((skipped + skips))
}

# The packages for other languages, with the release library, installed.
run_bindings() {
    local prefix=$PWD/build/bindings language
    if ! quietly bindings configure cmake --preset release -DGPUEXEC_WEBGPU=ON ||
        ! quietly bindings build cmake --build --preset release --target all ||
        ! quietly bindings install cmake --install build/release --prefix "$prefix"; then
        failed=$((failed + 1))
        return
    fi
    for language in rust python go; do
        if quietly bindings "$language" "bindings/$language/test.sh" "$prefix"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
        fi
    done
}

run_aarch64() {
    local why=
    if [[ $(uname -m) == aarch64 ]]; then
        why="this machine is one: the other legs are that test"
    elif grep -qs '^ID=ubuntu' /etc/os-release && [[ ! -e /usr/lib/aarch64-linux-gnu/libgmp.so ]]; then
        why="Ubuntu keeps the arm64 packages in another archive (packages.txt)"
    fi
    if [[ -n $why ]]; then
        echo "-- aarch64: SKIPPED, $why"
        skipped=$((skipped + 1))
        return
    fi
    run_preset aarch64
}

# Wine's Vulkan needs a display, and its server keeps the one it was started with.
display=
start_wine() {
    exec 5< <(exec Xvfb -displayfd 1 -screen 0 640x480x24 2>/dev/null)
    display=$!
    read -r DISPLAY <&5 || return 1
    export DISPLAY=:$DISPLAY WINEPREFIX=$PWD/build/wine
    wineserver -k || true
    scripts/wine.sh cmd /c exit || return 1
    wineserver -k || true
    wineserver -w
    wineserver -p || return 1
    # Wine's own processes live as long as one of ours. Started by a test, as that of the desktop is by the
    # first that asks for it, they would keep its output open.
    sleep infinity | scripts/wine.sh cmd &
    x86_64-w64-mingw32-gcc-posix -x c -o build/desktop.exe - <<<'#include <windows.h>
        int main(void) { return !GetDesktopWindow(); }' || return 1
    scripts/wine.sh build/desktop.exe
}
stop_wine() {
    [[ -n $display ]] || return 0
    wineserver -k || true
    jobs -p | xargs -r kill "$display" || true
    exec 5<&-
    unset DISPLAY WINEPREFIX
    display=
} 2>/dev/null

run_windows() {
    local why=
    if [[ $(uname -m) != x86_64 ]]; then
        why="Wine runs programs of x86_64 only"
    elif ! grep -qs '^ID=debian' /etc/os-release; then
        why="its libraries are built from Debian's source packages (scripts/fetch-windows.sh)"
    fi
    if [[ -n $why ]]; then
        echo "-- windows: SKIPPED, $why"
        skipped=$((skipped + 1))
        return
    fi
    if ! quietly windows libraries scripts/fetch-windows.sh build/windows-libraries; then
        failed=$((failed + 1))
        return
    fi
    if start_wine >build/windows.wine.log 2>&1; then
        run_preset windows
    else
        echo "-- windows: Wine does not start"
        tail build/windows.wine.log
        failed=$((failed + 1))
    fi
    stop_wine
}

# Syntax and types for macOS; nothing is made or run, because there is no such machine.
run_macos() {
    if quietly macos check scripts/macos.sh build/macos; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

run_lint() {
    local counts
    mkdir -p build
    local how=()
    $every || how=(--quick)
    scripts/lint.sh "${how[@]}" 2>&1 | tee build/lint.log || true
    counts=$(tail -n 1 build/lint.log)
    if [[ ! $counts =~ ^lint:\ ([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        failed=$((failed + 1))
        return
    fi
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    skipped=$((skipped + BASH_REMATCH[3]))
}

for leg in "${legs[@]}"; do
    echo "== $leg"
    case $leg in
    release)
        # Its tests report it if it is missing.
        quietly release promtool scripts/fetch-promtool.sh build/promtool || true
        run_preset release
        ;;
    bindings) run_bindings ;;
    aarch64) run_aarch64 ;;
    windows) run_windows ;;
    macos) run_macos ;;
    lint) run_lint ;;
    *) run_preset "$leg" ;;
    esac
done
[[ $failed -eq 0 ]]
