/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as an element file, read by the code behind `gpuexec run`, once as a regular file and once
 * as a pipe. The first two bytes choose the element size and the chunk. The output must equal the
 * input, and a file is rejected exactly if it is not a whole number of elements.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elements.h"

enum { PIPE_ROOM = 32768, CHUNK_MAX = 64, ELEMENT_MAX = 48 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
    if (!truth)
        abort();
}

/* Owns fd. */
static void read_all(int fd, size_t element_bytes, size_t chunk, const uint8_t *data, size_t size)
{
    static unsigned char buffer[CHUNK_MAX * ELEMENT_MAX];
    char err[ELEMENTS_ERROR_SIZE] = "";
    element_reader r;
    size_t total = 0, got = 0;
    int whole = size % element_bytes == 0;
    int ok = reader_attach(&r, fd, "input", "element", "--field", element_bytes, err);
    require(ok || !whole);
    if (ok && r.total != ELEMENTS_UNKNOWN)
        require(r.total == size / element_bytes);
    while (ok && (ok = reader_read(&r, buffer, chunk, &got, err)) && got) {
        require(got <= chunk && total + got * element_bytes <= size);
        require(!memcmp(buffer, data + total, got * element_bytes));
        total += got * element_bytes;
    }
    require(ok == whole);
    require(ok ? total == size : err[0] != 0);
    reader_close(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t sizes[] = {48, 32, 4, 1, 7};
    if (size < 2)
        return 0;
    size_t element_bytes = sizes[data[0] % (sizeof sizes / sizeof *sizes)];
    size_t chunk = 1 + data[1] % CHUNK_MAX;
    data += 2;
    size = size - 2 < PIPE_ROOM ? size - 2 : PIPE_ROOM;

    int file = memfd_create("fuzz_reader", MFD_CLOEXEC), ends[2];
    require(file >= 0 && write(file, data, size) == (ssize_t)size && !lseek(file, 0, SEEK_SET));
    read_all(file, element_bytes, chunk, data, size);

    require(!pipe(ends));
    require(size == 0 || write(ends[1], data, size) == (ssize_t)size);
    close(ends[1]);
    read_all(ends[0], element_bytes, chunk, data, size);
    return 0;
}
