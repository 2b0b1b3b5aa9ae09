/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the operators of two builds of one model by the model's nodes that they come from. */
#include "compare/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "text.h"

/* Operators that store into one tensor, each a part, are followed by one that launches nothing and has them
 * all as inputs: only then its output is whole. */
static bool is_joined(const gpuc_node_info *n)
{
    return n->num_steps == 0 && n->num_inputs > 1;
}

static bool is_output_of(uint32_t value, const gpuc_node_info *n)
{
    for (int i = 0; i < n->num_outputs; i++)
        if (n->values[n->num_inputs + i] == value) return true;
    return false;
}

static bool is_part_of(const gpuc_node_info *n, const gpuc_node_info *joined)
{
    for (int i = 0; is_joined(joined) && i < joined->num_inputs; i++)
        if (is_output_of(joined->values[i], n)) return true;
    return false;
}

bool compare_is_operator(const gpuc_model *m, int node)
{
    gpuc_node_info n = gpuc_model_node(m, node);
    for (int i = node + 1; i < gpuc_model_num_nodes(m); i++) {
        gpuc_node_info later = gpuc_model_node(m, i);
        if (is_part_of(&n, &later)) return false;
    }
    return (n.num_steps > 0 || is_joined(&n)) && *n.source;
}

int compare_next_part(const gpuc_model *m, int node, int after)
{
    gpuc_node_info n = gpuc_model_node(m, node);
    if (!is_joined(&n)) return after < node ? node : -1;
    for (int i = after + 1; i < node; i++) {
        gpuc_node_info part = gpuc_model_node(m, i);
        if (is_part_of(&part, &n)) return i;
    }
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

/* All operators of a program. */
typedef struct graph {
    gpuc_node_info *nodes;
    bool *is_operator;
    int num_nodes;
} graph;

static graph graph_of(const gpuc_model *m)
{
    graph g = {.num_nodes = gpuc_model_num_nodes(m)};
    g.nodes = cli_alloc((size_t)g.num_nodes * sizeof *g.nodes);
    g.is_operator = cli_alloc((size_t)g.num_nodes * sizeof *g.is_operator);
    for (int i = 0; i < g.num_nodes; i++) {
        g.nodes[i] = gpuc_model_node(m, i);
        g.is_operator[i] = compare_is_operator(m, i);
    }
    return g;
}

static void graph_free(graph *g)
{
    free(g->nodes);
    free(g->is_operator);
}

static bool same_piece(const gpuc_node_info *a, const gpuc_node_info *b)
{
    size_t n = label_length(a->name);
    return n == label_length(b->name) && memcmp(a->name, b->name, n) == 0 &&
           strcmp(a->source, b->source) == 0 && a->num_outputs == b->num_outputs;
}

/* The number of operators from first to end that compute the same as this one. */
static int count_pieces(const graph *e, int first, int end, const gpuc_node_info *like)
{
    int count = 0;
    for (int i = first; i < end; i++) count += same_piece(&e->nodes[i], like);
    return count;
}

static int count_of_source(const graph *e, int first, const char *source)
{
    int count = 0;
    for (int i = first; i < e->num_nodes; i++) count += lists(e->nodes[i].source, source);
    return count;
}

/* Whether a after x and b after y do the same remaining work for the source that x and y end with. */
static bool same_rest(const graph *a, int x, const graph *b, int y)
{
    const char *source = last_source(a->nodes[x].source);
    int num_a = a->num_nodes, num_b = b->num_nodes;
    if (strcmp(source, last_source(b->nodes[y].source)) != 0) return false;
    if (count_of_source(a, x + 1, source) != count_of_source(b, y + 1, source)) return false;
    for (int i = x + 1; i < num_a; i++)
        if (lists(a->nodes[i].source, source) &&
            count_pieces(a, x + 1, num_a, &a->nodes[i]) != count_pieces(b, y + 1, num_b, &a->nodes[i]))
            return false;
    return true;
}

static int match_one(const graph *a, int node, const graph *b)
{
    const gpuc_node_info *n = &a->nodes[node];
    int rank = count_pieces(a, 0, node, n);
    if (count_pieces(a, 0, a->num_nodes, n) == count_pieces(b, 0, b->num_nodes, n))
        for (int i = 0; i < b->num_nodes; i++)
            if (same_piece(&b->nodes[i], n) && rank-- == 0) return i;
    for (int i = 0; i < b->num_nodes; i++)
        if (b->is_operator[i] && b->nodes[i].num_outputs == n->num_outputs && same_rest(a, node, b, i))
            return i;
    return -1;
}

int *compare_match(const gpuc_model *a, const gpuc_model *b)
{
    graph x = graph_of(a), y = graph_of(b);
    int *out = cli_alloc(((size_t)x.num_nodes + 1) * sizeof *out);
    for (int i = 0; i < x.num_nodes; i++) out[i] = x.is_operator[i] ? match_one(&x, i, &y) : -1;
    graph_free(&x);
    graph_free(&y);
    return out;
}

/* ---- Code ---- */

gpuc_status compare_save_kernels(const gpuc_model *m, int node, const char *folder)
{
    static const struct {
        const char *code_type, *ending;
    } forms[] = {{"spirv", "spv"}, {"opencl_c", "cl"}, {"cpu_so", "so"}};
    for (int i = 0; i < gpuc_model_node(m, node).num_steps; i++) {
        gpuc_node_step step = gpuc_model_node_step(m, node, i);
        for (size_t f = 0; step.code && f < CLI_COUNT(forms); f++) {
            if (strcmp(forms[f].code_type, step.code_type) != 0) continue;
            char *path = cli_printf("%s/%s.%s", folder, step.variant, forms[f].ending);
            gpuc_status status = gpuc_file_put(cli_pending, path, step.code, step.code_size);
            free(path);
            GPUC_TRY(status);
        }
    }
    return NULL;
}

char *compare_kernels_text(const gpuc_model *m, int node)
{
    cli_text text = {0};
    for (int i = 0; i < gpuc_model_node(m, node).num_steps; i++) {
        const char *kernel = gpuc_model_node_step(m, node, i).kernel;
        cli_text_printf(&text, "%s%s", i ? ", " : "", kernel ? kernel : "copy");
    }
    return text.at ? text.at : cli_printf("%s", "");
}
