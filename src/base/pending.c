/* SPDX-License-Identifier: Apache-2.0 */
/* Notes what is on disk only for a while, and removes it from a signal handler: without locks and memory. */
#include "base/pending.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"

typedef enum pending_state { PENDING_FREE, PENDING_TAKEN, PENDING_EXISTS } pending_state;

struct gpuc_pending {
    gpuc_allocator allocator;
    gpuc_pending_file files[GPUC_MAX_PENDING_FILES];
    gpuc_pending_folder folders[GPUC_MAX_PENDING_FOLDERS];
};

gpuc_status gpuc_pending_create(const gpuc_allocator *allocator, gpuc_pending **out)
{
    gpuc_allocator a = allocator ? *allocator : (gpuc_allocator){0};
    *out = gpuc_mem_alloc(a, sizeof **out);
    if (!*out) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a table of pending files");
    (*out)->allocator = a;
    return NULL;
}

void gpuc_pending_destroy(gpuc_pending *p)
{
    if (p) gpuc_mem_free(p->allocator, p, sizeof *p);
}

static bool take(gpuc_pending_entry *e)
{
    int free_state = PENDING_FREE;
    if (!atomic_compare_exchange_strong(&e->state, &free_state, PENDING_TAKEN)) return false;
    e->pid = getpid();
    return true;
}

gpuc_pending_file *gpuc_pending_take_file(gpuc_pending *p, gpuc_pending_file *own)
{
    if (!p) return own;
    for (int i = 0; i < GPUC_MAX_PENDING_FILES; i++)
        if (take(&p->files[i].entry)) return &p->files[i];
    return NULL;
}

gpuc_pending_folder *gpuc_pending_take_folder(gpuc_pending *p, gpuc_pending_folder *own)
{
    if (!p) return own;
    for (int i = 0; i < GPUC_MAX_PENDING_FOLDERS; i++)
        if (take(&p->folders[i].entry)) return &p->folders[i];
    return NULL;
}

void gpuc_pending_set(gpuc_pending_entry *e, bool exists)
{
    atomic_store(&e->state, exists ? PENDING_EXISTS : PENDING_TAKEN);
}

void gpuc_pending_give(gpuc_pending_entry *e)
{
    atomic_store(&e->state, PENDING_FREE);
}

static bool exists(gpuc_pending_entry *e, pid_t self)
{
    return atomic_load(&e->state) == PENDING_EXISTS && e->pid == self;
}

void gpuc_pending_discard(gpuc_pending *p)
{
    if (!p) return;
    int saved = errno;
    pid_t self = getpid();
    for (int i = 0; i < GPUC_MAX_PENDING_FILES; i++)
        if (exists(&p->files[i].entry, self)) unlinkat(p->files[i].dir, p->files[i].name, 0);
    for (int i = 0; i < GPUC_MAX_PENDING_FOLDERS; i++)
        if (exists(&p->folders[i].entry, self)) gpuc_folder_remove(p->folders[i].path);
    errno = saved;
}

/* As the kernel writes it: readdir allocates, which a signal handler must not. */
typedef struct entry64 {
    uint64_t ino;
    int64_t off;
    uint16_t length;
    uint8_t type;
    char name[];
} entry64;

/* The C compiler may make folders in its folder for temporary files, as ccache does, and one below them. */
enum { MAX_DEPTH = 4 };

static void empty_folder(int dir, int depth)
{
    _Alignas(entry64) char bytes[1024];
    for (long n; (n = syscall(SYS_getdents64, dir, bytes, sizeof bytes)) > 0;)
        for (long at = 0; at < n;) {
            const entry64 *e = (const entry64 *)(bytes + at);
            at += e->length;
            if (!strcmp(e->name, ".") || !strcmp(e->name, "..") || !unlinkat(dir, e->name, 0)) continue;
            int below = openat(dir, e->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
            if (below < 0) continue;
            if (depth < MAX_DEPTH) empty_folder(below, depth + 1);
            close(below);
            unlinkat(dir, e->name, AT_REMOVEDIR);
        }
}

void gpuc_folder_remove(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir < 0) return;
    empty_folder(dir, 0);
    close(dir);
    rmdir(path);
}
