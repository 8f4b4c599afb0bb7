/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting as event loops need it: for any of several tickets, and by a callback when a ticket is
 * done, whoever finishes it. Tickets are kept pending by other tickets of a slow device ahead of
 * them in the queue.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "support/harness.h"

enum { LARGE = 1 << 16, AHEAD = 4 };

static gx_ctx *ctx;
static unsigned char *x, *out[AHEAD + 1];
static uint32_t one = 1, sums[2];

static int open_context(void **state)
{
    (void)state;
    gxt_clear_environment();
    ctx = gxt_open(&(gx_config){.device = "cpu", .cache_dir = "none"});
    uint64_t seed = 3;
    x = gxt_alloc((size_t)LARGE * 48);
    gxt_fill(&seed, GX_BLS12_381_FQ, x, LARGE);
    for (size_t i = 0; i < GXT_COUNT(out); i++)
        out[i] = gxt_alloc((size_t)LARGE * 48);
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    gx_close(&ctx);
    for (size_t i = 0; i < GXT_COUNT(out); i++)
        free(out[i]);
    free(x);
    return 0;
}

static gx_ticket *submit(gx_ctx *to, const gx_job *job)
{
    gx_ticket *ticket = NULL;
    assert_int_equal(gx_submit(to, job, 1, NULL, &ticket), GX_OK);
    return ticket;
}

static gx_ticket *submit_small(gx_ctx *to)
{
    /* Two contexts run at the same time. */
    gx_job job = gxt_job(GX_ADD, GX_U32, 1, &one, &one, NULL, &sums[to == ctx]);
    return submit(to, &job);
}

static gx_ticket *submit_large(size_t i)
{
    gx_job job = gxt_job(GX_INV, GX_BLS12_381_FQ, LARGE, x, NULL, NULL, out[i]);
    return submit(ctx, &job);
}

/* ---- any ---- */

static void any_of_several(void **state)
{
    (void)state;
    gx_ticket *tickets[4] = {submit_large(0), NULL, submit_small(ctx), submit_large(1)};
    unsigned seen = 0;
    for (int left = 3; left; left--) {
        size_t index = 99;
        assert_int_equal(gx_wait_any(tickets, 4, UINT64_MAX, &index), GX_OK);
        assert_true(index < 4 && index != 1);
        assert_int_equal(gx_poll(tickets[index]), GX_OK);
        seen |= 1u << index;
        gx_ticket_destroy(&tickets[index]);
    }
    assert_int_equal(seen, 0xd);
    size_t index = 99;
    assert_int_equal(gx_wait_any(tickets, 4, UINT64_MAX, &index), GX_ERR_INVALID);
    assert_int_equal(index, 4);
    assert_non_null(strstr(gx_last_message(), "no ticket"));
    assert_int_equal(gx_wait_any(tickets, 0, UINT64_MAX, &index), GX_ERR_INVALID);
}

static void any_gives_the_tickets_status(void **state)
{
    (void)state;
    unsigned char bad[32], negated[32];
    gxt_put_modulus(GX_BN254_FQ, bad);
    gx_job job = gxt_job(GX_NEG, GX_BN254_FQ, 1, bad, NULL, NULL, negated);
    gx_ticket *ticket = submit(ctx, &job);
    size_t index;
    assert_int_equal(gx_wait_any(&ticket, 1, UINT64_MAX, &index), GX_ERR_NOT_CANONICAL);
    assert_int_equal(index, 0);
    assert_non_null(strstr(gx_last_message(), "element 0 of operand a"));
    gx_ticket_destroy(&ticket);
}

static void any_gives_up_in_time(void **state)
{
    (void)state;
    gx_ticket *tickets[AHEAD];
    size_t index = 99;
    for (size_t i = 0; i < AHEAD; i++)
        tickets[i] = submit_large(i);
    gx_status s = gx_wait_any(&tickets[AHEAD - 1], 1, 0, &index);
    assert_true(s == GX_OK ? index == 0 : s == GX_PENDING && index == 1);
    s = gx_wait_any(&tickets[AHEAD - 1], 1, 1000, &index);
    assert_true(s == GX_OK ? index == 0 : s == GX_PENDING && index == 1);
    assert_int_equal(gx_wait_any(&tickets[AHEAD - 1], 1, UINT64_MAX, &index), GX_OK);
    for (size_t i = 0; i < AHEAD; i++)
        gx_ticket_destroy(&tickets[i]);
}

static void any_is_of_one_context(void **state)
{
    (void)state;
    gx_ctx *other = gxt_open(&(gx_config){.device = "cpu", .cache_dir = "none"});
    gx_ticket *tickets[2] = {submit_small(ctx), submit_small(other)};
    size_t index;
    assert_int_equal(gx_wait_any(tickets, 2, UINT64_MAX, &index), GX_ERR_INVALID);
    assert_non_null(strstr(gx_last_message(), "another context"));
    gx_ticket_destroy(&tickets[0]);
    gx_close(&other);
    assert_int_equal(gx_wait_any(tickets, 2, UINT64_MAX, &index), GX_OK); /* it outlives it */
    assert_int_equal(index, 1);
    gx_ticket_destroy(&tickets[1]);
}

/* ---- a function ---- */

struct told {
    atomic_int calls;
    gx_status status;
    gx_ticket *ticket;
    pthread_t thread;
    int event;
};

static void on_done(void *user, gx_ticket *ticket)
{
    struct told *told = user;
    const uint64_t count = 1;
    gx_report r = {.struct_size = sizeof r};
    told->status = gx_wait(ticket, 0, &r);
    if (r.status != told->status || gx_poll(ticket) != told->status)
        told->status = GX_PENDING;
    told->ticket = ticket;
    told->thread = pthread_self();
    atomic_fetch_add(&told->calls, 1);
    if (write(told->event, &count, sizeof count) != sizeof count)
        abort();
}

static void await_event(const struct told *told)
{
    uint64_t count;
    struct pollfd ready = {.fd = told->event, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 60000), 1);
    assert_int_equal(read(told->event, &count, sizeof count), sizeof count);
}

static void an_event_loop_is_woken(void **state)
{
    (void)state;
    struct told told[AHEAD] = {{0}};
    gx_ticket *tickets[AHEAD];
    for (size_t i = 0; i < AHEAD; i++) {
        told[i].event = eventfd(0, EFD_CLOEXEC);
        assert_true(told[i].event >= 0);
        tickets[i] = i % 2 ? submit_small(ctx) : submit_large(i);
        assert_int_equal(gx_notify(tickets[i], on_done, &told[i]), GX_OK);
        assert_int_equal(gx_notify(tickets[i], on_done, &told[i]), GX_ERR_INVALID);
        assert_non_null(strstr(gx_last_message(), "already"));
    }
    for (size_t i = 0; i < AHEAD; i++) {
        await_event(&told[i]);
        gx_ticket_destroy(&tickets[i]); /* waits until the callback has returned */
        assert_int_equal(told[i].calls, 1);
        assert_int_equal(told[i].status, GX_OK);
        assert_non_null(told[i].ticket);
        close(told[i].event);
    }
}

static void a_ticket_that_is_done_tells_at_once(void **state)
{
    (void)state;
    struct told told = {.event = eventfd(0, EFD_CLOEXEC)};
    gx_ticket *ticket = submit_small(ctx);
    assert_int_equal(gx_wait(ticket, UINT64_MAX, NULL), GX_OK);
    assert_int_equal(gx_notify(ticket, on_done, &told), GX_OK);
    assert_int_equal(told.calls, 1);
    assert_int_equal(told.status, GX_OK);
    assert_true(pthread_equal(told.thread, pthread_self()));
    assert_int_equal(gx_notify(ticket, on_done, &told), GX_ERR_INVALID);
    gx_ticket_destroy(&ticket);
    close(told.event);
}

/* Whoever finishes a ticket, there is one callback for each, also if all are cancelled at once. */
static void cancelled_tickets_tell(void **state)
{
    (void)state;
    enum { TICKETS = 20 };
    for (int all = 0; all < 2; all++) {
        struct told told[TICKETS] = {{0}};
        gx_ticket *tickets[TICKETS];
        int event = eventfd(0, EFD_CLOEXEC);
        for (size_t i = 0; i < TICKETS; i++) {
            told[i].event = event;
            tickets[i] = i < AHEAD ? submit_large(i) : submit_small(ctx);
            assert_int_equal(gx_notify(tickets[i], on_done, &told[i]), GX_OK);
        }
        if (all)
            gx_cancel_all(ctx);
        for (size_t i = TICKETS; i-- > 0 && !all;)
            gx_cancel(tickets[i]);
        for (size_t i = 0; i < TICKETS; i++) {
            gx_status s = gx_wait(tickets[i], UINT64_MAX, NULL);
            assert_true(s == GX_OK || s == GX_ERR_CANCELLED);
            gx_ticket_destroy(&tickets[i]);
            assert_int_equal(told[i].calls, 1);
            assert_int_equal(told[i].status, s);
        }
        close(event);
    }
}

/* The context is closed while tickets are in progress; all callbacks happen before that returns. */
static void closing_tells_first(void **state)
{
    (void)state;
    gx_ctx *other = gxt_open(&(gx_config){.device = "cpu", .cache_dir = "none"});
    struct told told[AHEAD] = {{0}};
    gx_ticket *tickets[AHEAD];
    int event = eventfd(0, EFD_CLOEXEC);
    for (size_t i = 0; i < AHEAD; i++) {
        told[i].event = event;
        gx_job job = gxt_job(GX_INV, GX_BLS12_381_FQ, LARGE, x, NULL, NULL, out[i]);
        tickets[i] = submit(other, &job);
        assert_int_equal(gx_notify(tickets[i], on_done, &told[i]), GX_OK);
    }
    gx_close(&other);
    for (size_t i = 0; i < AHEAD; i++) {
        assert_int_equal(told[i].calls, 1);
        gx_ticket_destroy(&tickets[i]);
    }
    close(event);
}

/* ---- many threads ---- */

enum { THREADS = 4, ROUNDS = 100 };

static void *race(void *user)
{
    atomic_int *wrong = user;
    for (int round = 0; round < ROUNDS; round++) {
        struct told told = {.event = eventfd(0, EFD_CLOEXEC)};
        uint32_t in = 2, result = 0;
        const gx_job job = {.op = GX_ADD,
                            .field = GX_U32,
                            .n = 1,
                            .a = gx_host(&in),
                            .b = gx_host(&in),
                            .out = gx_host(&result)};
        gx_ticket *ticket = NULL;
        size_t index = 9;
        bool fine = gx_submit(ctx, &job, 1, NULL, &ticket) == GX_OK &&
                    gx_notify(ticket, on_done, &told) == GX_OK &&
                    gx_wait_any(&ticket, 1, UINT64_MAX, &index) == GX_OK && index == 0;
        gx_ticket_destroy(&ticket);
        fine &= told.calls == 1 && result == 4;
        atomic_fetch_add(wrong, !fine);
        close(told.event);
    }
    return NULL;
}

static void from_many_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    atomic_int wrong = 0;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, race, &wrong), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_of_several),
        cmocka_unit_test(any_gives_the_tickets_status),
        cmocka_unit_test(any_gives_up_in_time),
        cmocka_unit_test(any_is_of_one_context),
        cmocka_unit_test(an_event_loop_is_woken),
        cmocka_unit_test(a_ticket_that_is_done_tells_at_once),
        cmocka_unit_test(cancelled_tickets_tell),
        cmocka_unit_test(closing_tells_first),
        cmocka_unit_test(from_many_threads),
    };
    return cmocka_run_group_tests_name("notify", tests, open_context, close_context);
}
