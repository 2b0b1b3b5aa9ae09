/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers leak at exit; leaks of a library that was unloaded before have no name to suppress them by. */
#include "sanitize.h"

#ifdef GPUC_SANITIZED
#include <dlfcn.h>
#include <link.h>
#include <string.h>

static int keep_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
    static const char *const drivers[] = {"libvulkan", "libVkLayer", "libLLVM", "libpocl",
                                          "libOpenCL", "libclang",   "oclgrind"};
    (void)size;
    (void)arg;
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (info->dlpi_name && strstr(info->dlpi_name, drivers[i]))
            dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    return 0;
}

void cli_keep_drivers_loaded(void)
{
    dl_iterate_phdr(keep_loaded, NULL);
}

#define FOR_THE_SANITIZER __attribute__((visibility("default"), used))

FOR_THE_SANITIZER const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libvulkan\nleak:libVkLayer\nleak:libLLVM\nleak:libpocl\nleak:libOpenCL\nleak:libclang\n"
           "leak:liboclgrind\n";
}

/* The libraries of gcc 13, LLVM 16 and before take any thread-local storage that a driver loads at a certain
 * offset for that of an old glibc, read a size where there is none, and die while they look for leaks
 * (github.com/google/sanitizers/issues/1322). Freed memory is kept from use until 16 MB more are freed: with the
 * default of 256 MB a test whose threads come and go takes 5 GB, and most of its time for their pages. */
FOR_THE_SANITIZER const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "intercept_tls_get_addr=0:quarantine_size_mb=16";
}
#else
void cli_keep_drivers_loaded(void)
{
}
#endif
