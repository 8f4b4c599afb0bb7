/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as a scan file. A rejected file must give its line; an accepted one must be the same after
 * writing and reading again, and can be merged, printed and drawn.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"
#include "report/page.h"
#include "report/text.h"

enum { SIZE_MAX_HERE = 1 << 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
    if (!truth)
        abort();
}

static char *write_all(const scan_file *file, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    require(out != NULL);
    for (size_t i = 0; i < file->count; i++) {
        scan_put_head(out, &file->sections[i]);
        for (size_t k = 0; k < file->sections[i].count; k++)
            scan_put_row(out, &file->sections[i].rows[k]);
    }
    require(!fclose(out));
    return text;
}

static void round_trip(const scan_file *file)
{
    char err[SCAN_ERROR_SIZE], *first, *second;
    size_t first_size, second_size;
    scan_file again;
    if (file->sections[0].foreign) /* read only */
        return;
    first = write_all(file, &first_size);
    require(scan_parse("f", first, first_size, 0, &again, err));
    second = write_all(&again, &second_size);
    require(first_size == second_size && !memcmp(first, second, first_size));
    scan_free(&again);
    free(first);
    free(second);
}

static void use(const scan_file *file, bool by_machine, const merge_filter *filter)
{
    char err[SCAN_ERROR_SIZE], *text = NULL;
    size_t size;
    merge m;
    if (merge_make(file, 1, by_machine, filter, &m, err)) {
        FILE *out = open_memstream(&text, &size);
        json_t *json = json_of_merge(&m, "report", "0");
        require(out && json && text_put(out, &m, TEXT_MARKDOWN, "t"));
        require(page_put(out, json));
        fclose(out);
        free(text);
        json_decref(json);
    }
    merge_free(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scan_file file;
    char err[SCAN_ERROR_SIZE] = "";
    if (size > SIZE_MAX_HERE)
        return 0;
    if (scan_parse("gles", (const char *)data, size, 0, &file, err)) {
        round_trip(&file);
        use(&file, true, NULL);
        use(&file, false, NULL);
        use(&file, false, &(merge_filter){.between = "cpu,gpu"});
        for (size_t i = 0; i < file.count; i++)
            scan_seeds_use_label(&file.sections[i]);
        use(&file, true, &(merge_filter){.only = "cpu, gles,vulkan"});
        use(&file, false, &(merge_filter){.between = "gles,cpu (gles)"});
    } else
        require(!strncmp(err, "gles:", 5) && err[5] >= '1' && err[5] <= '9');
    scan_free(&file);
    return 0;
}
