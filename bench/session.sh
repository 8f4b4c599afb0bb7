#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# session.sh RESULTS [PART...]: a measuring session, from a staged folder (stage.sh), into
# files of the folder RESULTS, each of which begins with its command. Parts, all unless named:
#   check   the tests, on the GPU where there is one: through Vulkan under the validation layer, and
#           through CUDA, there under compute-sanitizer too if it is installed; the first failure
#           ends the session
#   cpu     the benchmarks of the CPU
#   gpu     those of the GPU: GX_SESSION_DEVICE, otherwise cuda:0, otherwise the first Vulkan device
#           that is hardware
# A machine whose Vulkan loader is somewhere unusual needs it in the environment; then the
# whole session is started in that: .gpu/with-gpu stage/session.sh RESULTS check gpu
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
results=${1:?where to write the results}
shift
parts=("$@")
[[ $# -gt 0 ]] || parts=(check cpu gpu)
for part in "${parts[@]}"; do
    if [[ " check cpu gpu " != *" $part "* ]]; then
        echo "session: unknown part '$part'; choose from check cpu gpu" >&2
        exit 2
    fi
done
mkdir -p "$results"
export PATH="$here/bin:$PATH" LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# Neither uses nor writes the user's cache files. The tests have their own directory: their tuning
# is not suitable for benchmarks.
caches=$(mktemp -d)
trap 'rm -rf "$caches"' EXIT

# as_typed COMMAND...: one line that a shell would parse as the command.
as_typed() {
    local line
    printf -v line '%q ' "$@"
    echo "${line% }"
}

# run FILE COMMAND...: writes the command and its output to the file.
run() {
    local file=$results/$1 from=$SECONDS
    shift
    echo "== $(as_typed "$@")"
    { echo "# $(as_typed "$@")" && XDG_CACHE_HOME=$caches/bench "$@"; } >"$file"
    echo "   $((SECONDS - from)) s"
}

# check COMMAND...: appends to check.txt; shown on failure.
check() {
    local file=$results/check.txt from=$SECONDS
    echo "== $(as_typed "$@")"
    echo "# $(as_typed "$@")" >>"$file"
    if ! XDG_CACHE_HOME=$caches/check "$@" >>"$file" 2>&1; then
        tail -n 40 "$file" >&2
        echo "session: $* failed: nothing is measured" >&2
        exit 1
    fi
    echo "   $((SECONDS - from)) s"
}

# rows PATTERN: the lines of usable hardware in the list of devices.
rows() {
    grep "^$1,.*,true\$" <<<"$devices" | grep -v llvmpipe || true
}

devices=$(gpuexec devices --csv)
vulkan_row=$(rows 'vulkan:[0-9]*' | head -n 1)
vulkan=${vulkan_row%%,*}
model=${vulkan_row#*\"}
model=${model%%,*}
cuda_row=$(rows cuda:0)
cuda=${cuda_row%%,*}
gpu=${cuda:-$vulkan}
if [[ -n ${GX_SESSION_DEVICE:-} ]]; then
    gpu=$GX_SESSION_DEVICE
    if ! grep -q "^$gpu," <<<"$devices"; then
        echo "session: there is no device $gpu" >&2
        exit 1
    fi
fi
web=$(grep -o '^webgpu:vulkan:0,.*,true$' <<<"$devices" | cut -d, -f1 || true)
webs=$(grep -o '^webgpu:[a-z0-9]*:0,.*,true$' <<<"$devices" | cut -d, -f1 | paste -sd, || true)

{
    echo "date: $(date -u +%Y-%m-%d)"
    echo "revision: $(cat "$here/revision")"
    echo "kernel: $(uname -sr)"
    lscpu | grep -E '^(Model name|CPU\(s\)|L2|L3|Thread|Core)' | sed 's/  */ /g'
    echo "$devices"
    if command -v nvidia-smi >/dev/null; then
        nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem \
            --format=csv || true
    fi
} >"$results/machine.txt"

part_check() {
    : >"$results/check.txt"
    # Every test enables the validation layer, and fails on any message from it.
    local environment=(GX_TEST_NO_WEBGPU=1 GX_TEST_NO_VULKAN=1)
    [[ -z $vulkan ]] || environment=(GX_TEST_NO_WEBGPU=1 "GX_TEST_VULKAN=$model")
    check test-kernels
    for test in conformance contract api-buffers laws ntt msm-traps; do
        check env GX_TEST_EFFORT=small "${environment[@]}" "test-$test"
    done
    check gpuexec verify
    [[ -z $vulkan ]] || check gpuexec verify --device "$vulkan" --validate 1
    if [[ -z $cuda ]]; then
        echo "session: no CUDA device here, its tests are left out"
        return
    fi
    check_cuda
}

# The CUDA device alone: with it missing, these fail.
check_cuda() {
    local environment=(GX_TEST_NO_WEBGPU=1 GX_TEST_NO_VULKAN=1 "GX_TEST_CUDA=$cuda" "GX_TEST_VECTORS=$here/bin/vectors")
    for test in conformance laws ntt msm-vectors msm-traps; do
        check env "${environment[@]}" "test-$test" cuda
    done
    for test in contract api-buffers api-msm api-recover; do
        check env "${environment[@]}" "test-$test" "$cuda"
    done
    check gpuexec verify --device "$cuda"
    check example-cuda
    check example-kernel "$here/bin/kernel.spv" "$here/bin/kernel.ptx"
    if command -v compute-sanitizer >/dev/null; then
        check compute-sanitizer --error-exitcode 9 gpuexec verify --device "$cuda" -n 20 --cache-dir none
    else
        echo "session: no compute-sanitizer here, left out"
    fi
}

part_cpu() {
    run demo.txt gpuexec demo
    run kernels.csv test-kernels --bench --csv
    run bench-1-thread.csv gpuexec bench --threads 1 --op add,mul,inv -n 64,4096,64K,4M --csv
    run bench-2-threads.csv gpuexec bench --threads 2 --op add,mul -n 4M --csv
    run bench-all-threads.csv gpuexec bench --op add,mul,inv -n 64,4096,64K,4M --csv
    run ntt-cpu.csv bench-suites ntt --device cpu --csv
    run msm-cpu.csv bench-suites msm --device cpu --csv
}

# The same GPU through wgpu, with resident results next to its own. Results from host memory compare
# with bench-gpu.csv and persistence.csv of the same session, which use the same sizes.
webgpu() {
    if [[ -z $web ]]; then
        echo "session: no WebGPU device here, its part is left out"
        return
    fi
    run webgpu-verify.txt gpuexec verify --device "$web"
    run webgpu-resident.csv bench-resident --device "$web" -n 4M --csv
    run webgpu-resident-native.csv bench-resident --device "$gpu" -n 4M --csv
    run webgpu-bench.csv gpuexec bench --device "$web" --op add,mul -n 64,1024,16K,64K,1M,4M --csv
    run webgpu-ntt.csv bench-suites ntt --device "$web" --csv
    run webgpu-persistence.csv bench-suites persistence --device "$web" --csv
}

part_gpu() {
    if [[ -z $gpu ]]; then
        echo "session: no GPU here, its part is left out"
        return
    fi
    # Power draw of the card meanwhile, and whether it throttles.
    local power=
    if command -v nvidia-smi >/dev/null; then
        nvidia-smi -lms 100 --format=csv --query-gpu=timestamp,clocks.sm,power.draw.instant,power.limit,clocks_event_reasons.active \
            >"$results/resident-power.csv" &
        power=$!
    fi
    run resident.csv bench-resident --device "$gpu" --csv
    [[ -z $power ]] || kill "$power"
    run bench-gpu.csv gpuexec bench --device "$gpu" --op add,mul,inv -n 64,1024,16K,64K,1M,4M --csv
    run persistence.csv bench-suites persistence --device "$gpu" --csv
    run engine.csv bench-suites engine --device "$gpu" --csv
    run router.csv bench-suites router --csv
    run ntt.csv bench-suites ntt --device "$gpu" --csv
    run msm.csv bench-suites msm --device "$gpu" --csv
    run seeds.md bench-suites seeds --device "$gpu${webs:+,$webs}"
    rm -f "$results/scan.csv" "$results/scan-ntt-msm.csv" # of an earlier session, which scan would keep
    run scan.txt gpuexec scan --device "cpu,$gpu${web:+,$web}" --sizes 64:16M:x4 --op add,mul,inv --resident -o "$results/scan.csv"
    run scan-ntt-msm.txt gpuexec scan --device "cpu,$gpu${web:+,$web}" --sizes 1K:16M:x4 --op ntt,msm --field bls12-381-fr --resident -o "$results/scan-ntt-msm.csv"
    webgpu
    run copies.csv bench-copies --device "$gpu" --samples 3 --csv
}

for part in "${parts[@]}"; do
    "part_$part"
done
