/* SPDX-License-Identifier: Apache-2.0
 *
 * Models as files: what is saved comes back to the bit, and whatever else is found there is
 * nothing.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/options.h"
#include "route/model.h"
#include "route/store.h"
#include "support/harness.h"

#define DAY 86400u

static struct gx_instance instance;
static char folder[] = "/tmp/gx-model-XXXXXX";
static uint64_t seed = 3;

static const struct gx_kind mul = {GX_MUL, GX_BLS12_381_FQ, GX_HOST_MEMORY, GX_PATH_AUTO, 0};
static const struct gx_kind add = {GX_ADD, GX_BN254_FR, GX_DEVICE_MEMORY, GX_PATH_DEVICE_LOCAL, 0};

static const struct gx_kind ntt = {GX_NTT, GX_BN254_FR, GX_HOST_MEMORY, GX_PATH_AUTO, 41};

static void configure(gx_config config)
{
    struct gx_error error = {""};
    memset(&instance, 0, sizeof instance);
    if (!config.cache_dir)
        config.cache_dir = folder;
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
}

static struct gx_model *open_model(void)
{
    struct gx_model *model = gx__model_open(&instance, "sim:x", "a machine, driver 1");
    assert_non_null(model);
    return model;
}

static double predict(const struct gx_model *model, const struct gx_kind *kind, double n)
{
    struct gx_prediction p;
    return gx__model_predict(model, kind, n, &p) ? p.ns : -1;
}

static size_t count_rows(struct gx_model *model)
{
    size_t count = 0;
    gx__model_rows(model, NULL, 0, &count);
    return count;
}

static void learn_some(struct gx_model *model)
{
    for (int i = 0; i < 40; i++) {
        gx__model_learn(model, &mul, 64u << i % 5, 1000 + gxt_next(&seed) % 1000);
        gx__model_learn(model, &add, 4096u << i % 3, 100000 + gxt_next(&seed) % 1000);
    }
    gx__model_learn(model, &ntt, 1 << 20, 5000000);
    gx__model_set_next_ns(model, 123.25);
}

/* The one file in the folder, or what is left of its name; false: there is none. */
static bool find_file(char *path, size_t size)
{
    bool found = false;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            assert_false(found);
            snprintf(path, size, "%s/%s", folder, e->d_name);
            found = true;
        }
    closedir(dir);
    return found;
}

static int empty_folder(void **state)
{
    (void)state;
    DIR *dir = opendir(folder);
    char path[512];
    for (struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.')
            unlink(path);
    }
    if (dir)
        closedir(dir);
    configure((gx_config){0});
    return 0;
}

static const struct gx_saved_model *read_saved(void)
{
    struct gx_store store;
    gx__store_init(&store, &instance, "sim:x", "a machine, driver 1");
    return gx__store_read(&instance, &store);
}

static void free_saved(const struct gx_saved_model *saved)
{
    gx__free(&instance.config.allocator, (void *)(uintptr_t)saved);
}

static void round_trip(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    assert_int_equal(count_rows(model), 0);
    learn_some(model);
    struct gx_model_row rows[16] = {{.n = 0}}, again[16] = {{.n = 0}};
    size_t count = 0, count_again = 0;
    gx__model_rows(model, rows, GXT_COUNT(rows), &count);
    assert_int_equal(count, 9);
    gx__model_close(model); /* saves */
    const struct gx_saved_model *saved = read_saved();
    assert_non_null(saved);
    model = open_model();
    gx__model_rows(model, again, GXT_COUNT(again), &count_again);
    assert_int_equal(count_again, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(again[i].age_s < 60);
        again[i].age_s = rows[i].age_s;
        assert_memory_equal(&rows[i], &again[i], sizeof rows[i]);
    }
    assert_true(gx__model_next_ns(model) == 123.25);
    char path[512];
    assert_true(find_file(path, sizeof path));
    assert_int_equal(unlink(path), 0);
    assert_true(gx__model_save(model));
    const struct gx_saved_model *second = read_saved();
    assert_non_null(second);
    assert_int_equal(saved->count, second->count);
    assert_memory_equal(saved, second, gx__saved_bytes(saved->count));
    gx__model_close(model);
    free_saved(saved);
    free_saved(second);
}

/* Nothing was learned since: a file that is gone is not written again. */
static void unchanged_is_not_saved(void **state)
{
    (void)state;
    char path[512];
    gx__model_close(open_model());
    assert_false(find_file(path, sizeof path));
    struct gx_model *model = open_model();
    learn_some(model);
    assert_true(gx__model_save(model));
    assert_true(find_file(path, sizeof path));
    unlink(path);
    gx__model_close(model);
    assert_false(find_file(path, sizeof path));
}

/* ---- damage ---- */

static uint8_t *read_bytes(const char *path, size_t *size)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    *size = (size_t)st.st_size;
    uint8_t *bytes = gxt_alloc(*size);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void write_bytes(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void damaged_files(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    learn_some(model);
    gx__model_close(model);
    char path[512];
    assert_true(find_file(path, sizeof path));
    size_t size;
    uint8_t *bytes = read_bytes(path, &size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 1u << i % 8;
        write_bytes(path, bytes, size);
        bytes[i] ^= 1u << i % 8;
        model = open_model();
        if (count_rows(model) != 0)
            fail_msg("byte %zu of %zu may be anything", i, size);
        gx__model_close(model);
        write_bytes(path, bytes, i);
        model = open_model();
        if (count_rows(model) != 0)
            fail_msg("%zu of %zu bytes are enough", i, size);
        gx__model_close(model);
    }
    write_bytes(path, bytes, size);
    model = open_model();
    assert_int_equal(count_rows(model), 9);
    gx__model_close(model);
    free(bytes);
}

/* Bytes that a checksum was made of on purpose: none, or a model like any other. */
static void hostile_data(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    learn_some(model);
    gx__model_close(model);
    const struct gx_saved_model *saved = read_saved();
    assert_non_null(saved);
    size_t size = gx__saved_bytes(saved->count), refused = 0;
    uint8_t *bytes = gxt_alloc(size);
    for (size_t i = 0; i < size * 8; i++) {
        memcpy(bytes, saved, size);
        bytes[i / 8] ^= 1u << i % 8;
        const struct gx_saved_model *parsed = gx__saved_parse(bytes, size);
        refused += !parsed;
        if (!parsed)
            continue;
        configure((gx_config){.cache_dir = "none"});
        model = open_model();
        gx__model_take(model, parsed, gx__date_s());
        gx__model_learn(model, &mul, 100, 500);
        for (uint64_t n = 0; n < 1000000000; n = n * 3 + 1) {
            double ns = predict(model, &mul, (double)n);
            assert_true(ns >= -1 && ns <= GX_PREDICTION_MAX);
        }
        gx__model_close(model);
    }
    assert_true(refused > 0 && refused < size * 8);
    for (size_t i = 0; i < size; i++) {
        memcpy(bytes, saved, size);
        assert_null(gx__saved_parse(bytes, i));
    }
    struct gx_saved_point *point = &((struct gx_saved_model *)bytes)->point[0];
    const float wrong[] = {NAN, INFINITY, -1, 0, 1e16f};
    for (size_t i = 0; i < GXT_COUNT(wrong); i++) {
        memcpy(bytes, saved, size);
        assert_non_null(gx__saved_parse(bytes, size));
        point->ns[0] = wrong[i];
        assert_null(gx__saved_parse(bytes, size));
    }
    for (uint32_t i = 0; i < saved->count; i++) { /* a shape only where there are any */
        memcpy(bytes, saved, size);
        bool transform = point[i].op == GX_NTT;
        point[i].size_class = 1;
        assert_int_equal(gx__saved_parse(bytes, size) != NULL, transform);
        point[i].size_class = 2 * 29; /* the field has 2^28 */
        assert_null(gx__saved_parse(bytes, size));
    }
    memcpy(bytes, saved, size);
    ((struct gx_saved_model *)bytes)->next_ns = NAN;
    assert_null(gx__saved_parse(bytes, size));
    free(bytes);
    configure((gx_config){0});
    free_saved(saved);
}

/* Of another device, driver or setting: it is another file, and it is not believed under
 * this one's name either. */
static void foreign_files(void **state)
{
    (void)state;
    static const struct {
        gx_config config;
        const char *device, *description;
    } others[] = {{{0}, "sim:y", "a machine, driver 1"},
                  {{0}, "sim:x", "a machine, driver 2"},
#ifdef __x86_64__ /* elsewhere there is nothing but portable */
                  {{.cpumask = "portable"}, "sim:x", "a machine, driver 1"},
#endif
                  {{.threads = 1}, "sim:x", "a machine, driver 1"}};
    for (size_t i = 0; i < GXT_COUNT(others); i++) {
        empty_folder(NULL);
        struct gx_model *model = open_model();
        learn_some(model);
        gx__model_close(model);
        char path[512], theirs[512];
        assert_true(find_file(path, sizeof path));
        struct gx_store store;
        configure(others[i].config);
        gx__store_init(&store, &instance, others[i].device, others[i].description);
        snprintf(theirs, sizeof theirs, "%s/%s", folder, store.name);
        assert_string_not_equal(theirs, path);
        assert_int_equal(rename(path, theirs), 0);
        model = gx__model_open(&instance, others[i].device, others[i].description);
        assert_int_equal(count_rows(model), 0);
        gx__model_close(model);
    }
}

static void nowhere_to_write(void **state)
{
    (void)state;
    char file[600];
    snprintf(file, sizeof file, "%s/file", folder);
    write_bytes(file, (const uint8_t *)"x", 1);
    strcat(file, "/below");
    configure((gx_config){.cache_dir = file});
    struct gx_model *model = open_model();
    learn_some(model);
    assert_false(gx__model_save(model));
    assert_true(predict(model, &mul, 64) > 0);
    gx__model_close(model);
    configure((gx_config){.cache_dir = "none"});
    model = open_model();
    learn_some(model);
    assert_true(gx__model_save(model)); /* none is wanted */
    gx__model_close(model);
}

/* What stands there under the file's name and is no file of ours stays as it is. */
static void not_replaced(void **state)
{
    (void)state;
    char path[512], target[600];
    struct gx_store store;
    struct stat st;
    gx__store_init(&store, &instance, "sim:x", "a machine, driver 1");
    snprintf(path, sizeof path, "%s/%s", folder, store.name);
    snprintf(target, sizeof target, "%s.target", path);
    for (int kind = 0; kind < 3; kind++) {
        if (kind < 2)
            assert_int_equal(symlink(target, path), 0);
        else
            assert_int_equal(mkfifo(path, 0600), 0);
        if (kind == 1)
            write_bytes(target, (const uint8_t *)"mine", 4);
        struct gx_model *model = open_model();
        learn_some(model);
        assert_false(gx__model_save(model));
        gx__model_close(model);
        assert_int_equal(lstat(path, &st), 0);
        assert_true(kind < 2 ? S_ISLNK(st.st_mode) : S_ISFIFO(st.st_mode));
        assert_int_equal(stat(target, &st), kind == 0 ? -1 : 0);
        assert_true(kind == 0 || st.st_size == 4);
        assert_int_equal(unlink(path), 0);
    }
}

/* ---- age, and others ---- */

static void ageing(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    gx__model_learn(model, &mul, 64, 500);
    gx__model_close(model);
    const struct gx_saved_model *saved = read_saved();
    assert_non_null(saved);
    configure((gx_config){.cache_dir = "none"});
    static const struct {
        int64_t days;
        size_t rows;
    } cases[] = {{0, 1}, {29, 1}, {31, 0}, {400, 0}, {-2, 0}};
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        model = open_model();
        uint32_t now = (uint32_t)(saved->point[0].date + cases[i].days * DAY);
        gx__model_take(model, saved, now);
        if (count_rows(model) != cases[i].rows)
            fail_msg("after %lld days", (long long)cases[i].days);
        gx__model_close(model);
    }
    struct gx_saved_model *older = gxt_alloc(gx__saved_bytes(1));
    memcpy(older, saved, gx__saved_bytes(1));
    older->point[0].date -= 3 * DAY;
    model = open_model();
    gx__model_take(model, older, gx__date_s());
    struct gx_model_row row = {0};
    size_t count = 0;
    gx__model_rows(model, &row, 1, &count);
    assert_true(row.age_s >= 3 * DAY && row.age_s < 3 * DAY + 60);
    struct gx_prediction p;
    assert_true(gx__model_predict(model, &mul, 64, &p));
    /* The younger one counts, whichever comes first. */
    older->point[0].ns[0] = 900;
    gx__model_take(model, saved, gx__date_s());
    assert_true(predict(model, &mul, 64) == 500);
    gx__model_take(model, older, gx__date_s());
    assert_true(predict(model, &mul, 64) == 500);
    gx__model_close(model);
    free(older);
    configure((gx_config){0});
    free_saved(saved);
}

/* Who saves last keeps what others saved meanwhile, but for what was forgotten. */
static void one_after_the_other(void **state)
{
    (void)state;
    struct gx_model *first = open_model(), *second = open_model();
    gx__model_learn(first, &mul, 64, 500);
    gx__model_learn(second, &add, 64, 700);
    gx__model_close(first);
    gx__model_close(second);
    first = open_model();
    assert_true(predict(first, &mul, 64) == 500);
    assert_true(predict(first, &add, 64) == 700);
    gx__model_forget(first, &mul);
    assert_true(gx__model_save(first));
    assert_true(predict(first, &mul, 64) == -1);
    gx__model_forget(first, &add);
    gx__model_learn(first, &mul, 64, 300);
    gx__model_close(first);
    first = open_model();
    assert_int_equal(count_rows(first), 1);
    assert_true(predict(first, &mul, 64) == 300);
    gx__model_close(first);
}

static _Noreturn void save_many_times(int process)
{
    int ok = 1;
    for (int i = 0; i < 60; i++) {
        struct gx_model *model = gx__model_open(&instance, "sim:x", "a machine, driver 1");
        for (int n = 0; model && n <= i; n++)
            gx__model_learn(model, n % 2 ? &mul : &add, 64u << (process + n) % 19, 1000);
        ok &= model && gx__model_save(model);
        gx__model_close(model);
    }
    _exit(!ok);
}

static void processes_at_once(void **state)
{
    (void)state;
    pid_t children[4];
    for (int i = 0; i < (int)GXT_COUNT(children); i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (!children[i])
            save_many_times(i);
    }
    char path[512];
    bool there = false;
    for (size_t i = 0; i < GXT_COUNT(children);) {
        /* From the first file on there is always a whole one. */
        const struct gx_saved_model *saved = read_saved();
        assert_true(saved || !there);
        there |= saved != NULL;
        free_saved(saved);
        int status;
        if (waitpid(children[i], &status, WNOHANG) == children[i]) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            i++;
        }
    }
    assert_true(find_file(path, sizeof path)); /* one, and nothing temporary */
    struct gx_model *model = open_model();
    assert_true(count_rows(model) >= 19);
    gx__model_close(model);
}

static int enter(void **state)
{
    (void)state;
    gxt_clear_environment();
    return mkdtemp(folder) ? 0 : -1;
}

static int leave(void **state)
{
    empty_folder(state);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(round_trip, empty_folder),
        cmocka_unit_test_setup(unchanged_is_not_saved, empty_folder),
        cmocka_unit_test_setup(damaged_files, empty_folder),
        cmocka_unit_test_setup(hostile_data, empty_folder),
        cmocka_unit_test_setup(foreign_files, empty_folder),
        cmocka_unit_test_setup(nowhere_to_write, empty_folder),
        cmocka_unit_test_setup(not_replaced, empty_folder),
        cmocka_unit_test_setup(ageing, empty_folder),
        cmocka_unit_test_setup(one_after_the_other, empty_folder),
        cmocka_unit_test_setup(processes_at_once, empty_folder),
    };
    return cmocka_run_group_tests_name("store", tests, enter, leave);
}
