/* SPDX-License-Identifier: Apache-2.0
 *
 * Connection limits: guests with addresses that no test machine has, on sockets that show whether
 * they were shut down.
 */
#include "support/harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include "http/guard.h"

enum { MOST = 200, SECOND = 1000000000 };

typedef struct visitor {
    guest *guest;
    int far; /* the other end */
} visitor;

static visitor visit(http_guard *guard, const char *from, uint64_t now)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    int ends[2];
    assert_false(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
    bool is_v4 = inet_pton(AF_INET, from, &v4.sin_addr) == 1;
    assert_true(is_v4 || inet_pton(AF_INET6, from, &v6.sin6_addr) == 1);
    const struct sockaddr *address = is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
    return (visitor){guard_arrive(guard, ends[0], address, now), ends[1]};
}

/* By the socket itself; and by nothing else once the guest has left. */
static bool is_there(const visitor *v)
{
    char byte;
    return read(v->far, &byte, 1) != 0;
}

static void leave(visitor *v)
{
    close(v->guest->fd);
    close(v->far);
    guard_leave(v->guest);
}

static void longest_waiting_goes_first(void **state)
{
    (void)state;
    http_guard guard;
    visitor v[MOST + 3];
    assert_true(guard_open(&guard, MOST));
    for (unsigned i = 0; i < MOST; i++)
        v[i] = visit(&guard, "127.0.0.1", i); /* however many, from this machine */
    for (unsigned i = 0; i < MOST; i++)
        assert_true(is_there(&v[i]));
    v[0].guest->known = true; /* answered: the oldest, and stays */
    for (unsigned i = MOST; i < MOST + 3; i++)
        v[i] = visit(&guard, "::1", i);
    for (unsigned i = 0; i < MOST + 3; i++)
        assert_int_equal(is_there(&v[i]), i == 0 || i > 3);
    for (unsigned i = 0; i < MOST + 3; i++)
        v[i].guest->known = true;
    visitor last = visit(&guard, "127.0.0.2", MOST + 3); /* where all are known, the oldest */
    assert_false(is_there(&v[0]));
    assert_true(is_there(&v[4]) && is_there(&last));
    for (unsigned i = 0; i < MOST + 3; i++)
        leave(&v[i]);
    leave(&last);
    guard_close(&guard);
}

/* Too many connections of one network displace each other, and no one else. */
static void one_network_has_its_share(void **state)
{
    (void)state;
    static const char *const networks[][2] = {{"192.0.2.1", "192.0.2.2"},
                                              {"2001:db8::1", "2001:db8:0:1::1"}};
    for (unsigned n = 0; n < 2; n++) {
        http_guard guard;
        visitor v[GUARD_PER_NETWORK + 2];
        assert_true(guard_open(&guard, MOST));
        visitor other = visit(&guard, networks[n][1], 0);
        for (unsigned i = 0; i < GUARD_PER_NETWORK + 2; i++)
            v[i] = visit(&guard, networks[n][0], i + 1);
        for (unsigned i = 0; i < GUARD_PER_NETWORK + 2; i++)
            assert_int_equal(is_there(&v[i]), i > 1);
        assert_true(is_there(&other));
        for (unsigned i = 0; i < GUARD_PER_NETWORK + 2; i++)
            leave(&v[i]);
        leave(&other);
        guard_close(&guard);
    }
}

static void steps_have_an_end(void **state)
{
    (void)state;
    http_guard guard;
    assert_true(guard_open(&guard, MOST));
    visitor slow = visit(&guard, "192.0.2.1", 0), quick = visit(&guard, "192.0.2.1", 0);
    quick.guest->known = true;
    guard_expire(&guard, (uint64_t)GUARD_STEP_SECONDS * SECOND);
    assert_true(is_there(&slow) && is_there(&quick));
    quick.guest->since_ns = SECOND; /* the next step */
    guard_expire(&guard, (uint64_t)GUARD_STEP_SECONDS * SECOND + SECOND);
    assert_true(!is_there(&slow) && is_there(&quick));
    guard_expire(&guard, (uint64_t)GUARD_STEP_SECONDS * SECOND + SECOND + 1);
    assert_false(is_there(&quick));
    leave(&slow);
    leave(&quick);
    guard_close(&guard);
}

/* Evicted connections that are still there use the spare room, and no more. */
static void room_is_bounded(void **state)
{
    (void)state;
    http_guard guard;
    visitor v[MOST + GUARD_SPARE];
    assert_true(guard_open(&guard, MOST));
    for (unsigned i = 0; i < MOST + GUARD_SPARE; i++) {
        v[i] = visit(&guard, "127.0.0.1", i);
        assert_non_null(v[i].guest);
    }
    struct sockaddr_in any = {.sin_family = AF_INET};
    assert_null(guard_arrive(&guard, 0, (struct sockaddr *)&any, 0));
    for (unsigned i = 0; i < MOST + GUARD_SPARE; i++)
        leave(&v[i]);
    guard_close(&guard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_waiting_goes_first),
        cmocka_unit_test(one_network_has_its_share),
        cmocka_unit_test(steps_have_an_end),
        cmocka_unit_test(room_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
