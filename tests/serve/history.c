/* SPDX-License-Identifier: Apache-2.0
 *
 * The history of gpuexec serve, over simulated days: which samples there are, how far apart they
 * are, and that they never exceed the room for them.
 */
#include "history.h"

#include <jansson.h>

#include "support/harness.h"

#define SECOND HISTORY_PERIOD_NS

static const char *const names[3] = {"cpu", "vulkan:\"0\"", "sim:a\\b"};

static json_t *json_of(history *h)
{
    json_error_t error;
    char *text = history_json(h);
    assert_non_null(text);
    json_t *json = json_loads(text, 0, &error);
    if (!json)
        fail_msg("%s in %.200s", error.text, text);
    free(text);
    return json;
}

static double number(const json_t *row, size_t column)
{
    return json_number_value(json_array_get(row, column));
}

static void add(history *h, uint64_t at_ns, size_t devices)
{
    json_int_t seconds = (json_int_t)(at_ns / SECOND);
    json_t *status =
        json_pack("{s:f, s:{s:I, s:I}, s:[]}", "uptime_s", (double)at_ns / SECOND, "stats",
                  "elements", (json_int_t)(1000 * at_ns / SECOND), "jobs_done", seconds, "devices");
    for (size_t i = 0; i < devices; i++)
        json_array_append_new(json_object_get(status, "devices"),
                              json_pack("{s:s, s:i}", "device", names[i], "elements", (int)i + 1));
    history_add(h, status);
    json_decref(status);
}

static void nothing_yet(void **state)
{
    (void)state;
    history *h = history_open();
    json_t *json = json_of(h);
    assert_int_equal(json_array_size(json_object_get(json, "samples")), 0);
    assert_int_equal(json_array_size(json_object_get(json, "columns")), 8);
    json_decref(json);
    history_close(h);
    history_close(NULL);
}

static void names_and_columns(void **state)
{
    (void)state;
    history *h = history_open();
    add(h, 5 * SECOND / 2, 2);
    add(h, 7 * SECOND / 2, 3); /* another device was opened */
    json_t *json = json_of(h), *devices = json_object_get(json, "devices");
    assert_int_equal(json_array_size(devices), 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(json_string_value(json_array_get(devices, i)), names[i]);
    json_t *row = json_array_get(json_object_get(json, "samples"), 0);
    assert_int_equal(json_array_size(row), 8 + 3);
    assert_true(number(row, 0) == 2.5);
    assert_true(number(row, 1) == 2500);
    assert_true(number(row, 2) == 2);
    assert_true(number(json_array_get(row, 9), 0) == 2);
    assert_true(number(json_array_get(row, 10), 0) == 0);
    json_decref(json);
    history_close(h);
}

/* The expected distance between samples of this age. */
static double step_at(double age_s)
{
    return age_s < 590 ? 1 : age_s < 3500 ? 10 : 120;
}

/* Two days, or a little more than one; each second arrives up to 0.2 s early or late. */
static void days(void **state)
{
    (void)state;
    const uint64_t end = (gxt_small() ? 25 : 48) * 3600;
    history *h = history_open();
    uint64_t seed = 7, last_ns = 0;
    for (uint64_t s = 1; s <= end; s++) {
        last_ns = s * SECOND + gxt_next(&seed) % (2 * SECOND / 5) - SECOND / 5;
        add(h, last_ns, 3);
    }
    json_t *json = json_of(h), *samples = json_object_get(json, "samples");
    size_t count = json_array_size(samples);
    double last = (double)last_ns / 1e9;
    assert_true(count > 1400 && count <= 600 + 360 + 720);
    assert_true(last - number(json_array_get(samples, count - 1), 0) < 0.001);
    assert_true(last - number(json_array_get(samples, 0), 0) > 23.5 * 3600);
    for (size_t i = 1; i < count; i++) {
        double before = number(json_array_get(samples, i - 1), 0),
               now = number(json_array_get(samples, i), 0), age = last - before,
               step = step_at(age);
        assert_true(now > before);
        if ((age > 610 && age < 3500) || age < 590 || age > 3800) /* not where tiers meet */
            assert_true(now - before > step - 1 && now - before < step + 1);
        assert_true(now - before < 121);
        assert_true(number(json_array_get(samples, i), 1) >=
                    number(json_array_get(samples, i - 1), 1));
    }
    json_decref(json);
    history_close(h);
}

/* Stopped by Ctrl-Z for an hour: later samples follow the earlier ones, of which fewer are kept. */
static void a_gap(void **state)
{
    (void)state;
    history *h = history_open();
    for (uint64_t s = 1; s <= 20; s++)
        add(h, s * SECOND, 1);
    add(h, 3620 * SECOND, 1);
    json_t *json = json_of(h), *samples = json_object_get(json, "samples");
    size_t count = json_array_size(samples);
    assert_true(count > 1 && count <= 21);
    assert_true(number(json_array_get(samples, 0), 0) == 1);
    assert_true(number(json_array_get(samples, count - 2), 0) <= 20);
    assert_true(number(json_array_get(samples, count - 1), 0) == 3620);
    json_decref(json);
    history_close(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_yet),
        cmocka_unit_test(names_and_columns),
        cmocka_unit_test(days),
        cmocka_unit_test(a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
