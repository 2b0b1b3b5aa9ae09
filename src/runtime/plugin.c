/* SPDX-License-Identifier: Apache-2.0 */
/* Loads plug-ins, and closes them when their runtime ends. */
#include <gpuc/plugin.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/require.h"
#include "runtime/impl.h"

typedef gpuc_status (*plugin_init)(gpuc_runtime *rt, uint32_t abi);

/* dlerror names the file that it is about first, which may be another one than the plug-in. */
static gpuc_status open_failed(const char *path)
{
    const char *why = dlerror();
    bool is_there = access(path, F_OK) == 0;
    if (!why) why = "it cannot be opened";
    size_t n = strlen(path);
    if (strncmp(why, path, n) == 0 && strncmp(why + n, ": ", 2) == 0) why += n + 2;
    bool lacks_names = strstr(why, "undefined symbol: gpuc_") != NULL;
    return gpuc_fail(is_there ? GPUC_INVALID_DATA : GPUC_NOT_FOUND, "%s%s", why,
                     lacks_names
                         ? "; link the program with the shared library, which is libgpuc.so for names of the "
                           "compiler, else libgpuc_runtime.so"
                         : "");
}

static gpuc_status open_library(gpuc_runtime *rt, const char *path, void **out)
{
    bool is_here = !strchr(path, '/') && access(path, F_OK) == 0;
    size_t size = strlen(path) + sizeof "./";
    char *file = gpuc_mem_alloc(rt->allocator, size);
    if (!file) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a plug-in");
    snprintf(file, size, "%s%s", is_here ? "./" : "", path);
    struct stat about;
    if (stat(file, &about) == 0 && !S_ISREG(about.st_mode)) {
        gpuc_mem_free(rt->allocator, file, size);
        return gpuc_fail(GPUC_INVALID_DATA,
                         "it is no file"); /* opening a pipe would wait for its other end */
    }
    *out = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    gpuc_status status = *out ? NULL : open_failed(file);
    gpuc_mem_free(rt->allocator, file, size);
    return status;
}

/* dlsym looks into the plug-in and what it is linked with, not into the program: what it finds there must be in the
 * object that this code is in. It finds nothing if the plug-in is linked with no library of gpuc, and then the names
 * are the program's. */
static gpuc_status check_one_copy(void *handle)
{
    static const char here = 0;
    Dl_info own, other;
    void *found = dlsym(handle, "gpuc_error_make");
    if (!found || !dladdr(found, &other) || !dladdr(&here, &own)) return NULL;
    if (other.dli_fbase == own.dli_fbase) return NULL;
    return gpuc_fail(
        GPUC_UNSUPPORTED,
        "it brings a copy of gpuc along, in %s, and the program has its own, in %s; link the program "
        "with the shared library (libgpuc.so or libgpuc_runtime.so), and the plug-in with the same one",
        other.dli_fname, own.dli_fname);
}

static gpuc_status keep(gpuc_runtime *rt, void *handle, gpuc_plugin **out)
{
    for (gpuc_plugin *p = rt->plugins; p; p = p->next)
        if (p->handle == handle && !p->failed)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "this runtime has loaded it before");
    gpuc_plugin *p = *out = gpuc_mem_alloc(rt->allocator, sizeof *p);
    if (!p) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a plug-in");
    *p = (gpuc_plugin){.handle = handle, .next = rt->plugins};
    rt->plugins = p;
    return NULL;
}

/* All that it registers, or nothing; so too with plug-ins that it loads. The library stays: its message may be in use. */
static gpuc_status initialise(gpuc_runtime *rt, gpuc_plugin *p, plugin_init init)
{
    const gpuc_driver_entry *drivers = atomic_load(&rt->drivers);
    gpuc_registry_change *mark = gpuc_registry_begin_changes(rt);
    gpuc_status status = init(rt, GPUC_ABI_VERSION);
    gpuc_registry_end_changes(rt, mark, status != NULL);
    if (status) gpuc_runtime_remove_drivers(rt, drivers);
    for (gpuc_plugin *q = rt->plugins; status && q != p->next; q = q->next) q->failed = true;
    return status;
}

static gpuc_status load(gpuc_runtime *rt, const char *path)
{
    void *handle = NULL;
    plugin_init init;
    if (!*path) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the path is empty");
    GPUC_TRY(open_library(rt, path, &handle));
    *(void **)&init = dlsym(handle, "gpuc_plugin_init");
    gpuc_status status = check_one_copy(handle);
    if (!status && !init)
        status = gpuc_fail(GPUC_INVALID_DATA, "it exports no function gpuc_plugin_init (gpuc/plugin.h)");
    gpuc_plugin *p = NULL;
    if (!status) status = keep(rt, handle, &p);
    if (!status) return initialise(rt, p, init);
    dlclose(handle);
    return status;
}

gpuc_status gpuc_plugin_load(gpuc_runtime *rt, const char *path)
{
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(path);
    return gpuc_error_prefix(load(rt, path), "plug-in '%s'", path);
}

void gpuc_runtime_close_plugins(gpuc_runtime *rt)
{
    while (rt->plugins) {
        gpuc_plugin *p = rt->plugins;
        rt->plugins = p->next;
        dlclose(p->handle);
        gpuc_mem_free(rt->allocator, p, sizeof *p);
    }
}
