/* SPDX-License-Identifier: Apache-2.0 */
/* Which instruction sets a shared object was compiled for: the compiler's own macros say it, in a text that
 * the code carries, whatever -mcpu=, flags and compiler the target has. */
#include <string.h>

#include "codegen_c/private.h"

#define MARK "gpuc instruction sets:"

static const char *const source[] = {
    "\nstatic const char instruction_sets[] __attribute__((used)) = \"" MARK "\"\n",
#define GPUC_ISA_X86(name, macro, leaf, subleaf, reg, bit, xcr0)                                             \
    "#if (defined(__x86_64__) || defined(__i386__)) && defined(" #macro ")\n\" " #name "\"\n#endif\n",
#define GPUC_ISA_HWCAP(name, arch, macro, entry, bit)                                                        \
    "#if defined(" #arch ") && defined(" #macro ")\n\" " #name "\"\n#endif\n",
#include "abi/cpu_isa.def"
    "\";\";\n",
};

void gpuc_c_write_isa(gpuc_buf *out)
{
    for (size_t i = 0; i < sizeof source / sizeof *source; i++) gpuc_buf_str(out, source[i]);
}

void gpuc_c_read_isa(gpuc_ctx *ctx, const void *code, size_t size, gpuc_linked *out)
{
    const char *at = memmem(code, size, MARK, strlen(MARK));
    if (!at) gpuc_raise(ctx, GPUC_INTERNAL, "the C compiler left out what tells its instruction sets");
    at += strlen(MARK);
    const char *end = memchr(at, ';', size - (size_t)(at - (const char *)code));
    size_t words = 0;
    for (const char *p = at; p < end; p++) words += *p == ' ';
    gpuc_requirement *list = gpuc_new_array(ctx, gpuc_requirement, words + 1);
    while (at < end) {
        size_t n = 0;
        while (at + 1 + n < end && at[1 + n] != ' ') n++;
        list[out->num_requirements++] =
            (gpuc_requirement){.name = gpuc_ctx_printf(ctx, "cpu.%.*s", (int)n, at + 1), .at_least = 1};
        at += 1 + n;
    }
    out->requirements = list;
}
