/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "cli.h"
#include "executor/model.h"

/* Operators that store into one tensor, each a part, are followed by one that launches nothing and has them
 * all as inputs: only then its output is whole. */
static bool is_joined(const gpuc_exec_node *n)
{
    return n->num_steps == 0 && n->num_inputs > 1;
}

static bool is_output_of(uint32_t value, const gpuc_exec_node *n)
{
    for (uint32_t i = 0; i < n->num_outputs; i++)
        if (n->values[n->num_inputs + i] == value) return true;
    return false;
}

static bool is_part_of(const gpuc_exec_node *n, const gpuc_exec_node *joined)
{
    for (uint32_t i = 0; is_joined(joined) && i < joined->num_inputs; i++)
        if (is_output_of(joined->values[i], n)) return true;
    return false;
}

bool compare_is_operator(const gpuc_model *m, int node)
{
    const gpuc_exec_node *n = &m->exec->nodes[node];
    for (uint32_t i = (uint32_t)node + 1; i < m->exec->num_nodes; i++)
        if (is_part_of(n, &m->exec->nodes[i])) return false;
    return (n->num_steps > 0 || is_joined(n)) && *n->source;
}

int compare_next_part(const gpuc_model *m, int node, int after)
{
    const gpuc_exec_node *n = &m->exec->nodes[node];
    if (!is_joined(n)) return after < node ? node : -1;
    for (int i = after + 1; i < node; i++)
        if (is_part_of(&m->exec->nodes[i], n)) return i;
    return -1;
}

/* ---- Which operators are the same ---- */

static const char *last_source(const char *sources)
{
    const char *comma = strrchr(sources, ',');
    return comma ? comma + 1 : sources;
}

static bool lists(const char *sources, const char *source)
{
    size_t n = strlen(source);
    for (const char *at = sources; (at = strstr(at, source)); at++)
        if ((at == sources || at[-1] == ',') && (!at[n] || at[n] == ',')) return true;
    return false;
}

/* "conv2d_add" of "conv2d_add_12#34". */
static size_t label_length(const char *name)
{
    size_t n = strcspn(name, "#");
    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9') n--;
    return n > 0 && name[n - 1] == '_' ? n - 1 : n;
}

static bool same_piece(const gpuc_exec_node *a, const gpuc_exec_node *b)
{
    size_t n = label_length(a->name);
    return n == label_length(b->name) && memcmp(a->name, b->name, n) == 0 &&
           strcmp(a->source, b->source) == 0 && a->num_outputs == b->num_outputs;
}

/* How many operators from first to end are pieces like this one. */
static int count_pieces(const gpuc_exec *e, int first, int end, const gpuc_exec_node *like)
{
    int count = 0;
    for (int i = first; i < end; i++) count += same_piece(&e->nodes[i], like);
    return count;
}

static int count_of_source(const gpuc_exec *e, int first, const char *source)
{
    int count = 0;
    for (int i = first; i < (int)e->num_nodes; i++) count += lists(e->nodes[i].source, source);
    return count;
}

/* After x in a and y in b, the same is left to do of the source that both end with. */
static bool same_rest(const gpuc_exec *a, int x, const gpuc_exec *b, int y)
{
    const char *source = last_source(a->nodes[x].source);
    int num_a = (int)a->num_nodes, num_b = (int)b->num_nodes;
    if (strcmp(source, last_source(b->nodes[y].source)) != 0) return false;
    if (count_of_source(a, x + 1, source) != count_of_source(b, y + 1, source)) return false;
    for (int i = x + 1; i < num_a; i++)
        if (lists(a->nodes[i].source, source) &&
            count_pieces(a, x + 1, num_a, &a->nodes[i]) != count_pieces(b, y + 1, num_b, &a->nodes[i]))
            return false;
    return true;
}

static int match_one(const gpuc_model *a, int node, const gpuc_model *b)
{
    const gpuc_exec_node *n = &a->exec->nodes[node];
    const int num_a = (int)a->exec->num_nodes, num_b = (int)b->exec->num_nodes;
    int rank = count_pieces(a->exec, 0, node, n);
    if (count_pieces(a->exec, 0, num_a, n) == count_pieces(b->exec, 0, num_b, n))
        for (int i = 0; i < num_b; i++)
            if (same_piece(&b->exec->nodes[i], n) && rank-- == 0) return i;
    for (int i = 0; i < num_b; i++)
        if (compare_is_operator(b, i) && b->exec->nodes[i].num_outputs == n->num_outputs &&
            same_rest(a->exec, node, b->exec, i))
            return i;
    return -1;
}

int *compare_match(const gpuc_model *a, const gpuc_model *b)
{
    int *out = cli_alloc((a->exec->num_nodes + (size_t)1) * sizeof *out);
    for (int i = 0; i < (int)a->exec->num_nodes; i++)
        out[i] = compare_is_operator(a, i) ? match_one(a, i, b) : -1;
    return out;
}

/* ---- Code ---- */

static gpuc_status put(const char *folder, const char *name, const char *ending, const void *bytes,
                       size_t size)
{
    char *path = cli_printf("%s/%s.%s", folder, name, ending);
    gpuc_status status = gpuc_file_put(cli_pending, path, bytes, size);
    free(path);
    return status;
}

/* The name of the code that a kernel runs. */
static const char *code_of(gpuc_reader r, const char *kernel)
{
    for (uint32_t left = gpuc_read_count(&r, 8); left && !r.failed; left--) {
        gpuc_read_lstr(&r);
        gpuc_read_bytes(&r, 4 * (size_t)gpuc_read_count(&r, 4));
    }
    for (uint32_t left = gpuc_read_count(&r, 12); left && !r.failed; left--) {
        const char *name = gpuc_read_lstr(&r), *code = gpuc_read_lstr(&r);
        gpuc_read_bytes(&r, 4 * (size_t)gpuc_read_count(&r, 4));
        if (!r.failed && strcmp(name, kernel) == 0) return code;
    }
    return kernel;
}

static gpuc_status save_spirv(const gpuc_module_blob *blob, const char *kernel, const char *folder)
{
    gpuc_reader r = {.data = blob->bytes, .size = blob->size};
    const char *code = code_of(r, kernel);
    for (uint32_t left = gpuc_read_count(&r, 8); left && !r.failed; left--) {
        const char *name = gpuc_read_lstr(&r);
        size_t size = (size_t)gpuc_read_count(&r, 4) * 4;
        const void *words = gpuc_read_bytes(&r, size);
        if (words && strcmp(name, code) == 0) return put(folder, kernel, "spv", words, size);
    }
    return NULL;
}

static gpuc_status save_opencl(const gpuc_module_blob *blob, const char *kernel, const char *folder)
{
    gpuc_reader r = {.data = blob->bytes, .size = blob->size};
    for (uint32_t left = gpuc_read_count(&r, 12); left && !r.failed; left--) {
        gpuc_read_lstr(&r); /* options */
        const char *source = gpuc_read_lstr(&r);
        bool found = false;
        for (uint32_t entries = gpuc_read_count(&r, 20); entries && !r.failed; entries--) {
            found |= strcmp(gpuc_read_lstr(&r), kernel) == 0;
            gpuc_read_lstr(&r); /* the function that it is */
            gpuc_read_bytes(&r, 4 * (size_t)gpuc_read_count(&r, 4));
        }
        if (found && !r.failed) return put(folder, kernel, "cl", source, strlen(source));
    }
    return NULL;
}

static gpuc_status save_object(const gpuc_module_blob *blob, const char *kernel, const char *folder)
{
    return put(folder, kernel, "so", blob->bytes, blob->size);
}

gpuc_status compare_save_kernels(const gpuc_model *m, int node, const char *folder)
{
    static const struct {
        const char *type_key;
        gpuc_status (*save)(const gpuc_module_blob *blob, const char *kernel, const char *folder);
    } forms[] = {{"spirv", save_spirv}, {"opencl_c", save_opencl}, {"cpu_so", save_object}};
    const gpuc_exec_node *n = &m->exec->nodes[node];
    for (uint32_t i = 0; i < n->num_steps; i++) {
        const gpuc_exec_step *step = &m->exec->steps[n->first_step + i];
        if (step->kind != GPUC_STEP_LAUNCH) continue;
        const gpuc_kernel *k = &m->program->kernels[m->devices[step->device].chosen[step->kernel]];
        const gpuc_module_blob *blob = &m->program->modules[k->module];
        for (size_t f = 0; f < CLI_COUNT(forms); f++)
            if (strcmp(forms[f].type_key, blob->type_key) == 0)
                GPUC_TRY(forms[f].save(blob, k->name, folder));
    }
    return NULL;
}
