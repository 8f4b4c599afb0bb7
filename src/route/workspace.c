/* SPDX-License-Identifier: Apache-2.0
 *
 * Workspaces, and the threads that run shards besides the caller's. Both are kept when idle. A call
 * never waits for a thread: if none is available, the caller runs the shard itself.
 */
#include "route/workspace.h"

#include <string.h>

#include "base/alloc.h"
#include "base/float_env.h"
#include "base/threads.h"

#define HELPERS_MAX 32u
/* Idle workspaces free their memory for in-place results and for copies beyond this size. */
#define SPARE_KEPT ((size_t)64 << 20)

struct gx_helper {
    struct gx_router *router;
    struct gx_helper *next, *next_idle;
    pthread_t thread;
    pthread_cond_t wake;
    struct gx_shard *shard;
    bool stop;
};

static const gx_allocator *allocator(const struct gx_router *router)
{
    return &router->slots.instance->config.allocator;
}

/* ---- workspaces ---- */

struct gx_workspace *gx__workspace_take(struct gx_router *router)
{
    struct gx_workspace *ws = NULL;
    for (size_t i = 0; i < GX_IDLE_WORKSPACES && !ws; i++)
        if (atomic_load_explicit(&router->idle_workspace[i], memory_order_relaxed))
            ws = atomic_exchange(&router->idle_workspace[i], NULL);
    if (ws)
        return ws;
    ws = gx__alloc(allocator(router), sizeof *ws);
    if (!ws)
        return NULL;
    ws->router = router;
    pthread_cond_init(&ws->changed, NULL);
    return ws;
}

/* Those from `first` on that are larger than `kept` bytes. */
static void free_rooms(struct gx_workspace *ws, size_t first, size_t kept)
{
    for (size_t i = first; i < GX_ROOMS; i++)
        if (ws->room[i].bytes > kept) {
            gx__free(allocator(ws->router), ws->room[i].memory);
            ws->room[i] = (struct gx_room){0};
        }
}

static void free_workspace(struct gx_workspace *ws)
{
    free_rooms(ws, 0, 0);
    pthread_cond_destroy(&ws->changed);
    gx__free(allocator(ws->router), ws);
}

void gx__workspace_give(struct gx_workspace *ws)
{
    ws->only = NULL;
    free_rooms(ws, GX_ROOM_SPARE, SPARE_KEPT);
    for (size_t i = 0; i < GX_IDLE_WORKSPACES; i++) {
        struct gx_workspace *none = NULL;
        if (atomic_compare_exchange_strong(&ws->router->idle_workspace[i], &none, ws))
            return;
    }
    free_workspace(ws);
}

void gx__workspaces_free(struct gx_router *router)
{
    for (size_t i = 0; i < GX_IDLE_WORKSPACES; i++) {
        struct gx_workspace *ws = atomic_exchange(&router->idle_workspace[i], NULL);
        if (ws)
            free_workspace(ws);
    }
}

void *gx__workspace_room(struct gx_workspace *ws, enum gx_room_for what, size_t count, size_t bytes)
{
    struct gx_room *room = &ws->room[what];
    count = count ? count : 1;
    if (count > room->bytes / bytes) {
        gx__free(allocator(ws->router), room->memory);
        bool fits = count <= SIZE_MAX / 2 / bytes;
        room->memory = fits ? gx__alloc(allocator(ws->router), count * bytes) : NULL;
        room->bytes = room->memory ? count * bytes : 0;
    }
    return room->memory;
}

/* ---- helpers ---- */

static void *run_shards(void *user)
{
    struct gx_helper *h = user;
    struct gx_router *router = h->router;
    struct gx_float_env inherited;
    gx__float_env_default(&inherited);
    pthread_mutex_lock(&router->lock);
    while (!h->stop) {
        if (!h->shard) {
            pthread_cond_wait(&h->wake, &router->lock);
            continue;
        }
        pthread_mutex_unlock(&router->lock);
        gx__shard_run(h->shard);
        pthread_mutex_lock(&router->lock);
        h->shard->done = true;
        /* Under the lock: once it is released, the caller may free the workspace. */
        pthread_cond_signal(&h->shard->ws->changed);
        h->shard = NULL;
        h->next_idle = router->idle;
        router->idle = h;
    }
    pthread_mutex_unlock(&router->lock);
    return NULL;
}

/* Called under the lock. NULL: no memory, no thread, or too many. */
static struct gx_helper *new_helper(struct gx_router *router)
{
    if (router->helper_count == HELPERS_MAX)
        return NULL;
    struct gx_helper *h = gx__alloc(allocator(router), sizeof *h);
    if (!h)
        return NULL;
    h->router = router;
    pthread_cond_init(&h->wake, NULL);
    if (!gx__thread_start(&h->thread, run_shards, h)) {
        pthread_cond_destroy(&h->wake);
        gx__free(allocator(router), h);
        return NULL;
    }
    h->next = router->helpers;
    router->helpers = h;
    router->helper_count++;
    return h;
}

bool gx__shard_send(struct gx_workspace *ws, struct gx_shard *shard)
{
    struct gx_router *router = ws->router;
    pthread_mutex_lock(&router->lock);
    struct gx_helper *h = router->idle;
    if (h)
        router->idle = h->next_idle;
    else
        h = new_helper(router);
    if (h) {
        h->shard = shard;
        shard->done = false;
        pthread_cond_signal(&h->wake);
    }
    pthread_mutex_unlock(&router->lock);
    return h != NULL;
}

void gx__shard_await(struct gx_workspace *ws, const struct gx_shard *shard)
{
    struct gx_router *router = ws->router;
    pthread_mutex_lock(&router->lock);
    while (!shard->done)
        pthread_cond_wait(&ws->changed, &router->lock);
    pthread_mutex_unlock(&router->lock);
}

void gx__helpers_end(struct gx_router *router)
{
    pthread_mutex_lock(&router->lock);
    for (struct gx_helper *h = router->helpers; h; h = h->next) {
        h->stop = true;
        pthread_cond_signal(&h->wake);
    }
    pthread_mutex_unlock(&router->lock);
    for (struct gx_helper *h = router->helpers, *next; h; h = next) {
        next = h->next;
        pthread_join(h->thread, NULL);
        pthread_cond_destroy(&h->wake);
        gx__free(allocator(router), h);
    }
    router->helpers = router->idle = NULL;
}
