/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers leak at exit; leaks of a library that was unloaded before have no name to suppress them by. */
#include "cli.h"

#ifdef __SANITIZE_ADDRESS__
#include <dlfcn.h>
#include <link.h>
#include <string.h>

static int keep_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
    static const char *const drivers[] = {"libvulkan", "libVkLayer", "libLLVM",
                                          "libpocl",   "libOpenCL",  "oclgrind"};
    (void)size;
    (void)arg;
    for (size_t i = 0; i < CLI_COUNT(drivers); i++)
        if (info->dlpi_name && strstr(info->dlpi_name, drivers[i]))
            dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    return 0;
}

void cli_keep_drivers_loaded(void)
{
    dl_iterate_phdr(keep_loaded, NULL);
}

__attribute__((visibility("default"), used)) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libvulkan\nleak:libVkLayer\nleak:libLLVM\nleak:libpocl\nleak:libOpenCL\nleak:libclang\n"
           "leak:liboclgrind\n";
}
#else
void cli_keep_drivers_loaded(void)
{
}
#endif
