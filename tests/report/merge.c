/* SPDX-License-Identifier: Apache-2.0
 *
 * Merging compared with a slow version that looks up every cell in the rows, over random files:
 * every row is in its place, nothing is where there was no row, the order of the rows does not
 * matter, winners and crossovers match the times, and a filter leaves what it names. Threshold
 * scans of two backends have the same winners in either order.
 */
#include "support/harness.h"

#include <math.h>
#include <stdio.h>

#include "report/text.h"

enum { FILES = 3, ROWS_MAX = 60 };

static const char *const devices[] = {"cpu", "vulkan:0", "vulkan:1"};
static const char *const fields[] = {"bls12-381-fq", "u32"};
static const char *const ops[] = {"add", "mul"};
static const char *const place_names[] = {SCAN_HOST, SCAN_RESIDENT};

static scan_row random_row(uint64_t *state)
{
    scan_row r = scan_row_empty();
    strcpy(r.device, devices[gxt_next(state) % 3]);
    strcpy(r.field, fields[gxt_next(state) % 2]);
    strcpy(r.op, ops[gxt_next(state) % 2]);
    strcpy(r.place, place_names[gxt_next(state) % 2]);
    r.elements = (double)(1 << gxt_next(state) % 5);
    strcpy(r.state, gxt_next(state) % 5 ? SCAN_OK : SCAN_FAILED);
    if (!strcmp(r.state, SCAN_OK)) {
        r.median_us = 1 + (double)(gxt_next(state) % 50); /* equal ones among them */
        r.p90_us = r.max_us = r.median_us + 1;
        r.min_us = r.median_us / 2;
        r.samples = 5;
        if (gxt_next(state) % 2) {
            r.low_us = r.median_us * 0.9;
            r.high_us = r.median_us * 1.1;
        }
    }
    return r;
}

static bool there(const scan_section *s, const scan_row *row)
{
    for (size_t i = 0; i < s->count; i++)
        if (scan_same_cell(&s->rows[i], row))
            return true;
    return false;
}

static void random_file(uint64_t *state, scan_file *file, int number)
{
    scan_section *s = gxt_alloc(sizeof *s);
    memset(s, 0, sizeof *s);
    *file = (scan_file){.sections = s, .count = 1};
    snprintf(s->label, sizeof s->label, "scan%d", number % 2); /* one label twice */
    snprintf(s->file, sizeof s->file, "%d.csv", number);
    snprintf(s->cpu, sizeof s->cpu, "CPU %d", (int)(gxt_next(state) % 2));
    strcpy(s->os, "Linux");
    strcpy(s->library, "0.1.0");
    size_t rows = gxt_next(state) % ROWS_MAX;
    for (size_t i = 0; i < rows; i++) {
        scan_row row = random_row(state);
        row.line = i + 10;
        if (!there(s, &row))
            assert_true(scan_append(s, &row));
    }
    s->cells = (double)s->count;
}

/* The row of a cell, by looking at all of them. */
static const scan_row *slow_find(const scan_section *s, const merge_group *g, const char *device,
                                 double size)
{
    for (size_t i = 0; i < s->count; i++) {
        const scan_row *r = &s->rows[i];
        if (r->elements == size && !strcmp(r->device, device) && !strcmp(r->field, g->field) &&
            !strcmp(r->op, g->op) && !strcmp(r->place, g->place))
            return r;
    }
    return NULL;
}

static void check_winner(const merge_group *g, size_t size)
{
    const merge_winner *w = &g->winners[size];
    size_t measured = 0;
    double least = INFINITY;
    for (size_t i = 0; i < g->nseries; i++)
        if (merge_has(&g->series[i], size)) {
            measured++;
            least = fmin(least, g->series[i].cells[size]->median_us);
        }
    if (measured < 2) {
        assert_int_equal(w->series, -1);
        return;
    }
    const scan_row *first = g->series[w->series].cells[size];
    const scan_row *second = g->series[w->second].cells[size];
    assert_true(w->series != w->second && first->median_us == least);
    for (size_t i = 0; i < g->nseries; i++)
        if ((int)i != w->series && merge_has(&g->series[i], size))
            assert_true(g->series[i].cells[size]->median_us >= second->median_us);
    assert_true(w->ratio == second->median_us / first->median_us);
    assert_int_equal(w->tie, second->median_us <= 1.005 * first->median_us);
    if (isnan(first->high_us) || isnan(second->low_us))
        assert_int_equal(w->clear, -1);
    else
        assert_int_equal(w->clear, first->high_us < second->low_us);
}

/* What the times of a pair say, counted over the sizes measured on both. */
typedef struct pair_facts {
    size_t common, changes, before; /* changes: of who is faster; before: `fast` is not */
    bool last;                      /* `fast` is faster at the largest */
} pair_facts;

static pair_facts facts_of(const merge_group *g, size_t slow, size_t fast)
{
    pair_facts f = {0};
    for (size_t i = 0; i < g->nsizes; i++) {
        if (!merge_has(&g->series[slow], i) || !merge_has(&g->series[fast], i))
            continue;
        bool faster =
            1.005 * g->series[fast].cells[i]->median_us < g->series[slow].cells[i]->median_us;
        f.changes += f.common && faster != f.last;
        f.before += !faster;
        f.last = faster;
        f.common++;
    }
    return f;
}

/* Both directions of every pair with a common size, once each. */
static void check_crosses(const merge_group *g)
{
    size_t wanted = 0;
    for (size_t i = 0; i < g->nseries; i++)
        for (size_t k = 0; k < g->nseries; k++) {
            if (i == k || !facts_of(g, i, k).common)
                continue;
            size_t found = 0;
            wanted++;
            for (size_t c = 0; c < g->ncrosses; c++)
                found += g->crosses[c].slow == (int)i && g->crosses[c].fast == (int)k;
            assert_int_equal(found, 1);
        }
    assert_int_equal(g->ncrosses, wanted);
    for (size_t c = 0; c < g->ncrosses; c++) {
        const merge_cross *x = &g->crosses[c], *back = &g->crosses[c ^ 1];
        pair_facts f = facts_of(g, (size_t)x->slow, (size_t)x->fast);
        assert_true(back->slow == x->fast && back->fast == x->slow);
        assert_int_equal(x->even.crossings, f.changes);
        assert_int_equal(x->even.found.kind, !f.last    ? CROSS_NEVER
                                             : f.before ? CROSS_FROM
                                                        : CROSS_ALWAYS);
    }
}

static size_t check_group(const merge_group *g)
{
    check_crosses(g);
    size_t cells = 0;
    for (size_t i = 0; i < g->nsizes; i++) {
        assert_true(!i || g->sizes[i - 1] < g->sizes[i]);
        check_winner(g, i);
        for (size_t k = 0; k < g->nseries; k++) {
            const merge_series *s = &g->series[k];
            assert_ptr_equal(s->cells[i], slow_find(s->section, g, s->device, g->sizes[i]));
            cells += s->cells[i] != NULL;
        }
    }
    for (size_t i = 0; i < g->nseries; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(g->series[i].name, g->series[k].name);
    return cells;
}

/* Number of cells over all panels; each row must occur once. */
static size_t check_all(const merge *m)
{
    size_t cells = 0;
    for (size_t i = 0; i < m->npanels; i++)
        for (size_t k = 0; k < m->panels[i].ngroups; k++)
            cells += check_group(&m->panels[i].groups[k]);
    return cells;
}

static const merge_group *find_like(const merge *m, const merge_group *g, size_t panel)
{
    for (size_t i = 0; i < m->panels[panel].ngroups; i++) {
        const merge_group *x = &m->panels[panel].groups[i];
        if (!strcmp(x->field, g->field) && !strcmp(x->op, g->op) && !strcmp(x->place, g->place))
            return x;
    }
    return NULL;
}

/* The same rows in reverse order: the same sizes and the same best times. */
static void check_order(const scan_file *files, const merge *m)
{
    char err[SCAN_ERROR_SIZE];
    scan_section sections[FILES];
    scan_file reversed[FILES];
    merge turned;
    for (size_t f = 0; f < FILES; f++) {
        const scan_section *s = files[f].sections;
        sections[f] = *s;
        sections[f].rows = NULL;
        sections[f].count = sections[f].room = 0;
        for (size_t i = s->count; i-- > 0;)
            assert_true(scan_append(&sections[f], &s->rows[i]));
        reversed[f] = (scan_file){.sections = &sections[f], .count = 1};
    }
    assert_true(merge_make(reversed, FILES, true, NULL, &turned, err));
    assert_int_equal(turned.npanels, m->npanels);
    for (size_t p = 0; p < turned.npanels; p++) {
        assert_int_equal(turned.panels[p].ngroups, m->panels[p].ngroups);
        for (size_t i = 0; i < turned.panels[p].ngroups; i++) {
            const merge_group *a = &turned.panels[p].groups[i], *b = find_like(m, a, p);
            assert_non_null(b);
            assert_int_equal(a->nsizes, b->nsizes);
            assert_int_equal(a->nseries, b->nseries);
            for (size_t k = 0; k < a->nsizes; k++) {
                assert_true(a->sizes[k] == b->sizes[k]);
                assert_true(a->winners[k].ratio == b->winners[k].ratio ||
                            (isnan(a->winners[k].ratio) && isnan(b->winners[k].ratio)));
            }
        }
    }
    merge_free(&turned);
    for (size_t f = 0; f < FILES; f++)
        free(sections[f].rows);
}

/* By device, by kind of device, by file, and a device of a file. */
static void check_filters(const scan_file *files, const merge *all)
{
    static const char *const only[] = {"cpu", "VULKAN", "vulkan:1, cpu", "scan1", "cpu [scan0]"};
    char err[SCAN_ERROR_SIZE];
    for (size_t i = 0; i < GXT_COUNT(only); i++) {
        merge some;
        merge_filter filter = {.only = only[i]};
        size_t cells = 0, wanted = 0;
        for (size_t k = 0; k < all->panels[0].ngroups; k++) {
            const merge_group *g = &all->panels[0].groups[k];
            for (size_t n = 0; n < g->nsizes; n++)
                for (size_t j = 0; j < g->nseries; j++)
                    wanted += merge_is_kept(&filter, &g->series[j]) && g->series[j].cells[n];
        }
        if (merge_make(files, FILES, false, &filter, &some, err)) {
            cells = check_all(&some);
            assert_true(cells > 0);
        } else
            assert_non_null(strstr(err, "there are: "));
        assert_int_equal(cells, wanted);
        merge_free(&some);
    }
}

static void as_the_slow_version(void **unused)
{
    (void)unused;
    uint64_t state = 3;
    char err[SCAN_ERROR_SIZE];
    for (int round = 0; round < (gxt_small() ? 50 : 400); round++) {
        scan_file files[FILES];
        size_t rows = 0;
        merge apart, one;
        for (int i = 0; i < FILES; i++) {
            random_file(&state, &files[i], i);
            rows += files[i].sections->count;
        }
        assert_true(merge_make(files, FILES, true, NULL, &apart, err));
        assert_true(merge_make(files, FILES, false, NULL, &one, err));
        assert_int_equal(one.npanels, 1);
        assert_int_equal(check_all(&apart), rows);
        assert_int_equal(check_all(&one), rows);
        if (one.panels[0].ngroups)
            check_filters(files, &one);
        merge_free(&one);
        check_order(files, &apart);
        merge_free(&apart);
        for (int i = 0; i < FILES; i++)
            scan_free(&files[i]);
    }
}

/* ---- names, and limits ---- */

/* A file with so many devices, "d0" to "d99"; at each of four sizes the order of speed differs. */
static void file_of(scan_file *file, scan_section *s, size_t ndevices)
{
    *s = (scan_section){.label = "f", .file = "f.csv", .cells = NAN};
    for (size_t d = 0; d < ndevices; d++)
        for (size_t n = 1; n <= 4; n++) {
            scan_row r = scan_row_empty();
            snprintf(r.device, sizeof r.device, "d%zu", d);
            strcpy(r.field, "u32");
            strcpy(r.op, "add");
            strcpy(r.place, SCAN_HOST);
            strcpy(r.state, SCAN_OK);
            r.elements = (double)n;
            r.median_us = (double)(1 + (d * 7 + n * 13) % 50);
            assert_true(scan_append(s, &r));
        }
    *file = (scan_file){.sections = s, .count = 1};
}

/* Files of one given name are parts of one scan: a series goes on in the next one, and a cell of
 * both is refused. Without a name they are two scans. */
static void parts_of_one_scan(void **unused)
{
    (void)unused;
    scan_file files[2];
    scan_section sections[2];
    char err[SCAN_ERROR_SIZE];
    merge m;
    for (int named = 0; named < 2; named++) {
        for (int i = 0; i < 2; i++) {
            file_of(&files[i], &sections[i], 2);
            sections[i].foreign = sections[i].suite = true;
            sections[i].named = named;
            snprintf(sections[i].file, sizeof sections[i].file, "%d.csv", i);
            for (size_t k = 0; k < sections[i].count; k++)
                sections[i].rows[k].elements += 10 * i;
        }
        assert_true(merge_make(files, 2, true, NULL, &m, err));
        assert_int_equal(m.npanels, 1); /* machines of one label */
        assert_string_equal(m.panels[0].label, "f");
        const merge_group *g = &m.panels[0].groups[0];
        assert_int_equal(g->nseries, named ? 2 : 4);
        assert_string_equal(g->series[1].name, named ? "d1" : "d1 [f]");
        assert_int_equal(g->nsizes, 8);
        for (size_t k = 0; k < 8; k++)
            assert_int_equal(merge_has(&g->series[1], k), named || k < 4);
        merge_free(&m);
        sections[1].rows[0].elements = sections[0].rows[0].elements;
        assert_int_equal(merge_make(files, 2, true, NULL, &m, err), !named);
        if (named)
            assert_string_equal(
                err, "1.csv:0: another file that is named f has this cell, too: name them apart");
        merge_free(&m);
        for (int i = 0; i < 2; i++)
            free(sections[i].rows);
    }
}

/* A CPU does not win over itself with one thread, nor do they cross. */
static void one_thread_is_the_same_cpu(void **unused)
{
    (void)unused;
    static const char *const devices_of[] = {"cpu, 1 thread", "cpu", "vulkan:0"};
    scan_section section = {.label = "f", .file = "f.csv", .cells = NAN};
    for (size_t i = 0; i < 5; i++) { /* the GPU has no second size */
        scan_row r = scan_row_empty();
        snprintf(r.device, sizeof r.device, "%s", devices_of[i % 3]);
        strcpy(r.field, "u32");
        strcpy(r.op, "add");
        strcpy(r.place, SCAN_HOST);
        strcpy(r.state, SCAN_OK);
        r.elements = i < 3 ? 1 : 2;
        r.median_us = (double)(5 - i);
        assert_true(scan_append(&section, &r));
    }
    scan_file file = {.sections = &section, .count = 1};
    char err[SCAN_ERROR_SIZE];
    merge m;
    assert_true(merge_make(&file, 1, true, NULL, &m, err));
    const merge_group *g = &m.panels[0].groups[0];
    assert_int_equal(g->winners[0].series, 2);
    assert_int_equal(g->winners[0].second, 1);
    assert_int_equal(g->winners[1].series, -1);
    assert_int_equal(g->ncrosses, 4);
    assert_int_equal(g->base, 1);
    merge_free(&m);
    free(section.rows);
}

static void filters_by_name(void **unused)
{
    (void)unused;
    static const struct {
        merge_filter filter;
        size_t series, crosses; /* 0: refused */
        const char *message;
    } cases[] = {
        {{NULL, NULL}, 3, 6, ""},
        {{"d0", NULL}, 1, 0, ""},
        {{" D2 ,d0", NULL}, 2, 2, ""},
        {{"f", NULL}, 3, 6, ""},
        {{"d0,d1", "d1,d2"}, 0, 0, "--between leaves no two series; there are: d0, d1, d2"},
        {{NULL, "d2,d0"}, 2, 2, ""},
        {{NULL, "d1,f"}, 3, 4, ""},
        {{NULL, "f,f"}, 3, 6, ""},
        {{NULL, "d1,d1"}, 0, 0, "--between leaves no two series"},
        {{"d", NULL}, 0, 0, "--only: there is no 'd'; there are: d0, d1, d2"},
        {{"", NULL}, 0, 0, "--only leaves no series"},
        {{NULL, "d0,x"}, 0, 0, "--between: there is no 'x'"},
    };
    scan_section section;
    scan_file file;
    file_of(&file, &section, 3);
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        char err[SCAN_ERROR_SIZE];
        merge m;
        bool ok = merge_make(&file, 1, false, &cases[i].filter, &m, err);
        assert_int_equal(ok, cases[i].series > 0);
        if (ok) {
            assert_int_equal(m.panels[0].groups[0].nseries, cases[i].series);
            assert_int_equal(m.panels[0].groups[0].ncrosses, cases[i].crosses);
        } else if (strncmp(err, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("%s", err);
        merge_free(&m);
    }
    free(section.rows);
}

/* ---- threshold scans of two backends ---- */

typedef struct expected_winner {
    const char *series, *second; /* NULL: nobody */
    bool tie;
} expected_winner;

static void check_backends(const scan_file *files, const merge_filter *filter,
                           const expected_winner *wanted, size_t crosses)
{
    char err[SCAN_ERROR_SIZE];
    merge m;
    if (!merge_make(files, 2, true, filter, &m, err))
        fail_msg("%s", err);
    assert_int_equal(m.npanels, 1);
    assert_string_equal(m.panels[0].label, "windows");
    const merge_group *g = &m.panels[0].groups[0];
    assert_int_equal(g->ncrosses, crosses);
    for (size_t i = 0; i < g->nsizes; i++) {
        const merge_winner *w = &g->winners[i];
        assert_string_equal(g->series[w->series].name, wanted[i].series);
        assert_string_equal(g->series[w->second].name, wanted[i].second);
        assert_int_equal(w->tie, wanted[i].tie);
    }
    merge_free(&m);
}

/* The file names say which backend it is; a CPU is not compared with itself, and equal times are a
 * tie, whichever file comes first. */
static void backends_in_either_order(void **unused)
{
    (void)unused;
    static const char gles[] = "size,device,duration_ms\n1,cpu,1\n1,gpu,7\n2,cpu,2\n2,gpu,3\n"
                               "3,cpu,5\n3,gpu,4\n";
    static const char dx12[] = "size,device,duration_ms\n1,cpu,1\n1,gpu,7\n2,cpu,3\n2,gpu,2\n"
                               "3,cpu,6\n3,gpu,2\n";
    static const expected_winner all[] = {
        {"cpu (dx12)", "dx12", false}, {"cpu (gles)", "dx12", true}, {"dx12", "gles", false}};
    static const expected_winner two[] = {
        {"dx12", "gles", true}, {"dx12", "gles", false}, {"dx12", "gles", false}};
    static const merge_filter between = {.between = "gles,dx12"};
    for (int turn = 0; turn < 2; turn++) {
        char err[SCAN_ERROR_SIZE];
        scan_file files[2];
        assert_true(
            scan_parse("data/windows_gles_1.csv", gles, sizeof gles - 1, 0, &files[turn], err));
        assert_true(scan_parse("windows-DX12.csv", dx12, sizeof dx12 - 1, 0, &files[!turn], err));
        for (int i = 0; i < 2; i++)
            scan_seeds_use_label(files[i].sections);
        check_backends(files, NULL, all, 10); /* both directions of every pair but the CPUs' */
        check_backends(files, &between, two, 2);
        for (int i = 0; i < 2; i++) /* a name that is a backend's and a file's is the backend's */
            snprintf(files[i].sections->label, sizeof files[i].sections->label, "%s",
                     i == turn ? "gles" : "dx12");
        check_backends(files, &between, two, 2);
        for (int i = 0; i < 2; i++)
            scan_free(&files[i]);
    }
}

/* What a label does not say, or says twice, is not guessed; what the columns say stays. */
static void labels_without_a_backend(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *text, *os, *cpu, *gpu;
    } cases[] = {
        {"windows_gles_5samples.csv", "size,cpu us,gpu us\n1,1,2\n", "windows", "cpu (gles)",
         "gles"},
        {"gles-dx12.csv", "size,cpu us,gpu us\n1,1,2\n", "", "cpu", "gpu"},
        {"gles-gles.csv", "size,cpu us,gpu us\n1,1,2\n", "", "cpu (gles)", "gles"},
        {"angles.csv", "size,cpu us,gpu us\n1,1,2\n", "", "cpu", "gpu"},
        {"linux_gles.csv", "size,cpu us,dx12 us\n1,1,2\n", "linux", "cpu", "dx12"},
        {"linux_gles.csv", "os,size,cpu us,gpu us\nwsl,1,1,2\n", "wsl", "cpu", "gpu"},
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        char err[SCAN_ERROR_SIZE];
        scan_file file;
        assert_true(scan_parse(cases[i].name, cases[i].text, strlen(cases[i].text), 0, &file, err));
        scan_seeds_use_label(file.sections);
        assert_string_equal(file.sections->os, cases[i].os);
        assert_string_equal(file.sections->rows[0].device, cases[i].cpu);
        assert_string_equal(file.sections->rows[1].device, cases[i].gpu);
        scan_free(&file);
    }
}

/* A file may have any number of devices: not every two of a thousand are compared. */
static void many_series(void **unused)
{
    (void)unused;
    for (size_t n = MERGE_PAIRS_MAX; n <= MERGE_PAIRS_MAX + 1; n++) {
        char err[SCAN_ERROR_SIZE];
        scan_section section;
        scan_file file;
        merge m;
        merge_filter two = {.between = "d7,d9"};
        file_of(&file, &section, n);
        assert_true(merge_make(&file, 1, false, NULL, &m, err));
        bool all = n == MERGE_PAIRS_MAX;
        assert_int_equal(m.panels[0].groups[0].ncrosses, all ? n * (n - 1) : 2 * (n - 1));
        assert_int_equal(m.nnotes, !all);
        merge_free(&m);
        assert_true(merge_make(&file, 1, false, &two, &m, err));
        assert_int_equal(m.panels[0].groups[0].ncrosses, 2);
        assert_int_equal(m.nnotes, 0);
        merge_free(&m);
        free(section.rows);
    }
}

/* ---- without memory ---- */

/* The allocation that fails, counted from now; -1: none. */
static long failing = -1;

static bool fails(void)
{
    return failing >= 0 && failing-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

/* Reads, merges and prints; the k-th allocation fails. */
static bool use_without_memory(long k, const merge_filter *filter)
{
    static const char text[] = "OS,Backend,Size,CPU us,GPU us\nlinux,gl,1,2,3\nwsl,gl,1,2,3\n"
                               "linux,vulkan,1,2,3\nlinux,gl,2,5,3\nwsl,gl,2,,3\n";
    char err[SCAN_ERROR_SIZE] = "", *printed;
    size_t size;
    scan_file file;
    merge m = {0};
    FILE *out = open_memstream(&printed, &size);
    failing = k;
    bool read = scan_parse("f", text, sizeof text - 1, 0, &file, err);
    bool merged = read && merge_make(&file, 1, true, filter, &m, err);
    bool ok = merged && text_put(out, &m, TEXT_MARKDOWN, "t");
    failing = -1;
    if (!merged)
        assert_non_null(strstr(err, "out of memory"));
    merge_free(&m);
    scan_free(&file);
    fclose(out);
    free(printed);
    return ok;
}

static void every_allocation_may_fail(void **unused)
{
    (void)unused;
    static const merge_filter filters[] = {
        {NULL, NULL}, {"gl,vulkan", NULL}, {NULL, "gl,cpu (gl)"}};
    for (size_t i = 0; i < GXT_COUNT(filters); i++) {
        long k = 0;
        while (!use_without_memory(k, &filters[i]))
            k++;
        assert_true(k > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_slow_version),
                                       cmocka_unit_test(filters_by_name),
                                       cmocka_unit_test(parts_of_one_scan),
                                       cmocka_unit_test(one_thread_is_the_same_cpu),
                                       cmocka_unit_test(backends_in_either_order),
                                       cmocka_unit_test(labels_without_a_backend),
                                       cmocka_unit_test(many_series),
                                       cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
