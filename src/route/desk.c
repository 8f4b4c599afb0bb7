/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of calls that are being routed, and threads that run shares beside the caller's.
 * Both are kept when they are idle. Nobody ever waits for a thread: where none can be had,
 * the caller runs the share itself.
 */
#include "route/desk.h"

#include <string.h>

#include "base/alloc.h"
#include "base/crew.h"
#include "base/float_env.h"

#define HELPERS_MAX 32u
/* What an idle desk keeps for results that would replace operands, and for copies. */
#define SPARE_KEPT ((size_t)64 << 20)

struct gx_helper {
    struct gx_router *router;
    struct gx_helper *next, *next_idle;
    pthread_t thread;
    pthread_cond_t wake;
    struct gx_errand *errand;
    struct gx_desk *desk;
    bool stop;
};

static const gx_allocator *allocator(const struct gx_router *router)
{
    return &router->places.instance->config.allocator;
}

/* ---- desks ---- */

struct gx_desk *gx__desk_take(struct gx_router *router)
{
    struct gx_desk *desk = atomic_exchange(&router->warm, NULL);
    if (desk)
        return desk;
    pthread_mutex_lock(&router->lock);
    desk = router->desks;
    if (desk)
        router->desks = desk->next;
    pthread_mutex_unlock(&router->lock);
    if (desk)
        return desk;
    desk = gx__alloc(allocator(router), sizeof *desk);
    if (desk)
        pthread_cond_init(&desk->changed, NULL);
    return desk;
}

static void drop(struct gx_router *router, char **memory, size_t *room)
{
    gx__free(allocator(router), *memory);
    *memory = NULL;
    *room = 0;
}

void gx__desk_give(struct gx_router *router, struct gx_desk *desk)
{
    if (desk->spare_room > SPARE_KEPT)
        drop(router, &desk->spare, &desk->spare_room);
    if (desk->copies_room > SPARE_KEPT)
        drop(router, &desk->copies, &desk->copies_room);
    struct gx_desk *none = NULL;
    if (atomic_compare_exchange_strong(&router->warm, &none, desk))
        return;
    pthread_mutex_lock(&router->lock);
    desk->next = router->desks;
    router->desks = desk;
    pthread_mutex_unlock(&router->lock);
}

void gx__desks_free(struct gx_router *router)
{
    struct gx_desk *warm = atomic_exchange(&router->warm, NULL);
    if (warm) {
        warm->next = router->desks;
        router->desks = warm;
    }
    for (struct gx_desk *desk = router->desks, *next; desk; desk = next) {
        next = desk->next;
        gx__free(allocator(router), desk->spare);
        gx__free(allocator(router), desk->copies);
        gx__free(allocator(router), desk->parts);
        gx__free(allocator(router), desk->jobs);
        gx__free(allocator(router), desk->wave);
        gx__free(allocator(router), desk->lent);
        gx__free(allocator(router), desk->reports);
        pthread_cond_destroy(&desk->changed);
        gx__free(allocator(router), desk);
    }
    router->desks = NULL;
}

bool gx__desk_room(struct gx_router *router, void *memory, size_t *room, size_t count, size_t bytes)
{
    void *at; /* a copy: *memory is a pointer of some other type */
    if (count <= *room)
        return true;
    memcpy(&at, memory, sizeof at);
    gx__free(allocator(router), at);
    at = count <= SIZE_MAX / 2 / bytes ? gx__alloc(allocator(router), count * bytes) : NULL;
    memcpy(memory, &at, sizeof at);
    *room = at ? count : 0;
    return at != NULL;
}

/* ---- helpers ---- */

static void *help(void *user)
{
    struct gx_helper *h = user;
    struct gx_router *router = h->router;
    fenv_t inherited;
    gx__float_env_default(&inherited);
    pthread_mutex_lock(&router->lock);
    while (!h->stop) {
        if (!h->errand) {
            pthread_cond_wait(&h->wake, &router->lock);
            continue;
        }
        pthread_mutex_unlock(&router->lock);
        gx__errand_run(h->errand);
        pthread_mutex_lock(&router->lock);
        h->errand->done = true;
        h->errand = NULL;
        h->next_idle = router->idle;
        router->idle = h;
        pthread_cond_signal(&h->desk->changed); /* the desk is there until the lock is given up */
    }
    pthread_mutex_unlock(&router->lock);
    return NULL;
}

/* Under the lock; NULL: cannot be had. */
static struct gx_helper *new_helper(struct gx_router *router)
{
    if (router->helper_count == HELPERS_MAX)
        return NULL;
    struct gx_helper *h = gx__alloc(allocator(router), sizeof *h);
    if (!h)
        return NULL;
    h->router = router;
    pthread_cond_init(&h->wake, NULL);
    if (!gx__thread_start(&h->thread, help, h)) {
        pthread_cond_destroy(&h->wake);
        gx__free(allocator(router), h);
        return NULL;
    }
    h->next = router->helpers;
    router->helpers = h;
    router->helper_count++;
    return h;
}

bool gx__desk_send(struct gx_router *router, struct gx_desk *desk, struct gx_errand *errand)
{
    pthread_mutex_lock(&router->lock);
    struct gx_helper *h = router->idle;
    if (h)
        router->idle = h->next_idle;
    else
        h = new_helper(router);
    if (h) {
        h->errand = errand;
        h->desk = desk;
        errand->done = false;
        pthread_cond_signal(&h->wake);
    }
    pthread_mutex_unlock(&router->lock);
    return h != NULL;
}

void gx__desk_await(struct gx_router *router, struct gx_desk *desk, const struct gx_errand *errand)
{
    pthread_mutex_lock(&router->lock);
    while (!errand->done)
        pthread_cond_wait(&desk->changed, &router->lock);
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
