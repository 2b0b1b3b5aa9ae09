/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "../onnx/writer.h"
#include "../relay/fixture.h"
#include "random_graph.h"

bool graph_is_read(const graph *g, int value)
{
    for (int i = 0; i < g->num_nodes; i++)
        for (int k = 0; k < g->nodes[i].n_in; k++)
            if (g->nodes[i].in[k] == value) return true;
    return false;
}

static int64_t count_of(const graph_value *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->ndim; d++) n *= v->dims[d];
    return n;
}

/* "2,A,3" */
static const char *dims_text(const graph_value *v, bool open, char text[160])
{
    char *at = text;
    *at = 0;
    for (int d = 0; d < v->ndim; d++) {
        if (open && v->letter[d])
            at += sprintf(at, "%s%c", d ? "," : "", v->letter[d]);
        else
            at += sprintf(at, "%s%lld", d ? "," : "", (long long)v->dims[d]);
    }
    return text;
}

static float *elements_of(const graph *g, int value)
{
    const graph_value *v = &g->values[value];
    int64_t n = count_of(v);
    float *out = malloc(sizeof *out * (size_t)(n + 1));
    fx_rng r = {g->seed * 131 + (uint64_t)value};
    if (!out) abort();
    for (int64_t i = 0; i < n; i++) out[i] = (float)(v->positive ? 1 + fx_real(&r) / 2 : fx_real(&r));
    return out;
}

static void write_constant(wr_model *m, const graph *g, int value)
{
    const graph_value *v = &g->values[value];
    char name[16], dims[160];
    snprintf(name, sizeof name, "v%d", value);
    dims_text(v, false, dims);
    if (v->kind == GRAPH_LISTED) {
        wr_ints(m, name, dims, v->list);
        return;
    }
    float *elements = elements_of(g, value);
    wr_floats(m, name, dims, elements);
    free(elements);
}

static void names(const int *values, int n, char text[128])
{
    char *at = text;
    *at = 0;
    for (int i = 0; i < n; i++)
        at += values[i] < 0 ? sprintf(at, "%s", i ? "," : "") : sprintf(at, "%sv%d", i ? "," : "", values[i]);
}

void graph_write(const graph *g, bool open, gpuc_buf *out)
{
    wr_model m;
    char name[16], dims[160], in[128], outs[128];
    wr_begin(&m, 17);
    for (int i = 0; i < g->num_values; i++) {
        const graph_value *v = &g->values[i];
        bool read = graph_is_read(g, i);
        snprintf(name, sizeof name, "v%d", i);
        if (v->kind == GRAPH_INPUT && read) wr_input(&m, name, v->type, dims_text(v, open, dims));
        if ((v->kind == GRAPH_CONSTANT || v->kind == GRAPH_LISTED) && read) write_constant(&m, g, i);
        if (v->kind == GRAPH_MADE && !read) wr_output(&m, name);
    }
    for (int i = 0; i < g->num_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        names(n->in, n->n_in, in);
        names(n->out, n->n_out, outs);
        wr_node(&m, n->op, in, outs, n->attrs);
    }
    wr_end(&m, out);
}

static void print_constant(FILE *to, const graph *g, int value)
{
    const graph_value *v = &g->values[value];
    char dims[160];
    int64_t n = count_of(v);
    dims_text(v, false, dims);
    if (v->kind == GRAPH_LISTED) {
        fprintf(to, "    wr_ints(&m, \"v%d\", \"%s\", (int64_t[]){", value, dims);
        for (int64_t i = 0; i < n; i++) fprintf(to, "%s%lld", i ? ", " : "", (long long)v->list[i]);
        fprintf(to, "});\n");
        return;
    }
    float *elements = elements_of(g, value);
    fprintf(to, "    wr_floats(&m, \"v%d\", \"%s\", (float[]){", value, dims);
    for (int64_t i = 0; i < n; i++) fprintf(to, "%s%.9g", i ? ", " : "", (double)elements[i]);
    fprintf(to, "});\n");
    free(elements);
}

void graph_print(FILE *to, const graph *g, bool open)
{
    char dims[160], here[160], in[128], outs[128];
    fprintf(to, "    wr_begin(&m, 17);\n");
    for (int i = 0; i < g->num_values; i++) {
        const graph_value *v = &g->values[i];
        bool read = graph_is_read(g, i);
        if (v->kind == GRAPH_INPUT && read)
            fprintf(to, "    wr_input(&m, \"v%d\", %d, \"%s\"); /* here %s */\n", i, v->type,
                    dims_text(v, open, dims), dims_text(v, false, here));
        if ((v->kind == GRAPH_CONSTANT || v->kind == GRAPH_LISTED) && read) print_constant(to, g, i);
        if (v->kind == GRAPH_MADE && !read) fprintf(to, "    wr_output(&m, \"v%d\");\n", i);
    }
    for (int i = 0; i < g->num_nodes; i++) {
        const graph_node *n = &g->nodes[i];
        names(n->in, n->n_in, in);
        names(n->out, n->n_out, outs);
        fprintf(to, "    wr_node(&m, \"%s\", \"%s\", \"%s\", \"%s\");\n", n->op, in, outs, n->attrs);
    }
}

/* Nodes none of whose results are read, and were outputs only because of that, stay: they are outputs. */
void graph_drop(graph *g, int node)
{
    graph_node gone = g->nodes[node];
    memmove(&g->nodes[node], &g->nodes[node + 1], sizeof gone * (size_t)(g->num_nodes - node - 1));
    g->num_nodes--;
    for (int i = 0; i < gone.n_out; i++) {
        graph_value *v = &g->values[gone.out[i]];
        v->kind = GRAPH_INPUT;
        memset(v->letter, 0, sizeof v->letter);
    }
}
