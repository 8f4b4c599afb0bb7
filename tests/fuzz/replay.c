/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs every file of a corpus directory through a fuzz target, so that inputs found earlier are
 * tried in every normal test run, without libFuzzer.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The file in memory of exactly its size, so that a sanitizer detects reads past its end. */
static uint8_t *read_file(const char *path, size_t size)
{
    uint8_t *data = malloc(size ? size : 1);
    FILE *file = data ? fopen(path, "rb") : NULL;
    size_t got = file ? fread(data, 1, size, file) : 0;
    if (file)
        fclose(file);
    if (!file || got != size) {
        free(data);
        return NULL;
    }
    return data;
}

/* 1: replayed, 0: no file, -1: cannot be read */
static int replay(const char *folder, const char *name)
{
    char path[4096];
    struct stat st;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path ||
        stat(path, &st) != 0) {
        fprintf(stderr, "%s/%s: cannot be read\n", folder, name);
        return -1;
    }
    if (!S_ISREG(st.st_mode))
        return 0;
    uint8_t *data = read_file(path, (size_t)st.st_size);
    if (!data) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return -1;
    }
    /* Printed first, so that a crash can be attributed to this file. */
    printf("%s\n", name);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    struct dirent **entries = NULL;
    int count = argc == 2 ? scandir(argv[1], &entries, NULL, alphasort) : -1;
    if (count < 0) {
        fprintf(stderr, "usage: %s FOLDER, a corpus that exists\n", argv[0]);
        return 2;
    }
    int replayed = 0, unreadable = 0;
    for (int i = 0; i < count; i++) {
        int r = replay(argv[1], entries[i]->d_name);
        replayed += r > 0;
        unreadable += r < 0;
        free(entries[i]);
    }
    free(entries);
    printf("%d inputs replayed\n", replayed);
    return replayed == 0 || unreadable > 0;
}
