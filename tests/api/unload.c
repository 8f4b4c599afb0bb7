/* SPDX-License-Identifier: Apache-2.0
 *
 * dlclose of the shared library while its threads are alive: it stays loaded and works.
 */
#include <dlfcn.h>

#include "support/harness.h"

#define CALL(name) ((__typeof__(name) *)(void (*)(void))dlsym(library, #name))

static void stays_with_its_threads(void **state)
{
    (void)state;
    enum { N = 1000 };
    static uint32_t a[N], out[N];
    gx_ctx *ctx;
    gx_ticket *ticket;
    void *library = dlopen(GXT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    __typeof__(gx_submit) *submit = CALL(gx_submit);
    __typeof__(gx_ticket_destroy) *ticket_free = CALL(gx_ticket_destroy);
    __typeof__(gx_close) *close_ctx = CALL(gx_close);
    gx_config config = {.device = "cpu", .cache_dir = "none"};
    assert_int_equal(CALL(gx_open)(&config, &ctx), GX_OK);
    for (uint32_t i = 0; i < N; i++)
        a[i] = i;
    gx_job job = gxt_job(GX_ADD, GX_U32, N, a, a, NULL, out);
    assert_int_equal(submit(ctx, &job, 1, NULL, &ticket), GX_OK);
    ticket_free(&ticket);
    assert_int_equal(dlclose(library), 0);
    void *again = dlopen(GXT_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(again); /* otherwise its threads would have no code */
    assert_int_equal(submit(ctx, &job, 1, NULL, &ticket), GX_OK);
    ticket_free(&ticket);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(out[i], 2 * i);
    close_ctx(&ctx);
    dlclose(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stays_with_its_threads)};
    gxt_clear_environment();
    return cmocka_run_group_tests_name("unload", tests, NULL, NULL);
}
