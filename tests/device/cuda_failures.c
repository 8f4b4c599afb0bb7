/* SPDX-License-Identifier: Apache-2.0
 *
 * Failures of the CUDA driver (support/fake_cuda.c): a lost device, work that never ends, and every
 * call and every allocation failing in turn.
 */
#include "device/cuda_run.h"

#include <pthread.h>

#include "support/heap.h"

/* A stream that fails says so only if it is asked. */
static void lost(void **state)
{
    (void)state;
    set_up();
    open_it();
    struct gx_cmd *cmd;
    struct gx_fence done;
    struct gx_mem mem;
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 16, &mem), GX_OK);
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    fake->hold = true;
    assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_OK);
    fake->fail_at = fake->calls + 1;
    fake->fail_with = CUDA_ERROR_LAUNCH_FAILED;
    assert_int_equal(device.ops->wait(&device, done, GX_WAIT_FOREVER), GX_ERR_DEVICE_LOST);
    assert_true(device.ops->reached(&device, done));
    assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_ERR_DEVICE_LOST);
    device.ops->recycle(cmd);
    device.ops->mem_free(&device, &mem);
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 16, &mem), GX_ERR_DEVICE_LOST);
    close_it();
    fake->hold = false;
    assert_int_equal(run_all(), GX_OK); /* the context is a new one */
    expect_nothing_left();
}

/* A lost context stays lost while others use it, and is not reset. */
static void lost_with_others(void **state)
{
    (void)state;
    CUcontext primary;
    struct gx_mem mem;
    set_up();
    assert_int_equal(fn.DevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    open_it();
    fake->fail_at = fake->calls + 1;
    fake->fail_with = CUDA_ERROR_LAUNCH_FAILED;
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 16, &mem), GX_ERR_DEVICE_LOST);
    gx__device_close(&device);
    assert_int_equal(fake->contexts, 1);
    assert_int_equal(run_all(), GX_ERR_DEVICE_LOST);
    assert_int_equal(fake->contexts, 1);
    fn.DevicePrimaryCtxRelease(0);
    assert_int_equal(run_all(), GX_OK);
    expect_nothing_left();
}

/* ---- work that never ends ---- */

static void set_up_to_hang(bool counters)
{
    set_up();
    fake->no_counters = !counters;
    atomic_store(&gx__cu_patience_ns, 5000000);
}

static void *wait_forever(void *user)
{
    gx_status s = device.ops->wait(&device, *(struct gx_fence *)user, GX_WAIT_FOREVER);
    return s == GX_ERR_DEVICE_LOST ? user : NULL;
}

/* Leaves the device, which is open, as a job does that nobody waits for any more. */
static void hang(void)
{
    struct gx_cmd *cmd;
    struct gx_fence done;
    pthread_t thread;
    void *other;
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    device.ops->stamp(cmd, 0);
    fake->hold = true;
    assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_OK);
    assert_int_equal(pthread_create(&thread, NULL, wait_forever, &done), 0);
    assert_int_equal(device.ops->wait(&device, done, 1000000), GX_ERR_TIMEOUT);
    device.ops->recycle(cmd);
    assert_int_equal(device.ops->wait(&device, done, 0), GX_ERR_DEVICE_LOST);
    assert_int_equal(pthread_join(thread, &other), 0);
    assert_ptr_equal(other, &done);
}

static void expect_stuck(const char *name)
{
    struct gx_device again;
    int contexts = fake->contexts;
    assert_int_equal(gx__device_open(&instance, name, &again, &error), GX_ERR_TIMEOUT);
    assert_non_null(strstr(error.text, "did not finish in time"));
    assert_int_equal(fake->contexts, contexts);
    assert_int_equal(fake->endless, 0);
}

/* Nothing is left of the device, but for what it had while it hung. */
static void expect_released(void)
{
    assert_true(fake->left > 0);
    fake->left = 0;
    gx__device_stop(&instance);
    expect_nothing_left();
}

/* It is closed without a call that would wait, and opened again when the work has ended. */
static void hung(void **state)
{
    (void)state;
    for (int counters = 0; counters < 2; counters++) {
        struct gx_kernel_key key = {.op = GX_ADD, .field = GX_U32};
        struct gx_kernel kernel;
        struct gx_mem mem[GX_MEM_KINDS];
        set_up_to_hang(counters);
        open_it();
        assert_int_equal(device.ops->kernel(&device, &key, &kernel), GX_OK);
        for (enum gx_mem_kind kind = 0; kind < GX_MEM_KINDS; kind++)
            assert_int_equal(device.ops->mem_alloc(&device, kind, 64, &mem[kind]), GX_OK);
        hang();
        for (enum gx_mem_kind kind = 0; kind < GX_MEM_KINDS; kind++)
            device.ops->mem_free(&device, &mem[kind]);
        gx__device_close(&device);
        assert_int_equal(fake->contexts, 1);
        expect_stuck("cuda:0");
        gx__device_stop(&instance); /* in another context too */
        expect_stuck("cuda:uuid=f0");
        fake->hold = false;
        assert_int_equal(run_all(), GX_OK);
        expect_released();
    }
}

/* As while a buffer lives. */
static void hung_and_not_closed(void **state)
{
    (void)state;
    struct gx_device again;
    struct gx_mem mem;
    set_up_to_hang(true);
    open_it();
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 64, &mem), GX_OK);
    hang();
    expect_stuck("cuda:0");
    fake->hold = false;
    assert_int_equal(gx__device_open(&instance, "cuda:0", &again, &error), GX_OK);
    assert_int_equal(fake->contexts, 2);
    device.ops->mem_free(&device, &mem);
    gx__device_close(&device);
    assert_int_equal(fake->contexts, 1);
    gx__device_close(&again);
    expect_released();
}

/* The context is dead: there is nothing to wait for. */
static void hung_until_error(void **state)
{
    (void)state;
    set_up_to_hang(true);
    open_it();
    const struct cu_listed gpu = *cu_of(&device)->listed;
    hang();
    gx__device_close(&device);
    assert_true(gx__cu_stuck(gpu.base.uuid));
    fake->fail_at = fake->calls + 1;
    fake->fail_with = CUDA_ERROR_LAUNCH_FAILED;
    assert_false(gx__cu_stuck(gpu.base.uuid));
    gx__device_stop(&instance);
    expect_nothing_left();
    fake->hold = false;
    assert_int_equal(run_all(), GX_OK);
    expect_nothing_left();
}

/* Another device of the same GPU, whose own work is done, shares the context. Another GPU does
 * not. */
static void hung_beside_others(void **state)
{
    (void)state;
    struct gx_device beside;
    struct gx_mem mem;
    CUuuid other;
    set_up_to_hang(true);
    open_it();
    assert_int_equal(gx__device_open(&instance, "cuda:0", &beside, &error), GX_OK);
    assert_int_equal(beside.ops->mem_alloc(&beside, GX_MEM_DEVICE, 64, &mem), GX_OK);
    hang();
    fn.DeviceGetUuid(&other, 1);
    assert_false(gx__cu_stuck((const uint8_t *)other.bytes));
    beside.ops->mem_free(&beside, &mem);
    gx__device_close(&beside);
    gx__device_close(&device);
    expect_stuck("cuda:0");
    fake->hold = false;
    assert_int_equal(run_all(), GX_OK);
    expect_released();
}

/* What had begun of a submit that failed has to end, or else never does. */
static void hung_submit(void **state)
{
    (void)state;
    struct gx_cmd *cmd;
    struct gx_fence done;
    struct gx_mem mem;
    for (int held = 0; held < 2; held++) {
        set_up_to_hang(true);
        open_it();
        assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 64, &mem), GX_OK);
        assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
        fake->hold = held;
        fake->fail_at = fake->calls + 1;
        fake->fail_with = CUDA_ERROR_INVALID_VALUE;
        assert_int_equal(device.ops->submit(cmd, NULL, 0, &done),
                         held ? GX_ERR_DEVICE_LOST : GX_ERR_DEVICE);
        device.ops->recycle(cmd);
        device.ops->mem_free(&device, &mem);
        if (!held) {
            close_it();
            continue;
        }
        gx__device_close(&device);
        expect_stuck("cuda:0");
        fake->hold = false;
        assert_int_equal(run_all(), GX_OK);
        expect_released();
    }
}

/* Memory is freed while another thread still waits for work. */
static void freed_too_early(void **state)
{
    (void)state;
    struct gx_cmd *cmd;
    struct gx_fence done;
    struct gx_mem mem;
    set_up_to_hang(true);
    open_it();
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 64, &mem), GX_OK);
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    fake->hold = true;
    assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_OK);
    device.ops->mem_free(&device, &mem);
    assert_int_equal(fake->endless, 0);
    fake->hold = false;
    assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_OK);
    assert_int_equal(device.ops->wait(&device, done, GX_WAIT_FOREVER), GX_OK);
    device.ops->recycle(cmd);
    gx__device_close(&device);
    expect_released();
}

/* ---- each in turn ---- */

static bool expected(CUresult with, gx_status s)
{
    if (s == GX_OK || s == GX_ERR_NO_DEVICE) /* it was not needed, or while listing */
        return true;
    if (s == GX_ERR_DEVICE_LOST &&
        fake->no_counters) /* any answer about work but that it is done */
        return true;
    switch (with) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return s == GX_ERR_OUT_OF_DEVICE_MEMORY;
    case CUDA_ERROR_NOT_SUPPORTED:
        return s == GX_ERR_UNSUPPORTED;
    case CUDA_ERROR_LAUNCH_FAILED:
        return s == GX_ERR_DEVICE_LOST;
    default:
        return s == GX_ERR_DEVICE;
    }
}

static void each_call_fails(void **state)
{
    (void)state;
    static const CUresult with[] = {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_VALUE,
                                    CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_LAUNCH_FAILED};
    for (size_t i = 0; i <= GXT_COUNT(with); i++)
        for (unsigned n = 1, failed = 0;; n++) {
            set_up();
            fake->no_counters = i == GXT_COUNT(with);
            fake->fail_at = n;
            fake->fail_with = with[i % GXT_COUNT(with)];
            gx_status s = run_all();
            if (!expected(fake->fail_with, s))
                fail_msg("call %u failing with %d: %s", n, fake->fail_with, gx_status_name(s));
            failed += s != GX_OK;
            expect_nothing_left();
            if (fake->calls < n) {
                assert_int_equal(s, GX_OK);
                assert_true(failed > 40);
                break;
            }
        }
}

static void each_allocation_fails(void **state)
{
    (void)state;
    for (uint64_t n = 1, last = 0; !last; n++) {
        struct gxt_heap heap;
        gxt_heap_start(&heap);
        set_up();
        instance.config.allocator = gxt_heap_allocator(&heap);
        gxt_heap_fail(&heap, n, 0);
        gx_status s = run_all();
        last = gxt_heap_calls(&heap) < n;
        gxt_heap_end(&heap);
        expect_nothing_left();
        assert_true(s == GX_OK || (s == GX_ERR_OUT_OF_MEMORY && !last));
        assert_true(!last || n > 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lost),
                                       cmocka_unit_test(lost_with_others),
                                       cmocka_unit_test(hung),
                                       cmocka_unit_test(hung_and_not_closed),
                                       cmocka_unit_test(hung_until_error),
                                       cmocka_unit_test(hung_beside_others),
                                       cmocka_unit_test(hung_submit),
                                       cmocka_unit_test(freed_too_early),
                                       cmocka_unit_test(each_call_fails),
                                       cmocka_unit_test(each_allocation_fails)};
    return cmocka_run_group_tests(tests, prepare, NULL);
}
