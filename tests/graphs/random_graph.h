/* SPDX-License-Identifier: Apache-2.0 */
/* Random ONNX graphs of a few nodes, valid by construction, with the extents and magnitudes of all values
 * known. A seed always gives the same graph. */
#ifndef GPUC_TESTS_GRAPHS_RANDOM_GRAPH_H
#define GPUC_TESTS_GRAPHS_RANDOM_GRAPH_H

#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

enum { GRAPH_VALUES = 96, GRAPH_NODES = 24, GRAPH_RANK = 6, GRAPH_LIST = 12 };

/* ONNX's numbers of element types */
typedef enum graph_type { GRAPH_FLOAT = 1, GRAPH_INT64 = 7, GRAPH_BOOL = 9 } graph_type;

typedef enum graph_kind { GRAPH_INPUT, GRAPH_CONSTANT, GRAPH_LISTED, GRAPH_MADE } graph_kind;

typedef struct graph_value {
    graph_kind kind;
    graph_type type;
    int ndim;
    int64_t dims[GRAPH_RANK];
    char letter[GRAPH_RANK];  /* INPUT: the symbol that an open graph has there; 0: the number */
    int64_t list[GRAPH_LIST]; /* LISTED: its elements */
    bool positive;            /* CONSTANT: elements are in [0.5, 1.5], else in [-1, 1] */
    double max;               /* no element is larger in magnitude */
    bool exact;               /* made without rounding, so that it may be compared, rounded and sorted */
} graph_value;

typedef struct graph_node {
    const char *op;
    char attrs[192]; /* as wr_node takes them */
    int n_in, in[6]; /* values; -1: absent */
    int n_out, out[3];
} graph_node;

typedef struct graph {
    uint64_t seed;
    int num_values, num_nodes;
    graph_value values[GRAPH_VALUES];
    graph_node nodes[GRAPH_NODES];
} graph;

void graph_random(uint64_t seed, graph *g);
/* open: extents of inputs that have a letter are symbols. Inputs are v0, v1 ... */
void graph_write(const graph *g, bool open, gpuc_buf *out);
/* As calls of ../onnx/writer.h, to paste into a test. */
void graph_print(FILE *to, const graph *g, bool open);
/* Takes a node out: what it makes becomes inputs, and what nothing reads any longer goes. */
void graph_drop(graph *g, int node);
/* Is this value read by a node? Those that are made and not read are the graph's outputs. */
bool graph_is_read(const graph *g, int value);

#endif
