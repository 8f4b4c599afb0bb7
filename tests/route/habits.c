/* SPDX-License-Identifier: Apache-2.0
 *
 * What is remembered of how much slower a share is beside others: when it counts, what it
 * withstands, and when it is asked again. Internal: it links the static library.
 */
#include "route/desk.h"
#include "support/harness.h"

/* As many splits may be missed for it. */
enum { MISSED = 64 };

static uint32_t learn(struct gx_beside *b, double thousandths)
{
    assert_true(gx__beside_learn(b, thousandths));
    return b->factor;
}

static uint32_t miss(struct gx_beside *b, unsigned times)
{
    while (times--)
        gx__beside_missed(b);
    return b->factor;
}

static void three_have_to_agree(void **state)
{
    (void)state;
    struct gx_beside b = {0};
    assert_int_equal(learn(&b, 1900), 0); /* the first may be of a busy moment */
    assert_int_equal(learn(&b, 1100), 0);
    assert_int_equal(learn(&b, 1200), 1200);
    assert_int_equal(learn(&b, 1200), 1200);
    assert_int_equal(learn(&b, 1950), 1200); /* of 1100 1200 1200 1900 1950 */
    assert_int_equal(learn(&b, 1950), 1200); /* 1900 is the oldest, and forgotten */
    assert_int_equal(learn(&b, 1950), 1950);
    for (int i = 0; i < 3; i++)
        learn(&b, 1000);
    assert_int_equal(b.factor, 1000);
    gx__beside_forget(&b);
    assert_int_equal(learn(&b, 1500), 0);
}

static void what_others_cannot_do_is_not_theirs(void **state)
{
    (void)state;
    struct gx_beside b = {0};
    for (int i = 0; i < 5; i++)
        learn(&b, 1100);
    static const double absurd[] = {0, 1, 799, 2001, 40000, 1e18};
    for (size_t i = 0; i < GXT_COUNT(absurd); i++)
        assert_false(gx__beside_learn(&b, absurd[i]));
    assert_int_equal(b.factor, 1100);
    assert_int_equal(learn(&b, 800), 1100);
    assert_int_equal(learn(&b, 2000), 1100);
}

/* One split in so many, for ever, where it stays bad; two such good ones end it. */
static void it_is_asked_again(void **state)
{
    (void)state;
    struct gx_beside b = {0};
    for (int i = 0; i < 5; i++)
        learn(&b, 1800);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(miss(&b, MISSED - 1), 1800);
        assert_int_equal(miss(&b, 1), 0);
        assert_int_equal(learn(&b, 1800), 1800);
    }
    assert_int_equal(miss(&b, MISSED), 0);
    assert_int_equal(learn(&b, 1050), 1800);
    assert_int_equal(miss(&b, MISSED), 0);
    assert_int_equal(learn(&b, 1040), 1050);
    assert_int_equal(miss(&b, MISSED - 1), 1050);
    assert_int_equal(learn(&b, 1050), 1050); /* a split begins the count anew */
    assert_int_equal(miss(&b, MISSED - 1), 1050);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_have_to_agree),
        cmocka_unit_test(what_others_cannot_do_is_not_theirs),
        cmocka_unit_test(it_is_asked_again),
    };
    return cmocka_run_group_tests_name("beside", tests, NULL, NULL);
}
