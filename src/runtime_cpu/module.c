/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a shared object from bytes, and finds its kernels. */
#include "runtime_cpu/cpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/elf.h"
#include "base/arena.h"

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

/* Not a program: systems may refuse to make those in memory (vm.memfd_noexec), and mapping needs no such right. Linux
 * before 6.3 does not know the flag. */
static int create_in_memory(void)
{
    int fd = memfd_create("gpuc-kernels", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    return fd < 0 && errno == EINVAL ? memfd_create("gpuc-kernels", MFD_CLOEXEC) : fd;
}

/* Loads the file; reasons are told without its path, which means nothing to the user. */
static gpuc_status open_path(gpuc_cpu_module *m, const char *path)
{
    m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (m->library) return NULL;
    const char *reason = dlerror();
    size_t n = strlen(path);
    if (!reason) reason = "?";
    if (strncmp(reason, path, n) == 0 && strncmp(reason + n, ": ", 2) == 0) reason += n + 2;
    return gpuc_fail(GPUC_INVALID_DATA, "the CPU code cannot be loaded: %s", reason);
}

/* dlopen knows libraries by path. The descriptor stays open as long as the library, so that no other file
 * gets its number; the unusual spelling avoids the paths of others who load libraries this way. */
static gpuc_status open_in_memory(gpuc_cpu_module *m, const void *bytes, size_t size)
{
    int fd = create_in_memory();
    if (fd < 0) return gpuc_fail(GPUC_IO, "memfd_create: %s", strerror(errno));
    int err = write_all(fd, bytes, size);
    if (err) {
        close(fd);
        return gpuc_fail(GPUC_IO, "writing the CPU code to memory: %s", strerror(err));
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/./fd/%d", fd);
    gpuc_status s = open_path(m, path);
    if (s) {
        close(fd);
        return s;
    }
    m->fd = fd;
    return NULL;
}

static gpuc_status open_in_dir(gpuc_cpu_module *m, const char *dir, const void *bytes, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "%s/gpuc-XXXXXX", dir);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) return gpuc_fail(GPUC_IO, "cannot make a file in '%s': %s", dir, strerror(errno));
    int err = write_all(fd, bytes, size);
    close(fd);
    gpuc_status s =
        err ? gpuc_fail(GPUC_IO, "cannot write '%s': %s", path, strerror(err)) : open_path(m, path);
    unlink(path);
    return s;
}

/* Loads from memory; where that cannot be executed or /proc is missing, from a file that is removed at
 * once. If neither works, the message has both reasons, or the one that is the same. */
static gpuc_status open_library(gpuc_cpu_module *m, const void *bytes, size_t size)
{
    static const char *const dirs[] = {"/tmp", "/dev/shm", "/var/tmp"};
    gpuc_status first = open_in_memory(m, bytes, size), last = NULL;
    for (size_t i = 0; first && i < sizeof dirs / sizeof *dirs; i++) {
        gpuc_status_release(last);
        last = open_in_dir(m, dirs[i], bytes, size);
        if (last) continue;
        gpuc_status_release(first);
        first = NULL;
    }
    if (first && strcmp(gpuc_status_message(first), gpuc_status_message(last)) != 0)
        first = gpuc_error_prefix(first, "neither in memory nor in a file of /tmp, /dev/shm or /var/tmp (%s)",
                                  gpuc_status_message(last));
    gpuc_status_release(last);
    return first;
}

static gpuc_status find_kernels(gpuc_cpu_module *m, const gpuc_kernel *const *kernels)
{
    char *names = (char *)&m->kernels[m->num_kernels];
    for (uint32_t i = 0; i < m->num_kernels; i++) {
        size_t size = strlen(kernels[i]->name) + 1;
        m->kernels[i].name = memcpy(names, kernels[i]->name, size);
        m->kernels[i].module = m;
        names += size;
        void *symbol = dlsym(m->library, kernels[i]->name);
        if (!symbol)
            return gpuc_fail(GPUC_INVALID_DATA, "the CPU code has no function '%s' (%s)", kernels[i]->name,
                             kernels[i]->label ? kernels[i]->label : "");
        m->kernels[i].meta = kernels[i];
        memcpy(&m->kernels[i].fn, &symbol, sizeof symbol);
    }
    return NULL;
}

static size_t module_bytes(const gpuc_kernel *const *kernels, uint32_t num_kernels)
{
    size_t bytes = sizeof(gpuc_cpu_module) + num_kernels * sizeof(gpuc_cpu_kernel);
    for (uint32_t i = 0; i < num_kernels; i++) bytes += strlen(kernels[i]->name) + 1;
    return bytes;
}

gpuc_status gpuc_cpu_module_load(gpuc_device *device, const char *type_key, const void *bytes, size_t size,
                                 const gpuc_kernel *const *kernels, uint32_t num_kernels,
                                 gpuc_code_module **out)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    *out = NULL;
    if (strcmp(type_key, "cpu_so") != 0)
        return gpuc_fail(GPUC_UNSUPPORTED, "the CPU device loads modules of kind 'cpu_so', not '%s'",
                         type_key);
    GPUC_TRY(gpuc_abi_elf_check(bytes, size));
    size_t own_bytes = module_bytes(kernels, num_kernels);
    gpuc_cpu_module *m = gpuc_mem_alloc(dev->allocator, own_bytes);
    if (!m) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a module of %u kernels", num_kernels);
    m->dev = dev;
    m->bytes = own_bytes;
    atomic_init(&m->refs, 1);
    m->fd = -1;
    m->num_kernels = num_kernels;
    gpuc_status s = open_library(m, bytes, size);
    if (!s) s = find_kernels(m, kernels);
    if (s) {
        gpuc_cpu_module_release(device, (gpuc_code_module *)m);
        return s;
    }
    *out = (gpuc_code_module *)m;
    return NULL;
}

void gpuc_cpu_module_release(gpuc_device *device, gpuc_code_module *module)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    gpuc_cpu_module *m = (gpuc_cpu_module *)module;
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
    if (m->library) dlclose(m->library);
    if (m->fd >= 0) close(m->fd);
    gpuc_mem_free(dev->allocator, m, m->bytes);
}

gpuc_status gpuc_cpu_kernel_get(gpuc_code_module *module, const char *name, uint32_t *out)
{
    const gpuc_cpu_module *m = (const gpuc_cpu_module *)module;
    *out = 0;
    for (uint32_t i = 0; i < m->num_kernels; i++)
        if (strcmp(m->kernels[i].name, name) == 0) {
            *out = i;
            return NULL;
        }
    return gpuc_fail(GPUC_NOT_FOUND, "the module has no kernel '%s'", name);
}
