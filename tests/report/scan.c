/* SPDX-License-Identifier: Apache-2.0
 *
 * Scan files: written as documented, read back unchanged, and rejected with a line number for every
 * possible error. Also the statistics behind the numbers.
 */
#include "support/harness.h"

#include <math.h>
#include <stdio.h>

#include "measure.h"
#include "report/csv.h"
#include "report/scan.h"

#ifndef GXT_DATA
#error "GXT_DATA: the folder of the test files"
#endif

static char *slurp(const char *path, size_t *size)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    char *text = gxt_alloc(1 << 20);
    *size = fread(text, 1, (1 << 20) - 1, in);
    text[*size] = 0;
    fclose(in);
    return text;
}

static void written_as_it_was(void **unused)
{
    (void)unused;
    size_t size, written_size;
    char *text = slurp(GXT_DATA "/server.csv", &size), *written, err[SCAN_ERROR_SIZE];
    scan_file file;
    assert_true(scan_load(GXT_DATA "/server.csv", 0, &file, err));
    assert_int_equal(file.count, 1);
    assert_int_equal(file.sections[0].count, 56);
    assert_string_equal(file.sections[0].label, "server");
    assert_int_equal(file.whole, size);
    FILE *out = open_memstream(&written, &written_size);
    scan_put_head(out, &file.sections[0]);
    for (size_t i = 0; i < file.sections[0].count; i++)
        scan_put_row(out, &file.sections[0].rows[i]);
    fclose(out);
    assert_string_equal(written, text);
    free(written);
    free(text);
    scan_free(&file);
}

/* Text that a spreadsheet would evaluate is marked in the file, and read back unchanged. */
static void no_formulas(void **unused)
{
    (void)unused;
    static const char *const texts[][2] = {
        {"=1+1", "'=1+1"},
        {"+1", "'+1"},
        {"-1", "'-1"},
        {"@x", "'@x"},
        {"\tx", "'\tx"},
        {"'=1", "''=1"},
        {"''@", "'''@"},
        {"'x", "'x"},
        {"x=1", "x=1"},
        {"'", "'"},
        {"", ""},
        {"-", "'-"},
        {"=a,\"b\"", "\"'=a,\"\"b\"\"\""},
        {"#=", "\"#=\""},
        {"1", "1"},
    };
    for (size_t i = 0; i < GXT_COUNT(texts); i++) {
        char *line, wanted[32], *fields[2];
        const char *why = "";
        size_t size;
        FILE *out = open_memstream(&line, &size);
        csv_put_text(out, texts[i][0], true);
        csv_put(out, "-1", false);
        fclose(out);
        snprintf(wanted, sizeof wanted, "%s,-1", texts[i][1]);
        assert_string_equal(line, wanted);
        assert_int_equal(csv_split(line, fields, 2, &why), 2);
        assert_string_equal(csv_text(fields[0]), texts[i][0]);
        free(line);
    }
}

static void several_in_a_row(void **unused)
{
    (void)unused;
    size_t size;
    char *text = slurp(GXT_DATA "/laptop.csv", &size), err[SCAN_ERROR_SIZE];
    char *twice = gxt_alloc(2 * size);
    scan_file file;
    memcpy(twice, text, size);
    memcpy(twice + size, text, size);
    assert_true(scan_parse("two.csv", twice, 2 * size, 0, &file, err));
    assert_int_equal(file.count, 2);
    assert_int_equal(file.sections[0].count, file.sections[1].count);
    scan_free(&file);
    free(twice);
    free(text);
}

/* The header and two good rows; `from` is replaced by `to`. */
static const char good[] =
    "# gpuexec-scan: 1\n# library: 0.1.0\n# date: d\n# os: o\n# cpu: c\n# options: x\n"
    "# device: cpu = a CPU\n# unit: us\n# cells: 2\n"
    "device,field,op,place,elements,state,threads,samples,warm_samples,median_us,p90_us,min_us,"
    "max_us,low_us,high_us,first_us,host_in_us,upload_us,compute_us,download_us,host_out_us,"
    "submits,pool_hits,pool_misses,command_hits,command_misses,note\n"
    "cpu,u32,add,host,64,ok,1,5,0,2.5,3,2,4,2.1,3.5,9,0,0,2,0,0,1,0,0,0,0,\n"
    "cpu,u32,add,host,128,failed,,,,,,,,,,,,,,,,,,,,,why\n";

static const struct {
    const char *from, *to, *wanted; /* in the message */
} wrong[] = {
    {"gpuexec-scan: 1", "gpuexec-scan: 2", "f:1: schema '2'"},
    {"gpuexec-scan", "other", "f:1: not a scan"},
    {"# library: 0.1.0\n", "", "f:9: the header has no line '# library: ...'"},
    {"# cells: 2\n", "", "f:9: the header has no line '# cells: ...'"},
    {"# os: o\n", "# os: o\n# os: p\n", "f:5: os: duplicate"},
    {"# os: o\n", "# os: o\n# colour: red\n", "f:5: 'colour' is not a header line"},
    {"# unit: us", "# unit: ms", "f:8: unit 'ms'"},
    {"# device: cpu = a CPU", "# device: cpu", "f:7: device: expected"},
    {"# cells: 2", "# cells: 1", "f:12: 2 rows, but the header says 1"},
    {"# cells: 2", "# cells: -2", "f:9: cells"},
    {"median_us", "median_ms", "f:10: column 10 is 'median_ms', but schema 1 has 'median_us'"},
    {",note\n", "\n", "f:10: column 27 is ''"},
    {",note\n", ",note,more\n", "f:10: 28 columns"},
    {"0,0,0,0,\n", "0,0,0,0\n", "f:11: 26 columns instead of 27"},
    {",2.5,", ",2.5x,", "f:11: median_us: '2.5x' is not a number"},
    {",2.5,", ",-2.5,", "f:11: median_us"},
    {",2.5,", ",nan,", "f:11: median_us"},
    {",2.5,", ",0x1p1,", "f:11: median_us"},
    {",2.5,", ",,", "f:11: state is ok and median_us is empty"},
    {",2.5,", ",1.5,", "f:11: min <= median <= P90 <= max does not hold"},
    {",2.5,3,", ",2.5,2.4,", "f:11: min <="},
    {",2.1,3.5,", ",2.6,3.5,", "f:11: low_us and high_us"},
    {",2.1,3.5,", ",,3.5,", "f:11: low_us and high_us"},
    {",2.1,3.5,", ",0,3.5,", "f:11: low_us and high_us"},
    {",64,", ",64.5,", "f:11: elements: '64.5' is not a whole number"},
    {",64,", ",0,", "f:11: elements"},
    {",64,", ",,", "f:11: elements is empty"},
    {",64,", ",128,", "f:12: this cell is already in line 11"},
    {"host,64", "moon,64", "f:11: place: 'moon'"},
    {",ok,", ",fine,", "f:11: state: 'fine'"},
    {",failed,", ",ok,", "f:12: state is ok and samples is empty"},
    {",ok,", ",failed,", "f:11: state is failed and samples is not empty"},
    {"cpu,u32,add,host,64", ",u32,add,host,64", "f:11: device is empty"},
    {"cpu,u32,add,host,64", "\"cpu,u32,add,host,64", "f:11: unclosed quote"},
    {"cpu,u32,add,host,64", "c\"pu,u32,add,host,64", "f:11: a quote in the middle"},
    {"cpu,u32,add,host,64", "c\xffpu,u32,add,host,64", "f:11: not UTF-8"},
    {"cpu,u32,add,host,64", "c\x01pu,u32,add,host,64", "f:11: byte 2 is not text"},
    {"why\n", "why", "f:12: the last line is incomplete"},
    {"why\n", "why\n\n", "f:13: empty line"},
    {"why\n", "why\n# cpu: late\n", "f:13: a header line after"},
    {"why\n", "why\n# gpuexec-scan: 1\n", "f:13: the file ends before the column names"},
    {good, "", "f:1: the file is empty"},
    {good, "a,b,c\n1,2,3\n", "f:1: unknown column 'a'"},
    {good, "Size,CPU (s),GPU Median (us)\n", "f:1: unknown column 'CPU (s)'"},
    {good, "Size,CPU,GPU Median (us)\n", "f:1: column 'CPU': times must be in us or ms"},
    {good, "Size,CPU (us ms),GPU us\n", "f:1: unknown column 'CPU (us ms)'"},
    {good, "Size,CPU us,GPU us,\n", "f:1: unknown column ''"},
    {good, "Size,CPU us,GPU us,Size\n", "f:1: column 'Size' appears twice"},
    {good, "Size,Winner\n", "f:1: columns for the size and a time"},
    {good, "CPU us,GPU us\n", "f:1: columns for the size and a time"},
    {good, "Size,DX12 us,GLES p90 us\n", "f:1: column 'GLES p90 us': there is no column with"},
    {good, "Size,CPU us,GPU us\n", "f:2: the file has no rows"},
    {good, "Size,\xe6\x97\xb6\xe9\x97\xb4 us\n", "f:1: unknown column"},
    {good, "#TYPE x\n", "f:2: the file is empty"},
    {good, "Size,CPU us\n#TYPE x\n", "f:2: 1 column instead of 2"},
    {good, "\xff\xfeS", "f:1: UTF-16"},
    {good, "\xfe\xff", "f:1: UTF-16"},
    {good, "|Size|CPU us|\n|-|-|\n|1|2\n", "f:3: no bar at the end"},
    {good, "|Size|CPU us|\n|1|2|3|\n", "f:2: 3 columns instead of 2"},
    {good, "|\n", "f:1: empty"},
    {good, "Size,CPU us,CPU us\n", "f:1: column 'CPU us' appears twice"},
    {good, "Size,CPU us,GPU us\n20K,1,2\n", "f:2: '20K': 1000 or 1024 to a K?"},
    {good, "Size,CPU us,GPU us\nk,1,2\n", "f:2: '' is not a number"},
    {good, "Size,CPU us,GPU us\n,1,2\n", "f:2: '' is not a number"},
    {good, "Size,CPU us,GPU us\n1.5,1,2\n", "f:2: the size is not a whole number"},
    {good, "Size,CPU us,GPU us\n1e300M,1,2\n", "f:2: the size is not a whole number"},
    {good, "Size,CPU us,GPU us\n0,1,2\n", "f:2: elements: must be at least 1"},
    {good, "Size,CPU ms\n1,1e308\n", "f:2: '1e308' is too long a time"},
    {good, "Size,CPU us,GPU us\n1,\"1,04\",2\n", "f:2: '1,04' is not a number"},
    {good, "Size,CPU us,GPU us\n1,\"1,,043\",2\n", "f:2: '1,,043' is not a number"},
    {good, "Size,CPU us,GPU us\n1,\"1043,000\",2\n", "f:2: '1043,000' is not a number"},
    {good, "Size,CPU us,GPU us\n1,\",043\",2\n", "f:2: ',043' is not a number"},
    {good, "Size,CPU us,GPU us\n1,1 ms,2\n", "f:2: '1 ms' is not a number"},
    {good, "Size,Backend,GPU us\n1,,2\n", "f:2: '' is not a backend"},
    {good, "Size,Device,Backend,us\n1,GLES,DX12,2\n", "f:2: device 'gles' of backend 'dx12': "},
    {good, "Size,OS,GPU us\n1,a name that is much too long,2\n", "f:2: 'a name that is"},
    {good, "Size,GPU us,GPU p90 us\n1,3,2\n", "f:2: min <= median"},
    {good, "Size,GPU us,Winner\n1,3,me\n", "f:2: the winner column says 'me', which is no device"},
    {good, "Size,CPU us,DX12 us,Winner\n1,3,4,DX12\n", "f:2: the winner column says 'DX12', but"},
    {good, "Size,GLES us,DX12 us,Winner\n1,3,4,dx12 (1x)\n", "f:2: the winner column says 'dx12 "},
    {good, "Size,CPU us,GPU us\n20,1\n", "f:2: 2 columns instead of 3"},
    {good, "Size,CPU us,GPU us,Winner\n20,1,2,GPU\n", "f:2: the winner column says 'GPU'"},
    {good, "Size,CPU us,GPU us\n20,1,2\n20,1,2\n", "f:3: this cell is already in line 2"},
};

static void wrong_files_are_refused(void **unused)
{
    (void)unused;
    char err[SCAN_ERROR_SIZE];
    scan_file file;
    if (!scan_parse("f", good, sizeof good - 1, 0, &file, err))
        fail_msg("%s", err);
    scan_free(&file);
    for (size_t i = 0; i < GXT_COUNT(wrong); i++) {
        char text[sizeof good + 200];
        const char *at = strstr(good, wrong[i].from);
        assert_non_null(at);
        size_t size = (size_t)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good,
                                       wrong[i].to, at + strlen(wrong[i].from));
        err[0] = 0;
        if (scan_parse("f", text, size, 0, &file, err))
            fail_msg("taken: %s -> %s", wrong[i].from, wrong[i].to);
        if (strncmp(err, wrong[i].wanted, strlen(wrong[i].wanted)) != 0)
            fail_msg("'%s', not '%s'", err, wrong[i].wanted);
        scan_free(&file);
    }
}

/* A file truncated anywhere is rejected or reports how much is there; --resume gets the complete
 * lines once there is a header. */
static void cut_anywhere(void **unused)
{
    (void)unused;
    char err[SCAN_ERROR_SIZE];
    scan_file file;
    size_t head = (size_t)(strstr(good, ",note\n") - good) + strlen(",note\n");
    for (size_t size = 0; size < sizeof good - 1; size++) {
        bool whole = size && good[size - 1] == '\n' && size >= head;
        assert_int_equal(scan_parse("f", good, size, 0, &file, err), whole);
        if (whole)
            assert_true((double)file.sections[0].count < file.sections[0].cells);
        scan_free(&file);
        assert_int_equal(scan_parse("f", good, size, SCAN_CUT, &file, err), size >= head);
        if (size >= head)
            assert_true(good[file.whole - 1] == '\n' && file.whole <= size);
        scan_free(&file);
    }
}

/* What is read from a threshold scan: "@OS" of each section that has one, and device, size, median
 * and P90 of its rows. */
static void check_seeds(const char *text, const char *expected)
{
    char err[SCAN_ERROR_SIZE], *got;
    size_t size;
    scan_file file;
    if (!scan_parse("f", text, strlen(text), 0, &file, err))
        fail_msg("%s", err);
    FILE *out = open_memstream(&got, &size);
    for (size_t i = 0; i < file.count; i++) {
        const scan_section *s = &file.sections[i];
        assert_true(s->foreign);
        assert_string_equal(s->label, *s->os ? s->os : "f");
        if (*s->os)
            fprintf(out, "@%s ", s->os);
        for (size_t k = 0; k < s->count; k++) {
            const scan_row *row = &s->rows[k];
            assert_int_equal(scan_is_ok(row), isfinite(row->median_us));
            fprintf(out, "%s %.0f ", row->device, row->elements);
            fprintf(out, isnan(row->median_us) ? "- " : "%g ", row->median_us);
            fprintf(out, isnan(row->p90_us) ? "-; " : "%g; ", row->p90_us);
        }
    }
    fclose(out);
    assert_string_equal(got, expected);
    free(got);
    scan_free(&file);
}

static void columns_of_the_seeds(void **unused)
{
    (void)unused;
    char err[SCAN_ERROR_SIZE];
    scan_file file;
    assert_true(scan_load(GXT_DATA "/seeds.csv", 0, &file, err));
    const scan_section *s = &file.sections[0];
    assert_true(s->foreign && s->count == 14);
    assert_string_equal(s->rows[0].device, "cpu");
    assert_true(s->rows[0].median_us == 15 && isnan(s->rows[0].p90_us));
    assert_string_equal(s->rows[1].device, "gpu");
    assert_true(s->rows[1].median_us == 1043 && s->rows[1].p90_us == 1127);
    assert_true(s->rows[13].elements == 2e6 && s->rows[13].median_us == 6498);
    scan_free(&file);

    /* other spellings, an unmeasured cell, both line ends, a mark at the beginning */
    check_seeds("\xef\xbb\xbf\"elements\",gpu_median_us,\"cpu_us\",gpu_p90_us\r\n"
                "\"64\",2.5,1,3\r\n128,,1,\r\n",
                "gpu 64 2.5 3; cpu 64 1 -; gpu 128 - -; cpu 128 1 -; ");
    check_seeds("#TYPE x\nSize,CpuMs,GpuMs\n1,2,0.003\n", "cpu 1 2000 -; gpu 1 3 -; ");
    check_seeds("Size,CPU (\xc2\xb5s),GPU Time (\xce\xbcs)\n20k,\"1,043.5\",\"1,000,000\"\n",
                "cpu 20000 1043.5 -; gpu 20000 1e+06 -; ");
    check_seeds("|Size|GPU us|\n| --: | :-- |\n|  1M | 2 |\n", "gpu 1000000 2 -; ");
    /* merged: side by side, or one below the other */
    check_seeds("Size,CPU us,DX12 us,DX12 p90 us,GLES GPU us\n1,2,3,4,5\n",
                "cpu 1 2 -; dx12 1 3 4; gles 1 5 -; ");
    check_seeds("Size,gles_cpu_us,gles_gpu_us,dx12_cpu_us,dx12_gpu_us\n1,2,3,4,5\n",
                "cpu (gles) 1 2 -; gles 1 3 -; cpu (dx12) 1 4 -; dx12 1 5 -; ");
    check_seeds("Backend,Size,CPU us,GPU us\nGLES,1,2,3\nDX12,1,4,5\n",
                "cpu (gles) 1 2 -; gles 1 3 -; cpu (dx12) 1 4 -; dx12 1 5 -; ");
    check_seeds("Device,Size,Median us,Samples\nCPU,1,2,5\nVulkan,1,4,5\n",
                "cpu 1 2 -; vulkan 1 4 -; ");
    check_seeds("OS,Backend,Size,time_us\nLinux,gl,1,2\nWindows,gl,1,3\nlinux,gl,2,4\n",
                "@linux gl 1 2 -; gl 2 4 -; @windows gl 1 3 -; ");
    /* one row for each device, as their scan writes them; 0 is less than a millisecond */
    check_seeds("size,device,duration_ms\n20000,Cpu,0\n20000,Gpu,13\n50000,Cpu,1\n50000,Gpu,4\n",
                "cpu 20000 - -; gpu 20000 13000 -; cpu 50000 1000 -; gpu 50000 4000 -; ");
    check_seeds("size,device,duration_ms,first,backend_mask_hint\n9,Cpu,3,0,dx12\n9,Gpu,1,0,dx12\n",
                "cpu (dx12) 9 3000 -; dx12 9 1000 -; ");
    check_seeds("size,device,median_ms,p90_ms,min_ms,max_ms\n9,Cpu,0,0,0,1\n9,Gpu,1,20,0,20\n",
                "cpu 9 - -; gpu 9 1000 20000; ");
    check_seeds("\"size\",\"cpu_ms_gles\",\"gpu_ms_gles\",\"gpu_ms_dx12\",\"faster_backend\"\n"
                "\"9\",\"0\",\"25\",\"14\",\"dx12\"\n",
                "cpu (gles) 9 - -; gles 9 25000 -; dx12 9 14000 -; ");
    check_seeds("Size,Windows DX12 us,Linux Vulkan ms\n1,2,3\n",
                "@windows dx12 1 2 -; @linux vulkan 1 3000 -; ");
}

/* Winners may be by a margin, by name, with a remark, or nobody. */
static void winners_of_the_seeds(void **unused)
{
    (void)unused;
    static const char *const fine[] = {
        "CPU us,GPU us,Winner\n1,2,CPU\n",
        "CPU us,GPU us,Winner\n1,0.91,CPU\n",
        "CPU us,GPU us,Winner\n1,1.1,gpu\n",
        "CPU us,GPU us,Winner\n1,2,tie\n",
        "CPU us,GPU us,Winner\n1,2,\n",
        "CPU us,GPU us,Winner\n2,1,GPU (2x)\n",
        "CPU us,DX12 us,Winner\n2,1,GPU\n",
        "CPU us,GPU us,Winner\n1,,GPU\n",
        "CPU us,GLES us,DX12 us,Winner\n1,3,2,DX12\n",
        "CPU us,GLES us,DX12 us,Winner\n1,3,2,CPU\n",
        "CPU us,GPU us,Winner Margin %\n1,2,GPU\n",
        "CPU us,GLES us,DX12 vs GLES\n1,3,x\n",
        "GLES us,DX12 us,Best Backend\n3,2,dx12\n",
        "CPU us,GPU us,Winner\n1,2,N/A\n",
        "cpu us,gles us,dx12 us,gles winner,dx12 winner\n2,3,1,CPU,DX12\n",
        "CPU us,GPU us,Winner\n1,2,DX12\n",
    };
    for (size_t i = 0; i < GXT_COUNT(fine); i++) {
        char text[200], err[SCAN_ERROR_SIZE];
        scan_file file;
        const char *rows = strchr(fine[i], '\n') + 1;
        snprintf(text, sizeof text, "Size,%.*s9,%s", (int)(rows - fine[i]), fine[i], rows);
        if (!scan_parse("f", text, strlen(text), 0, &file, err))
            fail_msg("%s: %s", fine[i], err);
        scan_free(&file);
    }
}

/* Machines and columns have their limits. */
static void too_many_of_the_seeds(void **unused)
{
    (void)unused;
    char *text = gxt_alloc(1 << 16), err[SCAN_ERROR_SIZE];
    scan_file file;
    for (int many = 16; many <= 17; many++) {
        int used = sprintf(text, "OS,Size,CPU us\n");
        for (int i = 0; i < many; i++)
            used += sprintf(text + used, "os%d,1,2\n", i);
        assert_int_equal(scan_parse("f", text, (size_t)used, 0, &file, err), many == 16);
        scan_free(&file);
    }
    assert_string_equal(err, "f:18: more than 16 platforms");
    for (int many = 31; many <= 32; many++) {
        int used = sprintf(text, "Size");
        for (int i = 0; i < many; i++)
            used += sprintf(text + used, i ? ",ratio" : ",CPU us");
        used += sprintf(text + used, "\n1");
        for (int i = 0; i < many; i++)
            used += sprintf(text + used, ",1");
        used += sprintf(text + used, "\n");
        assert_int_equal(scan_parse("f", text, (size_t)used, 0, &file, err), many == 31);
        scan_free(&file);
    }
    assert_string_equal(err, "f:1: too many columns");
    free(text);
}

/* ---- suites ---- */

/* "device|field|op|place size median samples threads first; " of the first rows. */
static void check_suite(const char *name, const char *command, size_t rows, size_t told,
                        const char *expected)
{
    char err[SCAN_ERROR_SIZE], path[512], *got;
    size_t size;
    scan_file file;
    snprintf(path, sizeof path, GXT_DATA "/%s", name);
    if (!scan_load(path, 0, &file, err))
        fail_msg("%s", err);
    const scan_section *s = &file.sections[0];
    assert_true(file.count == 1 && s->foreign && s->suite && s->count == rows);
    assert_string_equal(s->options, command);
    FILE *out = open_memstream(&got, &size);
    for (size_t i = 0; i < told; i++) {
        const scan_row *r = &s->rows[i];
        assert_true(scan_is_ok(r) && isnan(r->low_us) && isnan(r->compute_us));
        fprintf(out, "%s|%s|%s|%s %.0f %g %.0f %.0f %g; ", r->device, r->field, r->op, r->place,
                r->elements, r->median_us, r->samples, r->threads, r->first_us);
    }
    fclose(out);
    assert_string_equal(got, expected);
    free(got);
    scan_free(&file);
}

/* Figures as in the files, in microseconds; variants are operations of their own, and so is the CPU
 * with one thread a device. */
static void suites_are_read(void **unused)
{
    (void)unused;
    check_suite("ntt.csv", "gpuexec bench --suite ntt --device cpu --csv", 12, 8,
                "cpu, 1 thread|bls12-381-fr|ntt|host 1024 44.2369 21 1 376.112; "
                "cpu, 1 thread|bls12-381-fr|ntt|host 65536 3534.83 21 1 4840.9; "
                "cpu, 1 thread|bls12-381-fr|ntt x256|host 65536 981852 3 1 595646; "
                "cpu, 1 thread|bls12-381-fr|ntt nr|host 1024 26.5939 21 1 248.162; "
                "cpu, 1 thread|bls12-381-fr|ntt nr|host 65536 2193.41 21 1 3024.7; "
                "cpu, 1 thread|bls12-381-fr|ntt nr x256|host 65536 638405 3 1 645624; "
                "cpu|bls12-381-fr|ntt|host 1024 37.2258 21 1 320.82; "
                "cpu|bls12-381-fr|ntt|host 65536 245.837 21 16 1239.32; ");
    check_suite("msm.csv",
                "gpuexec bench --suite msm --device cuda:0 --csv -n "
                "1024,16384,65536,1048576,4194304,16777216",
                12, 6,
                "cuda:0|bls12-381-g1|msm|host 1024 700.076 21 0 29684.7; "
                "cuda:0|bls12-381-g1|msm ones|host 1024 642.693 21 0 nan; "
                "cuda:0|bls12-381-g1|msm 0/1|host 1024 450.556 21 0 nan; "
                "cuda:0|bls12-381-g1|msm one|host 1024 582.889 21 0 nan; "
                "cuda:0|bls12-381-g1|msm table|host 1024 611.74 21 0 10410.5; "
                "cuda:0|bls12-381-g1|msm table x4|host 1024 2403.99 21 0 2490.41; ");
}

#define NTT_NAMES                                                                                  \
    "device,field,place,order,elements,batch,threads,samples,median_ms,p90_ms,min_ms,max_ms,"      \
    "device_ms,ns_per_butterfly,first_ms\n"

static void wrong_suites_are_refused(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {NTT_NAMES "d,f,host,nn,4,1,0,3,1,1,1,1,,,\n", NULL},
        {NTT_NAMES "d,f,host,nn,4,1,0,3,1,1,1,1,,\n", "f:2: 14 columns instead of 15"},
        {NTT_NAMES "d,f,there,nn,4,1,0,3,1,1,1,1,,,\n",
         "f:2: place: 'there' is neither host nor resident"},
        {NTT_NAMES "d,f,host,nn,4,1,0,3,x,1,1,1,,,\n", "f:2: 'x' is not a number"},
        {NTT_NAMES "d,f,host,nn,4,1,0,3,,1,1,1,,,\n",
         "f:2: a size, a number of samples or a median is missing"},
        {NTT_NAMES "d,f,host,nn,4,1,0,3,2,1,1,3,,,\n",
         "f:2: min <= median <= P90 <= max does not hold"},
        {NTT_NAMES ",f,host,nn,4,1,0,3,1,1,1,1,,,\n", "f:2: '' is no name"},
        {NTT_NAMES "d,f,host,nn,4,1,0,3,1,1,1,1,,,\nd,f,host,nn,4,1,0,3,2,2,2,2,,,\n",
         "f:3: this cell is already in line 2"},
        {"# bench-suites copies --csv\na,b\n1,2\n",
         "f:2: not a scan: of the suites, only those of ntt and msm can be read"},
        {"# bench-suites ntt --csv\n", "f:2: the file is empty"},
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        char err[SCAN_ERROR_SIZE] = "";
        scan_file file;
        assert_int_equal(scan_parse("f", cases[i].text, strlen(cases[i].text), 0, &file, err),
                         !cases[i].error);
        if (cases[i].error)
            assert_string_equal(err, cases[i].error);
        scan_free(&file);
    }
}

/* ---- names of files ---- */

static void check_hidden(const char *a, const char *b, const char *a_left, const char *b_left)
{
    scan_section sections[3] = {0};
    scan_file files[2] = {{.sections = &sections[0], .count = 1},
                          {.sections = &sections[1], .count = 2}};
    snprintf(sections[0].file, sizeof sections[0].file, "%s", a);
    snprintf(sections[1].file, sizeof sections[1].file, "%s", b ? b : a);
    snprintf(sections[2].file, sizeof sections[2].file, "%s", b ? b : a);
    scan_hide_folders(files, b ? 2 : 1);
    assert_string_equal(sections[0].file, a_left);
    for (size_t i = 1; b && i < 3; i++)
        assert_string_equal(sections[i].file, b_left);
}

static void folders_are_not_for_others_to_know(void **unused)
{
    (void)unused;
    check_hidden("scan.csv", NULL, "scan.csv", NULL);
    check_hidden("/home/me/scan.csv", NULL, "scan.csv", NULL);
    check_hidden("/home/me/a/scan.csv", "/home/me/b/scan.csv", "a/scan.csv", "b/scan.csv");
    check_hidden("/home/me/scan.csv", "/home/you/scan.csv", "me/scan.csv", "you/scan.csv");
    check_hidden("/me/a/x.csv", "/you/a/x.csv", "me/a/x.csv", "you/a/x.csv");
    check_hidden("/home/me/scan.csv", "other.csv", "scan.csv", "other.csv");
    check_hidden("/a/x.csv", "/b/x.csv", "a/x.csv", "b/x.csv");
    check_hidden("x.csv", "/b/x.csv", "x.csv", "b/x.csv");
    check_hidden("/x.csv", "x.csv", "x.csv", "x.csv");
    check_hidden("/a/x.csv", "/a/x.csv", "x.csv", "x.csv");
    check_hidden("", NULL, "", NULL);
    scan_hide_folders(NULL, 0);
}

/* ---- statistics ---- */

/* P(at least k of n coins are heads), by Pascal's triangle. */
static double at_least(unsigned n, unsigned k)
{
    double row[64] = {1}, sum = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = i + 1; j > 0; j--)
            row[j] += row[j - 1];
    for (unsigned j = k; j <= n; j++)
        sum += row[j];
    return sum / pow(2, n);
}

/* The interval is x(k) to x(n + 1 - k) with the largest k that leaves 2.5 % on each side. */
static void interval_of_the_median(void **unused)
{
    (void)unused;
    for (unsigned n = 2; n < 60; n++) {
        double values[60];
        for (unsigned i = 0; i < n; i++)
            values[i] = (double)(n - i);
        stats s = stats_of(values, n);
        unsigned k = (unsigned)s.low;
        assert_true(s.high == (double)(n + 1 - k));
        /* fewer than k below the median: at least n - k + 1 above */
        if (n >= 6)
            assert_true(at_least(n, n - k + 1) <= 0.025);
        else
            assert_int_equal(k, 1);
        assert_true(at_least(n, n - k) > 0.025);
    }
    double one = 3;
    assert_true(isnan(stats_of(&one, 1).low));
}

static void warm_up_is_told_apart(void **unused)
{
    (void)unused;
    const double warm[] = {9, 4, 1, 1, 1.1, 9, 1}, even[] = {1, 1.2, 1.1, 1},
                 rising[] = {1, 2, 3, 4, 5, 6}, two[] = {9, 1}, one[] = {5};
    assert_int_equal(measure_warm(warm, 7), 2);
    assert_int_equal(measure_warm(even, 4), 0);
    assert_int_equal(measure_warm(rising, 6), 0);
    assert_int_equal(measure_warm(two, 2), 1);
    assert_int_equal(measure_warm(one, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_as_it_was),
        cmocka_unit_test(several_in_a_row),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(columns_of_the_seeds),
        cmocka_unit_test(winners_of_the_seeds),
        cmocka_unit_test(too_many_of_the_seeds),
        cmocka_unit_test(suites_are_read),
        cmocka_unit_test(wrong_suites_are_refused),
        cmocka_unit_test(folders_are_not_for_others_to_know),
        cmocka_unit_test(interval_of_the_median),
        cmocka_unit_test(warm_up_is_told_apart),
        cmocka_unit_test(no_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
