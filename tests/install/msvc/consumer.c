/* SPDX-License-Identifier: Apache-2.0
 *
 * A program for Microsoft's ABI, with nothing but the library and the system's calls. Its exit code
 * says what was wrong.
 */
#include <gpuexec.h>

__declspec(dllimport) __declspec(noreturn) void __stdcall ExitProcess(unsigned code);

void start(void);
void start(void)
{
    gx_ctx *ctx;
    gx_config config = {.struct_size = sizeof config, .device = "cpu"};
    if (gx_open(&config, &ctx) != GX_OK)
        ExitProcess(10);
    uint32_t a[3] = {1, 2, 3}, b[3] = {10, 20, 0xffffffff}, c[3] = {0};
    gx_job job = {
        .op = GX_ADD, .field = GX_U32, .n = 3, .a = gx_host(a), .b = gx_host(b), .out = gx_host(c)};
    gx_report report = {.struct_size = sizeof report};
    if (gx_run(ctx, &job, 1, NULL, &report) != GX_OK || report.status != GX_OK)
        ExitProcess(11);
    if (c[0] != 11 || c[1] != 22 || c[2] != 2)
        ExitProcess(12);
    if (gx_run(ctx, NULL, 1, NULL, NULL) != GX_ERR_INVALID || !gx_last_message()[0])
        ExitProcess(13);
    gx_close(&ctx);
    ExitProcess(ctx ? 14 : 0);
}
