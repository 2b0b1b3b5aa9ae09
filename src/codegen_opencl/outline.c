/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of one work-item per group become a function that does the work, which the driver shall not inline,
 * and an entry that calls it. PoCL inlines a kernel into each of its launchers (two with PoCL 6, three with
 * 3.1), and then optimizes and compiles every copy: a third of the time of a network's first run. */
#include <string.h>

#include "codegen_opencl/private.h"

typedef struct outline {
    gpuc_ctx *ctx;
    const char *parameters; /* of the function */
    const char *arguments;  /* of the call */
} outline;

static bool is_alone(const gpuc_kernel_code *k, const char *text)
{
    static const char *const words[] = {"get_local_id(", "__local ", "barrier(", "sub_group"};
    const uint32_t *size = k->meta.local_size;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i])) return false;
    return size[0] == 1 && size[1] == 1 && size[2] == 1;
}

static const char *append(gpuc_ctx *ctx, const char *list, const char *item, size_t size)
{
    return gpuc_ctx_printf(ctx, "%s%s%.*s", list, *list ? ", " : "", (int)size, item);
}

/* The argument of "__global float *restrict A" is A. */
static void add_parameters(outline *o, const char *at, const char *end)
{
    while (at < end) {
        at += strspn(at, " \n");
        size_t size = strcspn(at, ",)"), start = size;
        while (at[start - 1] != ' ' && at[start - 1] != '*') start--;
        o->parameters = append(o->ctx, o->parameters, at, size);
        o->arguments = append(o->ctx, o->arguments, at + start, size - start);
        at += size + 1;
    }
}

/* "    const int bx = get_group_id(0);" becomes a parameter: PoCL knows the group in entries only. */
static bool take_group(outline *o, const char *line, size_t size)
{
    static const char middle[] = " = get_group_id(", indent[] = "    ";
    const char *at = strstr(line, middle);
    if (!at || at >= line + size) return false;
    const char *name = line + strlen(indent), *value = at + strlen(" = ");
    o->parameters = append(o->ctx, o->parameters, name, (size_t)(at - name));
    o->arguments = append(o->ctx, o->arguments, value, strcspn(value, ";"));
    return true;
}

static bool is_taken(int n, const gpuc_opencl_entry *entries, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(entries[i].name, name) == 0) return true;
    return false;
}

static const char *rewrite(gpuc_ctx *ctx, const char *text, const char *function)
{
    static const char start[] = ")\n{\n";
    const char *open = strchr(strstr(text, "\nvoid "), '('), *close = strstr(open, start);
    outline o = {.ctx = ctx, .parameters = "", .arguments = ""};
    add_parameters(&o, open + 1, close);
    size_t size;
    gpuc_buf *out = gpuc_opencl_buf(ctx);
    for (const char *line = close + strlen(start); *line; line += size) {
        size = strcspn(line, "\n") + 1;
        if (!take_group(&o, line, size)) gpuc_buf_bytes(out, line, size);
    }
    const char *body = gpuc_opencl_take(ctx, out, &size);
    out = gpuc_opencl_buf(ctx);
    gpuc_buf_printf(out, "__attribute__((noinline)) static void %s(%s)\n{\n%s\n", function, o.parameters,
                    body);
    gpuc_buf_bytes(out, text, (size_t)(close - text));
    gpuc_buf_printf(out, "%s    %s(%s);\n}\n", start, function, o.arguments);
    return gpuc_opencl_take(ctx, out, &size);
}

void gpuc_opencl_outline(gpuc_ctx *ctx, int n, const gpuc_kernel_code *kernels, gpuc_opencl_entry *entries)
{
    for (int i = 0; i < n; i++) {
        gpuc_opencl_entry *e = &entries[i];
        if (!e->text || !is_alone(&kernels[i], e->text)) continue;
        const char *function = gpuc_ctx_printf(ctx, "%s_body", e->name);
        while (is_taken(n, entries, function)) function = gpuc_ctx_printf(ctx, "%s_", function);
        e->text = rewrite(ctx, e->text, function);
    }
}
