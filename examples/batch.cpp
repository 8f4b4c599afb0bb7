// SPDX-License-Identifier: Apache-2.0
//
// Several jobs in one call, their reports, and what an error looks like.
//
//   c++ -std=c++17 batch.cpp $(pkg-config --cflags --libs gpuexec) -o batch
//   LD_LIBRARY_PATH=$(pkg-config --variable=libdir gpuexec) ./batch

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gpuexec.h>

namespace {

struct close_context {
    void operator()(gx_ctx *ctx) const { gx_close(&ctx); }
};
using context = std::unique_ptr<gx_ctx, close_context>;

using element = std::array<std::uint64_t, 4>; // BN254: four limbs, lowest first

context open()
{
    gx_ctx *ctx = nullptr;
    if (gx_open(nullptr, &ctx) != GX_OK)
        throw std::runtime_error(gx_last_message());
    return context(ctx);
}

gx_job job(gx_op op, std::size_t n, const void *a, const void *b, void *out)
{
    gx_job j{};
    j.op = op;
    j.field = GX_BN254_FR;
    j.n = n;
    j.a = gx_host(a);
    if (b)
        j.b = gx_host(b);
    j.out = gx_host(out);
    return j;
}

// Runs the jobs, prints a line for each, and says how the call ended.
gx_status run(const context &ctx, const std::vector<gx_job> &jobs)
{
    std::vector<gx_report> reports(jobs.size());
    reports.at(0).struct_size = sizeof(gx_report);
    gx_status s = gx_run(ctx.get(), jobs.data(), jobs.size(), nullptr, reports.data());
    for (std::size_t i = 0; i < jobs.size(); i++) {
        const gx_report &r = reports[i];
        std::printf("  %-8s %s%s%s\n", gx_op_get_info(jobs[i].op)->name, gx_status_name(r.status),
                    r.message[0] ? ": " : "", r.message);
    }
    return s;
}

} // namespace

int main()
try {
    context ctx = open();
    const std::size_t n = 1000;
    std::vector<element> a(n), b(n), sum(n), back(n);
    for (std::size_t i = 0; i < n; i++) {
        a[i] = {i, 1, 2, 3};
        b[i] = {7 * i, 3, 2, 1};
    }

    std::puts("a + b - b, in one call:");
    gx_status s = run(ctx, {job(GX_ADD, n, a.data(), b.data(), sum.data()),
                            job(GX_SUB, n, sum.data(), b.data(), back.data())});
    if (s != GX_OK || back != a)
        throw std::runtime_error("a + b - b is not a");

    std::puts("one element that is not below the modulus:");
    a[123] = {~0ull, ~0ull, ~0ull, ~0ull};
    s = run(ctx, {job(GX_SQR, n, a.data(), nullptr, sum.data()),
                  job(GX_SUB, n, sum.data(), b.data(), back.data())});
    if (s != GX_ERR_NOT_CANONICAL)
        throw std::runtime_error("it was not refused");

    std::puts("as expected");
    return 0;
} catch (const std::exception &e) {
    std::fprintf(stderr, "batch: %s\n", e.what());
    return 1;
}
