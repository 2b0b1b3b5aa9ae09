/* SPDX-License-Identifier: Apache-2.0 */
/* Writes parts of a package as text: expressions, slots, features, provenance. */
#include <stdlib.h>
#include <string.h>
#include <string.h>

#include "base/buf.h"
#include "base/size.h"
#include "cli.h"
#include "inspect/inspect.h"

#define SLOT_ALIGN 256 /* where the executor starts slots */

static char *finish(gpuc_buf *buf)
{
    char *text = cli_printf("%s", gpuc_buf_cstr(buf));
    gpuc_buf_deinit(buf);
    return text;
}

char *cli_expr_text(const gpuc_program *p, gpuc_xexpr e)
{
    const char **names = cli_alloc((p->exec.num_symbols + 1) * sizeof *names);
    gpuc_buf buf;
    gpuc_buf_init(&buf, (gpuc_allocator){0});
    for (uint32_t i = 0; i < p->exec.num_symbols; i++) names[i] = p->exec.symbols[i].name;
    gpuc_xexpr_print(&buf, e, names);
    free(names);
    return finish(&buf);
}

char *cli_node_kernels(const gpuc_program *p, const gpuc_exec_node *node)
{
    gpuc_buf buf;
    gpuc_buf_init(&buf, (gpuc_allocator){0});
    for (uint32_t i = 0; i < node->num_steps; i++) {
        const gpuc_exec_step *s = &p->exec.steps[node->first_step + i];
        gpuc_buf_printf(&buf, "%s%s", i ? ", " : "",
                        s->kind == GPUC_STEP_LAUNCH ? p->kernels[s->kernel].name : "copy");
    }
    return finish(&buf);
}

char *cli_slot_values(const gpuc_program *p, uint32_t slot)
{
    gpuc_buf buf;
    gpuc_buf_init(&buf, (gpuc_allocator){0});
    for (uint32_t v = 0; v < p->exec.num_values; v++) {
        const gpuc_exec_value *value = &p->exec.values[v];
        if (value->slot != slot) continue;
        if (buf.size) gpuc_buf_str(&buf, ", ");
        if (*value->name)
            gpuc_buf_str(&buf, value->name);
        else
            gpuc_buf_printf(&buf, "#%u", v);
    }
    return finish(&buf);
}

bool cli_slot_life(const gpuc_program *p, uint32_t slot, uint32_t *first, uint32_t *last)
{
    bool used = false;
    for (uint32_t s = 0; s < p->exec.num_steps; s++) {
        const gpuc_exec_step *step = &p->exec.steps[s];
        for (uint32_t t = 0; t < step->num_tensors; t++) {
            if (p->exec.values[step->tensors[t].value].slot != slot) continue;
            if (!used) *first = s;
            *last = s;
            used = true;
        }
    }
    return used;
}

char *cli_kernel_configuration(const gpuc_package *g, uint32_t program, const char *kernel)
{
    char *start = cli_printf("kernel %u %s: ", program, kernel), *out = NULL;
    size_t n = strlen(start);
    for (const char *line = g->provenance; *line && !out; line += strcspn(line, "\n"), line += *line == '\n')
        if (!strncmp(line, start, n)) out = cli_printf("%.*s", (int)strcspn(line + n, "\n"), line + n);
    free(start);
    return out ? out : cli_printf("default");
}

char *cli_provenance(const gpuc_package *g)
{
    gpuc_buf buf;
    gpuc_buf_init(&buf, (gpuc_allocator){0});
    for (const char *line = g->provenance, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        if (strncmp(line, "kernel ", 7)) gpuc_buf_bytes(&buf, line, (size_t)(next - line));
    }
    return finish(&buf);
}

const char *cli_slot_kind_name(gpuc_slot_kind kind)
{
    static const char *const names[GPUC_SLOT_KIND_COUNT] = {
        [GPUC_SLOT_INPUT] = "input",
        [GPUC_SLOT_OUTPUT] = "output",
        [GPUC_SLOT_WEIGHT] = "weight",
        [GPUC_SLOT_ARENA] = "arena",
    };
    return names[kind];
}

char *cli_features_text(uint32_t features)
{
    gpuc_buf buf;
    gpuc_buf_init(&buf, (gpuc_allocator){0});
    for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
        if (features >> i & 1)
            gpuc_buf_printf(&buf, "%s%s", buf.size ? " " : "", gpuc_feature_name((gpuc_feature)(1u << i)));
    return finish(&buf);
}

cli_memory cli_memory_of(const gpuc_program *p)
{
    cli_memory m = {0};
    for (uint32_t i = 0; i < p->exec.num_slots; i++) {
        const gpuc_exec_slot *slot = &p->exec.slots[i];
        int64_t size;
        if (slot->kind != GPUC_SLOT_ARENA) continue;
        m.arena_slots++;
        if (gpuc_xexpr_is_const(slot->size, &size))
            m.arena_bytes += gpuc_align_up((uint64_t)size, SLOT_ALIGN);
        else
            m.symbolic++;
    }
    return m;
}
