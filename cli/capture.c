/* SPDX-License-Identifier: Apache-2.0
 *
 * RenderDoc's in-application API, version 1.0 (capture.h): a table of functions, each of which has
 * kept its place in all later versions.
 */
#include "capture.h"

#include "cli.h"

typedef void (*function)(void);

enum { VERSION_1_0_0 = 10000 };
enum { GET_NUM_CAPTURES = 13, GET_CAPTURE = 14, START_FRAME_CAPTURE = 19, END_FRAME_CAPTURE = 21 };

typedef int (*get_api_fn)(int version, const function **table);
typedef uint32_t (*get_num_captures_fn)(void);
typedef uint32_t (*get_capture_fn)(uint32_t index, char *file, uint32_t *size, uint64_t *time);
typedef void (*start_fn)(void *device, void *window);
typedef uint32_t (*end_fn)(void *device, void *window);

static const function *table;

/* NULL: it is not loaded. Never loads it: its hooks have to be there before the drivers. */
static const function *find_table(void)
{
    const function *found = NULL;
    void *library =
        gx__os_library_loaded(GX_OS_NAME("librenderdoc.so", "librenderdoc.dylib", "renderdoc.dll"));
    get_api_fn get =
        library ? (get_api_fn)(function)gx__os_symbol(library, "RENDERDOC_GetAPI") : NULL;
    if (!get || get(VERSION_1_0_0, &found) != 1)
        return NULL;
    return found;
}

int capture_start(gx_ctx *ctx, const gx_job *job)
{
    gx_estimate_info info = {.struct_size = sizeof info};
    gx_estimate(ctx, job, 1, NULL, &info); /* a failure is reported by the run */
    table = find_table();
    if (!table) {
        cli_error("--capture: RenderDoc is not loaded; run 'renderdoccmd capture -w %s run ...', "
                  "or install its Vulkan layer and set ENABLE_VULKAN_RENDERDOC_CAPTURE=1",
                  cli_program);
        return EXIT_FAILED;
    }
    ((start_fn)table[START_FRAME_CAPTURE])(NULL, NULL);
    return EXIT_DONE;
}

int capture_end(void)
{
    char file[4096] = "a file of unknown name";
    uint32_t size = 0;
    if (((end_fn)table[END_FRAME_CAPTURE])(NULL, NULL) != 1) {
        cli_error("--capture: RenderDoc has captured nothing; it sees Vulkan devices only: add "
                  "--device vulkan:0");
        return EXIT_FAILED;
    }
    uint32_t count = ((get_num_captures_fn)table[GET_NUM_CAPTURES])();
    get_capture_fn get = (get_capture_fn)table[GET_CAPTURE];
    if (count && get(count - 1, NULL, &size, NULL) == 1 && size <= sizeof file)
        get(count - 1, file, &size, NULL);
    fprintf(stderr, "captured in %s\n", file);
    return EXIT_DONE;
}
